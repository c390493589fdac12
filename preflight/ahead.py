"""Has the system asked about the files of caches in a process beside us, while we import the rest.

A second run over a large cache does little else: what it imports takes as long as to ask about ten
thousand files. Little is imported here, as that process has to be quicker than we are.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import subprocess
import sys
import time
from array import array
from collections.abc import Iterable, Iterator, Sequence

from preflight.marks import FIELDS, YOUNG, marks_of

_HOME = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

_BOOT = (
    "import sys; sys.path[:1] == [''] and sys.path.pop(0); sys.path.insert(0, sys.argv.pop(1)); "
    "import preflight.ahead; preflight.ahead.tell(sys.argv[1:])"
)

# What whoever lists a cache takes for cached files by their names alone.
_SUFFIXES = frozenset({".pt", ".pth", ".npy", ".npz", ".safetensors", ".distcp"})

# Stands between names: no system allows it in one.
_BETWEEN = "\0"


class _Asked:
    """A process that asks, and the folders of which it has not yet been heard."""

    def __init__(self, popen: subprocess.Popen[bytes], folders: list[str]) -> None:
        self.popen = popen
        self.folders = folders

    def hear(self) -> tuple[str, bytes, bytes]:
        """Give what is said of the next folder: its path, the names of its files, their marks."""
        out = self.popen.stdout
        if out is None:
            return self.folders.pop(0), b"", b""
        lengths = array("q", out.read(16).ljust(16, b"\0"))
        return self.folders.pop(0), out.read(lengths[0]), out.read(lengths[1])


_asked: list[_Asked] = []


def begin(folders: Iterable[str]) -> None:
    """Start to ask about all cached files in these folders and below them."""
    paths = [os.path.abspath(one) for one in folders]
    atexit.register(end)
    with contextlib.suppress(OSError):  # whoever wants to know then asks by himself
        popen = subprocess.Popen(
            [sys.executable, "-S", "-c", _BOOT, _HOME, *paths],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        _asked.append(_Asked(popen, paths))


def take(folder: str, names: Sequence[str]) -> array[int] | None:
    """Give the marks of these files as `marks_of` does, where exactly they were asked about.

    Args:
        folder: in which they are.
        names: below it, in order.
    """
    folder = os.path.abspath(folder)
    for one in _asked:
        while folder in one.folders:
            path, told, data = one.hear()
            if path == folder:
                same = told == _told(names) and len(data) == 8 * FIELDS * len(names)
                return array("q", data) if same else None
    return None


def end() -> None:
    """End the process, whether or not it was heard."""
    while _asked:
        popen = _asked.pop().popen
        popen.kill()
        popen.communicate()


def _told(names: Iterable[str]) -> bytes:
    return _BETWEEN.join(names).encode("utf-8", "surrogatepass")


# --- in the process -------------------------------------------------------------------------------


def tell(folders: Sequence[str]) -> None:
    """Write, for each folder: the lengths of what follows, the names of its files, their marks."""
    for folder in folders:
        names = sorted(_below(folder, ""))
        begun = time.time_ns()
        marks = marks_of(folder, names)
        if max(marks[1::FIELDS], default=0) > begun - YOUNG:
            names, marks = [], array("q")  # may change again unseen; ask later, and judge then
        text, data = _told(names), marks.tobytes()
        sys.stdout.buffer.write(array("q", [len(text), len(data)]).tobytes() + text + data)
        sys.stdout.buffer.flush()


def _below(top: str, folder: str) -> Iterator[str]:
    """Give the paths of cached files below the top; links to folders are not followed."""
    inner: list[str] = []
    with contextlib.suppress(OSError), os.scandir(os.path.join(top, folder)) as entries:
        for one in entries:
            name = one.name
            if name[name.rfind(".") :] in _SUFFIXES and name[0] != ".":
                yield folder + name
            elif one.is_dir(follow_symlinks=False):
                inner.append(os.path.join(folder, name, ""))
    for below in inner:
        yield from _below(top, below)
