"""Says at which line a process hangs: it writes its stack shortly before nobody waits any more.

The stack is written by a thread of `faulthandler`, which needs no turn of the interpreter.
"""

from __future__ import annotations

import faulthandler
import os
import re
from dataclasses import dataclass, field

from preflight.values.names import name_of

# How long before the end of the wait, in seconds, and at most which share of it.
_BEFORE, _SHARE = 1.0, 0.25

_LINE = re.compile(rb'  File "(?P<file>.+)", line (?P<line>\d{1,9}) in (?P<name>.+)')
_THREAD = re.compile(rb"(?:Current thread|Thread) 0x[0-9a-f]+ ")
_MOST = 500


def watch(descriptor: int, seconds: float) -> None:
    """Have the stack written if nothing is said for so long; each call begins anew."""
    later = seconds - min(_BEFORE, seconds * _SHARE)
    faulthandler.dump_traceback_later(later, file=descriptor)


def leave() -> None:
    """Watch no more."""
    faulthandler.cancel_dump_traceback_later()


@dataclass(slots=True)
class Stack:
    """The stack of the main thread, which is written as the last one."""

    lines: list[tuple[str, int, str]] = field(default_factory=list)
    """Of each call its file, line and function, the innermost first."""

    def hear(self, line: bytes) -> None:
        """Take in a line of it; whatever else it is, is passed over."""
        if _THREAD.match(line):
            self.lines.clear()
        call = _LINE.fullmatch(line)
        if call is not None and len(self.lines) < _MOST:
            file, number, name = (part.decode(errors="replace") for part in call.groups())
            self.lines.append((file, int(number), name))

    def place(self, folder: str | None) -> str | None:
        """Name the innermost line of the user's own, `train.py:12 in make`."""
        base = os.path.abspath(folder or os.curdir)
        for file, number, name in self.lines:
            path = os.path.abspath(file)
            own = path.startswith(base + os.sep)
            if own and "site-packages" not in path.split(os.sep):
                return f"{name_of(path, base)}:{number} in {name}"
        return None
