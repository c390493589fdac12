"""Keeps hold of what the user's code starts, also where it leaves its session and its environment.

On Linux a process can ask to become the parent of whatever loses its own below it. The one that
runs the user's code does; and so does the command, for what is left where that one is killed.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator

# Of prctl(2), since Linux 3.4.
_PR_SET_CHILD_SUBREAPER = 36

# The process to which orphans go; and where `stat` tells when one was started, in ticks.
_INIT, _STARTED = 1, 19

# Looks in a row that find no process, before we believe it; and looks in all.
_SURE, _MOST = 2, 100

KILL = getattr(signal, "SIGKILL", signal.SIGTERM)

_ours: list[bool] = []


def say_ours() -> None:
    """Say that this process is ours alone: nobody else's children can come to be its own."""
    _ours.append(True)


def adopt() -> bool:
    """Become the parent of orphans below, and say whether the system can do that."""
    if sys.platform != "linux":
        return False
    try:
        import ctypes

        return bool(ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0)
    except (ImportError, OSError, AttributeError):
        return False


def adopt_if_ours() -> None:
    """Do so before the user's code runs, but in no process of the user's."""
    if _ours[:1] == [True]:
        _ours[:] = [True, adopt()]


def are_adopted() -> bool:
    """Whether this process becomes the parent of orphans below."""
    return _ours == [True, True]


def strays(mark: str) -> list[int]:
    """Give what we have adopted: living children of ours that we have not marked."""
    if not are_adopted():
        return []
    return [
        pid
        for pid, parent in _living()
        if parent == os.getpid() and not has_variable(pid, f"{mark}=")
    ]


def descendants(root: int) -> list[int]:
    """Give all living processes below one, where the system tells; those adopted are below it."""
    children: dict[int, list[int]] = {}
    for pid, parent in _living():
        children.setdefault(parent, []).append(pid)
    found, waiting = [], [root]
    while waiting:
        below = children.pop(waiting.pop(), [])
        found += below
        waiting += below
    return found


def now() -> float:
    """Give the time by the clock that tells when a process was started, in seconds."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) if sys.platform == "linux" else 0.0


def orphaned_since(when: float) -> list[int]:
    """Give processes of this user that were started since then, and that have lost their parent.

    Where nobody adopts what the job leaves, these may be of it; by the clock of `now`.
    """
    if sys.platform != "linux":
        return []
    ticks = os.sysconf("SC_CLK_TCK")
    return [
        pid
        for pid, fields in _stats()
        if int(fields[1]) == _INIT and int(fields[_STARTED]) / ticks >= when - 1 / ticks
        if _owner(pid) == os.getuid()
    ]


def _owner(pid: int) -> int | None:
    with contextlib.suppress(OSError):
        return os.stat(f"/proc/{pid}").st_uid
    return None


def end(look: Callable[[], Iterable[int]]) -> list[int]:
    """End all processes that are found, until none is; give those that cannot be ended.

    Until none was seen twice in a row: one that forks and ends while the list is read leaves a copy
    that is not on it.
    """
    unseen, pids = 0, []
    for _ in range(_MOST):
        pids = list(look())
        unseen = 0 if pids else unseen + 1
        if unseen == _SURE:
            return []
        for pid in pids:
            with contextlib.suppress(OSError):
                os.kill(pid, KILL)
        time.sleep(0.002)
    return pids


def _living() -> Iterator[tuple[int, int]]:
    """Give each living process with its parent, as Linux tells of them."""
    return ((pid, int(fields[1])) for pid, fields in _stats())


def _stats() -> Iterator[tuple[int, list[bytes]]]:
    """Give each living process with what `stat` tells of it behind its name."""
    with contextlib.suppress(OSError):
        for name in os.listdir("/proc"):
            if not name.isdigit():
                continue
            with contextlib.suppress(OSError, ValueError):
                with open(f"/proc/{name}/stat", "rb") as file:
                    fields = file.read().rpartition(b")")[2].split()
                if fields[0] not in (b"Z", b"X"):
                    yield int(name), fields


def has_variable(pid: int, begin: str) -> bool:
    """Whether a process was started with a variable that begins so, as far as anybody may know."""
    if sys.platform == "linux":  # psutil takes five times as long, of each process that there is
        with contextlib.suppress(OSError), open(f"/proc/{pid}/environ", "rb") as file:
            return f"\0{begin}".encode() in b"\0" + file.read()
        return False
    import psutil

    with contextlib.suppress(OSError, psutil.Error):
        variables = psutil.Process(pid).environ()
        return any(f"{name}={value}".startswith(begin) for name, value in variables.items())
    return False
