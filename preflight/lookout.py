"""Runs in a process beside ours: says what stands in folders, and the marks of cached files.

It has to be quicker than we are, so that nothing is imported for the sake of types: `typing` takes
as long as to list ten thousand files.
"""

from __future__ import annotations

import os
import sys
import time
from array import array

from preflight.marks import FIELDS, YOUNG, marks_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

# What whoever lists a cache takes for cached files by their names alone.
_SUFFIXES = (".pt", ".pth", ".npy", ".npz", ".safetensors", ".distcp")

# Stands between names: no system allows it in one.
_BETWEEN = "\0"


def tell(folders: Sequence[str]) -> None:
    """Write of each folder what is in it; then, again of each, the marks of cached files.

    What is in it, where that is nothing but files: what tells this content from another, as
    `state_of` gives it, and their names. Of cached files, in it and below: their names in order,
    and their marks. Before each of these stands its length.
    """
    caches = []
    for folder in folders:
        before = state_of(folder)
        files, inner, is_plain = _entries(folder)
        _write(before.encode(), text_of(files)) if is_plain else _write(b"", b"")
        caches.append((folder, sorted(_cached(folder, files, inner))))
    for folder, names in caches:
        begun = time.time_ns()
        marks = marks_of(folder, names)
        if max(marks[1::FIELDS], default=0) > begun - YOUNG:
            _write(b"", b"")  # it may change again unseen: whoever asks later can judge that
        else:
            _write(text_of(names), marks.tobytes())


def state_of(folder: str) -> str:
    """Say what tells this content of a folder from others; nothing of one that is not there."""
    try:
        status = os.stat(folder)
    except OSError:
        return ""
    return f"{status.st_dev} {status.st_ino} {status.st_mtime_ns} {status.st_ctime_ns}"


def text_of(names: Iterable[str]) -> bytes:
    """Give names as they are written."""
    return _BETWEEN.join(names).encode("utf-8", "surrogatepass")


def names_in(text: bytes) -> list[str]:
    """Give the names that were written."""
    return text.decode("utf-8", "surrogatepass").split(_BETWEEN)


def _write(*parts: bytes) -> None:
    out = sys.stdout.buffer
    for part in parts:
        out.write(array("q", [len(part)]).tobytes() + part)
    out.flush()


def _entries(folder: str) -> tuple[list[str], list[str], bool]:
    """Give the names of files and of folders, and whether there is nothing else than files."""
    files: list[str] = []
    inner: list[str] = []
    others = 0
    try:
        with os.scandir(folder) as entries:
            for one in entries:
                if one.is_file(follow_symlinks=False):
                    files.append(one.name)
                elif one.is_dir(follow_symlinks=False):
                    inner.append(one.name)
                else:
                    others += 1
    except OSError:
        return [], [], False
    files.sort()  # as whoever lists a cache needs them, and has no time for it
    return files, inner, bool(files) and not (inner or others)


def _cached(folder: str, files: Iterable[str], inner: Iterable[str]) -> Iterator[str]:
    """Give the paths of cached files below a folder; links to others are not followed."""
    for name in files:
        if name.endswith(_SUFFIXES) and name[0] != ".":
            yield name
    for name in inner:
        below = os.path.join(folder, name)
        for path in _cached(below, *_entries(below)[:2]):
            yield os.path.join(name, path)
