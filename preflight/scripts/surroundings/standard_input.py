"""What is piped to the command, for the script to read, and once more when it is run again.

Only what the script itself reads is taken: who starts us may have more to do with the rest.
"""

from __future__ import annotations

import io
import os
import stat
import subprocess
import sys
from typing import Any

from preflight.values.own_files import passes_on

_TERMINAL = "terminal "
"""What the path begins with of a terminal, of which the size follows: it is no file."""

# A terminal of ours says so often that there is nothing to read.
_ENDS = b"\x04" * 64

_KEPT = "stdin"
"""In the scratch folder: what the script has read."""


def path_of_ours() -> str | None:
    """Give a path at which another process can read this one's input; None: there is nothing.

    A terminal is nobody's but ours: of it, the size is given. On other systems than Linux there is
    no such path.
    """
    path = f"/proc/{os.getpid()}/fd/0"
    try:
        mode = os.fstat(0).st_mode
        if os.isatty(0) and hasattr(os, "openpty"):
            columns, lines = os.get_terminal_size(0)
            return f"{_TERMINAL}{lines} {columns}"
    except OSError:
        return None
    is_given = stat.S_ISFIFO(mode) or stat.S_ISREG(mode)
    return path if is_given and os.path.exists(path) else None


def opened(path: str | None) -> int:
    """Open it for a process; where it cannot be, the process has an empty input."""
    if path is None:
        return subprocess.DEVNULL
    if is_terminal(path):
        return _terminal(*map(int, path.removeprefix(_TERMINAL).split()))
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except OSError:
        return subprocess.DEVNULL
    os.set_blocking(descriptor, True)
    return descriptor


def is_terminal(path: str | None) -> bool:
    """Whether it is the size of a terminal."""
    return path is not None and path.startswith(_TERMINAL)


def _terminal(lines: int, columns: int) -> int:
    """Open one that is as large as ours, for who asks for its size (`stty size`), and is empty."""
    import fcntl
    import struct
    import termios

    ours, theirs = os.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
    os.write(ours, _ENDS)
    _opened.append(ours)
    return theirs


_opened: list[int] = []
"""Our ends of them, for as long as this process is there."""


def kept_in(scratch: str, given: str | None) -> str | None:
    """Give the path of what a script has read of its input; None: it has read none."""
    path = os.path.join(scratch, _KEPT)
    return given if is_terminal(given) else path if os.path.exists(path) else None


class _Kept(io.FileIO):
    """The script's input, of which a copy is kept as it is read."""

    def __init__(self, scratch: str) -> None:
        super().__init__(0, closefd=False)
        self.name = "<stdin>"
        self._path = os.path.join(scratch, _KEPT)

    @passes_on
    def readinto(self, buffer: Any) -> int | None:
        """Read as files do."""
        count: int | None = super().readinto(buffer)
        self._keep(memoryview(buffer)[: count or 0])
        return count

    @passes_on
    def readall(self) -> bytes:
        """Read all that is left."""
        data: bytes = super().readall() or b""
        self._keep(memoryview(data))
        return data

    def _keep(self, data: memoryview) -> None:
        copy = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            while data:
                data = data[os.write(copy, data) :]
        finally:
            os.close(copy)


def keep_what_is_read(scratch: str, path: str) -> None:
    """Have `sys.stdin` of this process keep what is read of it; nobody is asked by a terminal."""
    before = sys.stdin
    if is_terminal(path):
        sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115  for as long as it runs
    elif before is not None:
        sys.stdin = io.TextIOWrapper(
            io.BufferedReader(_Kept(scratch)), encoding=before.encoding, errors=before.errors
        )
