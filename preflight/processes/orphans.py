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
    return [pid for pid, parent in _living() if parent == os.getpid() and not _is_marked(pid, mark)]


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


def orphaned_since(when: float) -> list[int]:
    """Give processes of this user that were started since then, and that have lost their parent.

    Where nobody adopts what the job leaves, these may be of it; by the clock of `time.time`.
    """
    import psutil

    found = []
    for one in psutil.process_iter(["ppid", "create_time", "uids", "status"]):
        seen = one.info
        mine = seen["uids"] is not None and seen["uids"].real == os.getuid()
        is_new = mine and seen["ppid"] == 1 and seen["create_time"] >= when
        if is_new and seen["status"] != psutil.STATUS_ZOMBIE:
            found.append(int(one.pid))
    return found


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
    with contextlib.suppress(OSError):
        for name in os.listdir("/proc"):
            if not name.isdigit():
                continue
            with contextlib.suppress(OSError, ValueError):
                with open(f"/proc/{name}/stat", "rb") as file:
                    state, parent = file.read().rpartition(b")")[2].split()[:2]
                if state not in (b"Z", b"X"):
                    yield int(name), int(parent)


def _is_marked(pid: int, mark: str) -> bool:
    with contextlib.suppress(OSError), open(f"/proc/{pid}/environ", "rb") as file:
        return any(one.startswith(f"{mark}=".encode()) for one in file.read().split(b"\0"))
    return False
