"""How a process ended, in words."""

from __future__ import annotations

import signal


def ending(status: int) -> str:
    """Say how a process ended, from its exit status; negative: the signal that killed it."""
    if status >= 0:
        return f"ended by itself with exit status {status}"
    try:
        name = signal.Signals(-status).name
    except ValueError:
        name = f"signal {-status}"
    guess = "; often the kernel, when memory runs out" if name == "SIGKILL" else ""
    return f"was killed by {name}{guess}"
