"""Asks processes questions: several at once, each death and each silence put down to its question.

When a process dies or is late, the question that it had open is named, what it had answered is
kept, and a new process goes on with the rest.
"""

from __future__ import annotations

import itertools
import queue
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from preflight.findings import our_failures
from preflight.processes.process_state import Running
from preflight.processes.results import Batch, Fault, Result, Survived, Unasked, UnderWay
from preflight.processes.start import MOST_PIECES, Lines, start, wait
from preflight.values.code_name import command_for
from preflight.values.exit_status import ending, is_crash

# Lines that are taken in before what they say is dealt with.
_AT_ONCE = 100

# What several lines came in, of which so many are few enough to be taken in at once.
_FEW = 4


class Asking(NamedTuple):
    """How all processes are asked."""

    options: Mapping[str, Any]
    """What each is told of the job."""

    python: str | None
    """The interpreter that runs the user's code; None: ours."""

    jobs: int
    """Processes at the same time."""

    timeout: float
    """Seconds of silence after which a process counts as hung."""

    until: float | None = None
    """When to stop with what may be left out, by the monotonic clock; None: never."""


def ask(batches: Iterable[Batch], how: Asking) -> Iterator[Result]:
    """Ask all batches, at most so many at the same time, each when there is room for it."""
    fresh = iter(batches)
    left: list[Batch] = []  # by processes that have died
    running: list[Running] = []
    lines: Lines = queue.Queue(MOST_PIECES)
    told = UnderWay()
    try:
        while True:
            late = how.until is not None and time.monotonic() > how.until
            while len(running) < how.jobs and (batch := left.pop() if left else next(fresh, ())):
                if late and _may_be_left(batch):
                    yield from (Unasked(question=one) for one in batch)
                else:
                    yield from _begin(batch, running, lines, how)
            if not running:
                return
            _hear(running, lines)
            for one in tuple(running):  # those that have ended leave the list
                if late and _may_be_left(one.batch):
                    _stop(one, running, lines)
                    one.leave()
                elif rest := _end(one, running, lines, how.timeout):
                    left.append(rest)
                if (now := _under_way(running)) != told:
                    yield now
                    told = now
                yield from one.results
                one.results.clear()
    finally:
        for one in running:
            one.started.kill()
            one.started.abandon()


def _under_way(running: Iterable[Running]) -> UnderWay:
    """Add up what is done of questions that nobody has answered yet."""
    each = [one.under_way() for one in running]
    return UnderWay(bytes=sum(one.bytes for one in each), seconds=sum(one.seconds for one in each))


def _may_be_left(batch: Batch) -> bool:
    return all(one.kind.may_be_left for one in batch)


def _begin(batch: Batch, running: list[Running], lines: Lines, how: Asking) -> Iterator[Result]:
    try:
        started = start(batch, lines, options=how.options, python=how.python)
    except OSError as error:
        reason = f"{how.python or 'python'} cannot be started: {error.strerror}"
        yield from (Fault(question=one, error=reason) for one in batch)
    else:
        running.append(Running(batch=batch, started=started))


def _hear(
    running: list[Running],
    lines: Lines,
    *,
    patiently: bool = True,
    most: int = _AT_ONCE,
) -> None:
    heard = 0
    while heard < most:  # and then see who is late
        got = wait(lines, patiently=patiently and not heard)
        if got is None:
            return
        speaker, several = got
        heard += several.count(b"\n") or 1
        for one in running:
            if one.started is speaker:
                for line in filter(None, several.split(b"\n")):
                    one.hear(line)


def _stop(one: Running, running: list[Running], lines: Lines) -> None:
    """End a process; what it has said is kept."""
    one.started.kill()
    one.started.drain(lambda: _hear(running, lines, patiently=False))
    for _ in range(lines.qsize()):  # of all; nothing of this one comes after these
        _hear(running, lines, patiently=False, most=1)
    if one.started.survivors:
        one.results.append(Survived(processes=one.started.survivors))
    running.remove(one)


def _end(one: Running, running: list[Running], lines: Lines, timeout: float) -> Batch:
    """Close the account of a process that is done, dead or late; give what is left to ask."""
    one.started.look_below()
    silent = time.monotonic() - one.started.heard > timeout
    ended = one.started.ended
    if not (one.done or ended or silent):
        return ()
    if not silent and lines.qsize() > _FEW:
        return ()  # what was said so far is dealt with first, and need not be held all at once
    _stop(one, running, lines)
    if one.done and one.finished >= len(one.batch):
        return ()
    if one.done:
        return one.give_up("said that it was done, and was not", None)
    status = one.started.popen.returncode
    if ended and not one.stack.was_torn(status):
        begun = one.open is not None or one.started.python is not None
        if not (one.started.runs_code and begun):  # nothing of the job has run
            one.crashed = one.crashed or our_failures.of_death(status)
        return one.give_up(ending(status), None, says_where=is_crash(status))
    specs = (str(each.wire["spec"]) for each in one.batch[one.finished :] if "spec" in each.wire)
    longer = command_for(*itertools.islice(specs, 1), "--timeout", f"{timeout * 5:g}")
    fix = f"Give it longer, if it is only slow:  {longer}"
    return one.give_up(f"said nothing for {timeout:g} s", fix, says_where=True)
