"""Asks processes questions: several at once, each death and each silence put down to its question.

When a process dies or is late, the question that it had open is named, what it had answered is
kept, and a new process goes on with the rest.
"""

from __future__ import annotations

import itertools
import json
import queue
import re
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

from preflight.findings import our_failures
from preflight.kinds.question import Question
from preflight.processes.hanging import Stack
from preflight.processes.results import (
    Answer,
    Batch,
    Began,
    Fault,
    Result,
    Survived,
    Took,
    Unasked,
)
from preflight.processes.start import MOST_PIECES, Lines, Started, start, wait
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


_UNFIT = rb'\{"unfit": "([0-9.]{1,9})"\}'


@dataclass(slots=True)
class _Running:
    """What a process has come to."""

    batch: Batch
    started: Started
    open: int | None = None
    """The place of the question that it is at; None before the first."""

    steps: list[str] = field(default_factory=list)
    """What is at work, the innermost last."""

    finished: int = 0
    """Questions answered."""

    told: int = 0
    """How many things were answered of the open question, where it is about several."""

    done: bool = False
    unfit: str | None = None
    """The version of an interpreter that is too old."""

    crashed: str | None = None
    """How our own code has failed, in words."""

    trace: str | None = None

    results: list[Result] = field(default_factory=list)
    stack: Stack = field(default_factory=Stack)
    """Where it was when it had said nothing for long."""

    token: bytes = field(init=False)
    """What each of its lines begins with."""

    def __post_init__(self) -> None:
        self.token = f"{self.started.token} ".encode()

    def hear(self, line: bytes) -> None:
        if not line.startswith(self.token):
            return self._hear_stranger(line)
        try:
            said = json.loads(line[len(self.token) :].decode())
        except (ValueError, RecursionError):  # cut by its writer's death
            return None
        self.started.heard = time.monotonic()
        self.stack.begun = False
        self._take_in(said)
        return None

    def _take_in(self, said: Mapping[str, Any]) -> None:
        match said:
            case {"open": int(index)}:
                self.open, self.steps = index, []
            case {"done": True}:
                self.done = True
            case {"answer": int(index), "facts": list(facts)}:
                self._finish(Answer(question=self._rest_of(index), told=tuple(facts)))
            case {"some": list(facts), "count": int(count)}:
                self._tell(facts, count)
            case {"step": str(name)}:
                self.steps.append(name)
                self.results.append(Began(step=name))
            case {"took": str(name), "seconds": float(seconds)}:
                self.steps = self.steps[:-1]
                self.results.append(Took(step=name, seconds=seconds))
            case {"broken": int(index), "error": str(error)}:
                rest = self._rest_of(index)
                self._finish(Fault(question=rest, error=error, fix=said.get("fix")))
            case {"crashed": str(error), "trace": str(trace)}:
                self.crashed, self.trace = error, trace
            case {"mistyped": int(index), "error": str(error)}:
                self._finish(Fault(question=self.batch[index], error=error, mistyped=True))

    def _hear_stranger(self, line: bytes) -> None:
        """Pass over what is no line of ours, but for an interpreter that is too old to run us."""
        self.stack.hear(line.rstrip())
        match = re.fullmatch(_UNFIT, line.strip())
        if match is not None and self.open is None:
            self.unfit = match[1].decode()

    def _finish(self, result: Answer | Fault) -> None:
        self.finished += 1
        self.steps = []
        self.told = 0
        self.results.append(result)

    def _tell(self, facts: list[Mapping[str, Any]], count: int) -> None:
        question = self.batch[self.finished]
        if question.places is not None:
            part = question.part(self.told, self.told + count)
            self.results.append(Answer(question=part, told=tuple(facts)))
            self.told += count

    def _rest_of(self, index: int) -> Question:
        question = self.batch[index]
        return question.part(self.told) if self.told else question

    def give_up(self, reason: str, fix: str | None, *, says_where: bool = False) -> Batch:
        """Put its end down to the question it had open, and give what is left to ask."""
        if self.finished >= len(self.batch):
            return ()  # it died with everything said but the last line
        error = f"the process that looked at it {reason}"
        if self.crashed is not None:
            error, fix = self.crashed, our_failures.REPORT_IT
        elif self.unfit is not None:
            error = f"{self.started.python} is Python {self.unfit}; 3.10 or newer is needed"
        elif self.steps:
            error = f"{error}, at this step: {self.steps[-1]}"
        if self.open is None:
            told = partial(Fault, error=error, fix=fix, trace=self.trace)
            self.results += map(told, self.batch)
            return ()
        if says_where and (line := self.stack.place(self.batch[self.finished].folder)) is not None:
            error = f"{error}; it was at {line}"
        culprit, rest = self.batch[self.finished], self.batch[self.finished + 1 :]
        if culprit.places is not None:
            at, place = self.started.place
            mine = at == self.finished
            place = max(self.told, min(place, len(culprit) - 1)) if mine else self.told
            others = culprit.part(self.told, place), culprit.part(place + 1)
            rest = (*(one for one in others if len(one)), *rest)
            culprit = culprit.part(place, place + 1)
        self.results.append(Fault(question=culprit, error=error, fix=fix, trace=self.trace))
        return rest

    def leave(self) -> None:
        """Say which questions it has not come to."""
        for index in range(self.finished, len(self.batch)):
            rest = self._rest_of(index) if index == self.finished else self.batch[index]
            self.results.append(Unasked(question=rest))


def ask(batches: Iterable[Batch], how: Asking) -> Iterator[Result]:
    """Ask all batches, at most so many at the same time, each when there is room for it."""
    fresh = iter(batches)
    left: list[Batch] = []  # by processes that have died
    running: list[_Running] = []
    lines: Lines = queue.Queue(MOST_PIECES)
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
                yield from one.results
                one.results.clear()
    finally:
        for one in running:
            one.started.kill()
            one.started.abandon()


def _may_be_left(batch: Batch) -> bool:
    return all(one.kind.may_be_left for one in batch)


def _begin(batch: Batch, running: list[_Running], lines: Lines, how: Asking) -> Iterator[Result]:
    try:
        started = start(batch, lines, options=how.options, python=how.python)
    except OSError as error:
        reason = f"{how.python or 'python'} cannot be started: {error.strerror}"
        yield from (Fault(question=one, error=reason) for one in batch)
    else:
        running.append(_Running(batch=batch, started=started))


def _hear(
    running: list[_Running],
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


def _stop(one: _Running, running: list[_Running], lines: Lines) -> None:
    """End a process; what it has said is kept."""
    one.started.kill()
    one.started.drain(lambda: _hear(running, lines, patiently=False))
    for _ in range(lines.qsize()):  # of all; nothing of this one comes after these
        _hear(running, lines, patiently=False, most=1)
    if one.started.survivors:
        one.results.append(Survived(processes=one.started.survivors))
    running.remove(one)


def _end(one: _Running, running: list[_Running], lines: Lines, timeout: float) -> Batch:
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
