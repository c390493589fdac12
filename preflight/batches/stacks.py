"""Has processes that hang write where they stand, by a signal: nothing of theirs is touched."""

from __future__ import annotations

import contextlib
import faulthandler
import linecache
import os
import signal
import time
import traceback
from collections.abc import Callable

from preflight.batches.facts import Standing
from preflight.users_code.facts import Frame
from preflight.users_code.frames import user_frames
from preflight.users_code.fresh.anew import Anew
from preflight.users_code.fresh.descendants import Descendant
from preflight.users_code.written_stacks import threads_of
from preflight.values.names import name_of
from preflight.values.this_process import full_path

# How long a process is given to write its stacks and to end of it, in seconds.
_PATIENCE = 2.0
_POLL = 0.01

# Part of the deadline behind which stacks are written, and what faulthandler writes above them.
_NEARLY, _TIMED_OUT = 0.8, "Timeout ("

# What is told at the end of an order, behind which a process waits for the next one.
_LAST = {"done", "further", "unmade"}

_STDERR = 2

_MOST_LINES = 30

TRAINING = "the training process"

_NO_WORKERS = ("resource_tracker", "multiprocessing.forkserver", "torch_shm_manager")
"""What multiprocessing and torch start beside them; a worker of a forkserver looks as that does."""


def stacks(anew: Anew, root: str, alive: Callable[[], None]) -> tuple[Standing, ...]:
    """Say where each process stands: the one that waits for batches, then its workers.

    Each that runs is aborted, at which faulthandler writes its stacks; the last worker first. They
    are all stopped before, so that none sees another one's end. Windows has no such signal: there,
    the one that waits has written its own by then (`saying_where`), and its workers cannot be
    asked.
    """
    if not can_ask():
        _, timed_out, said = anew.text().rpartition(_TIMED_OUT)
        own = standing(TRAINING, said if timed_out else "", root)
        return (own,) if own.lines else ()
    workers = _workers(anew)
    for pid in (anew.pid, *(one.pid for one in workers)):
        _send(pid, signal.SIGSTOP)
    found = []
    for number, one in reversed(list(enumerate(workers, 1))):
        alive()
        name, status = f"worker {number} of {len(workers)}", one.exit_status
        if status is not None:
            found.append(Standing(process=name, exit_status=status))
        else:
            found.append(standing(name, _aborted(one.pid, anew, one.is_running), root))
    said = _aborted(anew.pid, anew, lambda: anew.poll() is None)
    found.append(standing(TRAINING, said, root))
    return tuple(one for one in reversed(found) if one.lines or one.exit_status)


def can_ask() -> bool:
    """Whether this system has the signals by which processes are asked where they stand."""
    return hasattr(signal, "SIGSTOP")


def saying_where(tell: Callable[..., None], timeout: float) -> Callable[..., None]:
    """Have this process write its own stacks once it has told nothing for nearly a timeout.

    Only a fresh one can: a copy waits for ever for the thread by which its original does so.
    """
    if can_ask():
        return tell

    def tell_and_wait(**said: object) -> None:
        tell(**said)
        faulthandler.cancel_dump_traceback_later()
        if not said.keys() & _LAST:
            faulthandler.dump_traceback_later(_NEARLY * timeout, file=_STDERR)

    return tell_and_wait


def _send(pid: int, number: int) -> None:
    with contextlib.suppress(OSError):
        os.kill(pid, number)


def _aborted(pid: int, anew: Anew, runs: Callable[[], bool]) -> str:
    """Abort a process, and give what it has written once it has ended and that has come."""
    before = anew.printed
    _send(pid, signal.SIGABRT)
    _send(pid, signal.SIGCONT)
    until = time.monotonic() + _PATIENCE
    while runs() and time.monotonic() < until:
        time.sleep(_POLL)
    written = -1
    while written != anew.printed and time.monotonic() < until:
        written = anew.printed
        time.sleep(5 * _POLL)
    return anew.text(before)


def _workers(anew: Anew) -> list[Descendant]:
    """Give its workers: what it has started, or what a forkserver of its own has."""
    every = anew.processes()
    beside = {one.pid for one in every if _is_beside(one, anew.pid)}
    parents = {anew.pid} | beside
    return [one for one in every if one.pid not in beside and one.parent in parents]


def _is_beside(process: Descendant, parent: int) -> bool:
    return process.parent == parent and any(one in process.words for one in _NO_WORKERS)


def standing(process: str, text: str, root: str) -> Standing:
    """Say where a process stands, by faulthandler's stacks: the main thread's is the last."""
    (*_, main) = [[], *threads_of(text)]
    calls = [traceback.FrameSummary(*one) for one in reversed(main[:_MOST_LINES])]
    return Standing(
        process=process,
        lines=tuple(_frame(one, root) for one in calls),
        users=user_frames(calls, root),
    )


def _frame(one: traceback.FrameSummary, root: str) -> Frame:
    path = full_path(one.filename)
    return Frame(
        file=name_of(path, root) if os.path.isfile(path) else one.filename,
        line=one.lineno or 0,
        function=one.name,
        text=linecache.getline(one.filename, one.lineno or 0).strip(),
    )
