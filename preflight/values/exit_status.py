"""How a process ended, in words."""

from __future__ import annotations

import signal

# On Windows, the status of a process that has crashed is at least this.
_CRASHED = 0x8000_0000


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
