"""Has processes that hang write where they stand, by a signal: nothing of theirs is touched."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable
from typing import Any

from preflight.batches.facts import Standing
from preflight.batches.tracebacks import standing
from preflight.users_code.anew import Anew

# How long a process is given to write its stacks and to end of it, in seconds.
_PATIENCE = 2.0
_POLL = 0.01

TRAINING = "the training process"

_NO_WORKERS = ("resource_tracker", "multiprocessing.forkserver", "torch_shm_manager")
"""What multiprocessing and torch start beside them; a worker of a forkserver looks as that does."""


def stacks(anew: Anew, root: str, alive: Callable[[], None]) -> tuple[Standing, ...]:
    """Say where each process stands: the one that waits for batches, then its workers.

    Each is aborted, at which faulthandler writes its stacks; the last worker first. They are all
    stopped before, so that none sees another one's end. Windows has no such signal.
    """
    if not hasattr(signal, "SIGSTOP"):
        return ()
    workers = _workers(anew)
    pids = [anew.pid, *(one.pid for one in workers)]
    names = [TRAINING, *(f"worker {n} of {len(workers)}" for n in range(1, len(pids)))]
    for pid in pids:
        _send(pid, signal.SIGSTOP)
    found = []
    for pid, name in reversed(list(zip(pids, names, strict=True))):
        alive()
        before = anew.printed
        _send(pid, signal.SIGABRT)
        _send(pid, signal.SIGCONT)
        _wait(pid, anew)
        found.append(standing(name, anew.text(before), root))
    return tuple(one for one in reversed(found) if one.lines)


def _send(pid: int, number: int) -> None:
    with contextlib.suppress(OSError):
        os.kill(pid, number)


def _wait(pid: int, anew: Anew) -> None:
    """Wait until a process has ended, and what it has written has come."""
    until = time.monotonic() + _PATIENCE
    while time.monotonic() < until and (anew.poll() is None if pid == anew.pid else _runs(pid)):
        time.sleep(_POLL)
    written = -1
    while written != anew.printed and time.monotonic() < until:
        written = anew.printed
        time.sleep(5 * _POLL)


def _runs(pid: int) -> bool:
    import psutil

    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.Error:
        return False


def _workers(anew: Anew) -> list[Any]:
    """Give its workers: what it has started, or what a forkserver of its own has."""
    every = anew.processes()
    beside = {one.pid for one in every if _is_beside(one, anew.pid)}
    parents = {anew.pid} | beside
    return [one for one in every if one.pid not in beside and _parent(one) in parents]


def _is_beside(process: Any, parent: int) -> bool:
    import psutil

    try:
        words = " ".join(process.cmdline())
    except psutil.Error:
        return False
    return _parent(process) == parent and any(one in words for one in _NO_WORKERS)


def _parent(process: Any) -> int:
    import psutil

    try:
        return int(process.ppid())
    except psutil.Error:
        return 0
