"""Has large caches listed by a process beside us, while we import the rest.

A second run over a large cache does little else: what it imports takes as long as to ask the system
about ten thousand files.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import subprocess
import sys
from array import array
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from preflight.lookout import names_in, state_of, text_of
from preflight.marks import FIELDS

if TYPE_CHECKING:
    from preflight.listing import Listed

_HOME = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

_BOOT = (
    "import sys; sys.path[:1] == [''] and sys.path.pop(0); sys.path.insert(0, sys.argv.pop(1)); "
    "import preflight.lookout; preflight.lookout.tell(sys.argv[1:])"
)

# Bytes that the process may say before anybody listens, so that it need not stop: as much as Linux
# gives to a pipe, and what is to be said of some fifteen thousand files.
_ROOM = 2**20


class _Lookout:
    """The process, and what it has said that nobody has asked for yet."""

    def __init__(self, popen: subprocess.Popen[bytes], folders: Sequence[str]) -> None:
        self.popen = popen
        self._said: dict[tuple[str, str], tuple[bytes, bytes]] = {}
        self._to_come = [(what, one) for what in ("entries", "marks") for one in folders]

    def hear(self, what: str, folder: str) -> tuple[bytes, bytes]:
        """Give what is said of a folder, once; nothing where nothing is."""
        while (what, folder) in self._to_come:
            self._said[self._to_come.pop(0)] = self._read(), self._read()
        return self._said.pop((what, folder), (b"", b""))

    def _read(self) -> bytes:
        out = self.popen.stdout
        length = out.read(8) if out is not None else b""
        return out.read(array("q", length)[0]) if out is not None and len(length) == 8 else b""


_lookouts: list[_Lookout] = []


def begin(folders: Iterable[str]) -> None:
    """Start to list these folders, and to ask about all cached files in them and below."""
    paths = tuple(dict.fromkeys(os.path.abspath(one) for one in folders))
    atexit.register(end)
    with contextlib.suppress(OSError):  # whoever wants to know then looks by himself
        popen = subprocess.Popen(
            [sys.executable, "-S", "-c", _BOOT, _HOME, *paths],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            pipesize=_ROOM,
        )
        _lookouts.append(_Lookout(popen, paths))


def listed(folder: str) -> Listed | None:
    """Give what `list_names` would, where a folder holds nothing but files and was not changed."""
    for one in _lookouts:
        from preflight.listing import Listed  # late: the process is to start before all else

        state, names = one.hear("entries", os.path.abspath(folder))
        if state and state.decode() == state_of(folder):
            mark = tuple(map(int, state.split()))
            return Listed(files=names_in(names), folders=[], others=[], links=[], mark=mark)
    return None


def marks(folder: str, names: Sequence[str]) -> array[int] | None:
    """Give what `marks_of` would, where exactly these files were asked about.

    Args:
        folder: in which they are.
        names: below it, in order.
    """
    for one in _lookouts:
        told, data = one.hear("marks", os.path.abspath(folder))
        if told and told == text_of(names) and len(data) == 8 * FIELDS * len(names):
            return array("q", data)
    return None


def end() -> None:
    """End the process, whether or not it was heard."""
    while _lookouts:
        popen = _lookouts.pop().popen
        popen.kill()
        popen.communicate()
