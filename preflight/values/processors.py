"""How many processors there are to work on."""

from __future__ import annotations

import contextlib
import os


def processors(pid: int = 0) -> int:
    """Give how many processors a process may use; 0 stands for this one."""
    if hasattr(os, "sched_getaffinity"):
        with contextlib.suppress(OSError):  # it has ended
            return len(os.sched_getaffinity(pid))
    return os.cpu_count() or 1
