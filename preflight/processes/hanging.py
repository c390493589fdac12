"""Says at which line a process hangs or crashes.

It writes its stack shortly before nobody waits any more: by a thread of `faulthandler`, which needs
no turn of the interpreter. So a process that is at work, and only silent, changes what is read
meanwhile, and may die of that. And it writes it when it crashes, as `faulthandler` does.
"""

from __future__ import annotations

import faulthandler
import os
import re
import signal
from dataclasses import dataclass, field

from preflight.users_code.written_stacks import Call, begins_stack, call_of
from preflight.values.names import name_of

# How long before the end of the wait, in seconds, and at most which share of it.
_BEFORE, _SHARE = 1.0, 0.25

_BEGINS = re.compile(r"Timeout \(\d+:\d\d:\d\d")
_MOST = 500

_TORN = frozenset(
    {*(-one for one in signal.Signals if one.name in ("SIGSEGV", "SIGBUS")), 0xC000_0005}
)
"""How a process ends that reads what is no memory; the last is that of Windows."""


def watch(descriptor: int, seconds: float) -> None:
    """Have the stack written if nothing is said for so long; each call begins anew."""
    later = seconds - min(_BEFORE, seconds * _SHARE)
    faulthandler.dump_traceback_later(later, file=descriptor)


def watch_for_crashes(descriptor: int) -> None:
    """Have the stack written if this process crashes; of a fork, to standard error."""
    faulthandler.enable(file=descriptor, all_threads=False)
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=lambda: faulthandler.enable(file=2))


def leave() -> None:
    """Watch no more."""
    faulthandler.cancel_dump_traceback_later()


@dataclass(slots=True)
class Stack:
    """The stack of the main thread, which is written as the last one, or of one that crashed."""

    lines: list[Call] = field(default_factory=list)
    """Of each call its file, line and function, the innermost first."""

    begun: bool = False

    def hear(self, line: bytes) -> None:
        """Take in a line of it; whatever else it is, is passed over."""
        text = line.decode(errors="replace")
        self.begun = self.begun or _BEGINS.match(text) is not None
        if begins_stack(text):
            self.lines.clear()
        call = call_of(text)
        if call is not None and len(self.lines) < _MOST:
            self.lines.append(call)

    def was_torn(self, status: int | None) -> bool:
        """Whether a process that ended so may have died of writing it."""
        return self.begun and status in _TORN

    def place(self, folder: str | None) -> str | None:
        """Name the innermost line of the user's own, `train.py:12 in make`."""
        base = os.path.abspath(folder or os.curdir)
        for file, number, name in self.lines:
            path = os.path.abspath(file)
            own = path.startswith(base + os.sep) and not file.startswith("<")  # as frozen code is
            if own and "site-packages" not in path.split(os.sep):
                return f"{name_of(path, base)}:{number} in {name}"
        return None
