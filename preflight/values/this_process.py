"""Which process this is, where it works, and how many processors it may use.

Its number is not asked of the system each time: it is wanted at every step.
"""

from __future__ import annotations

import contextlib
import gc
import os
from collections.abc import Iterator

_here = os.getpid()

try:
    _began = os.getcwd()
except OSError:  # it is gone already
    _began = os.sep


def this_process() -> int:
    """Give the number of this process, in a forked copy of it that of the copy."""
    return _here


def _begin() -> None:
    global _here  # noqa: PLW0603  there is one process
    _here = os.getpid()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin)


@contextlib.contextmanager
def uncollected() -> Iterator[None]:
    """Have nobody look for cycles meanwhile: trees of sources have none, and millions of nodes."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def processors(pid: int = 0) -> int:
    """Give how many processors a process may use; 0 stands for this one."""
    if hasattr(os, "sched_getaffinity"):
        with contextlib.suppress(OSError):  # it has ended
            return len(os.sched_getaffinity(pid))
    return os.cpu_count() or 1


def working_folder() -> str:
    """Give the folder in which this process works, or in which it began where that is gone.

    Code of the job may remove the folder in which it works, and works on.
    """
    try:
        return os.getcwd()
    except OSError:
        return _began


def full_path(path: str | os.PathLike[str]) -> str:
    """Give a path as `os.path.abspath` does, also where the folder is gone that it starts from."""
    try:
        return os.path.abspath(path)
    except OSError:
        return os.path.normpath(os.path.join(_began, path))
