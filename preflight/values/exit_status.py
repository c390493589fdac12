"""How a process ended, in words."""

from __future__ import annotations

import signal

# On Windows, the status of a process that has crashed is at least this.
_CRASHED = 0x8000_0000

# Signals of a process that does what it must not, of which faulthandler writes the stack.
_CRASHES = ("SIGSEGV", "SIGFPE", "SIGABRT", "SIGBUS", "SIGILL")


def is_crash(status: int) -> bool:
    """Whether a process crashed, rather than that somebody ended it or that it ended by itself."""
    return status >= _CRASHED or -status in {getattr(signal, name, 0) for name in _CRASHES} - {0}


def ending(status: int) -> str:
    """Say how a process ended, from its exit status; negative: the signal that killed it."""
    if status >= _CRASHED:
        return f"crashed with {status:#x}"
    if status >= 0:
        return f"ended by itself with exit status {status}"
    try:
        name = signal.Signals(-status).name
    except ValueError:
        name = f"signal {-status}"
    guess = "; often the kernel, when memory runs out" if name == "SIGKILL" else ""
    return f"was killed by {name}{guess}"
