"""Which process this is, and how many processors it may use.

Its number is not asked of the system each time: it is wanted at every step.
"""

from __future__ import annotations

import contextlib
import os

_here = os.getpid()


def this_process() -> int:
    """Give the number of this process, in a forked copy of it that of the copy."""
    return _here


def _begin() -> None:
    global _here  # noqa: PLW0603  there is one process
    _here = os.getpid()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin)


def processors(pid: int = 0) -> int:
    """Give how many processors a process may use; 0 stands for this one."""
    if hasattr(os, "sched_getaffinity"):
        with contextlib.suppress(OSError):  # it has ended
            return len(os.sched_getaffinity(pid))
    return os.cpu_count() or 1
