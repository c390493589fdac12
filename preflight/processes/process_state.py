"""The state of a process that is asked questions, kept up to date by the lines that it writes."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from preflight.findings import our_failures
from preflight.kinds.question import Question
from preflight.processes.hanging import Stack
from preflight.processes.results import (
    Answer,
    Batch,
    Began,
    Early,
    Fault,
    Result,
    Took,
    Unasked,
    UnderWay,
)
from preflight.processes.start import Started

_UNFIT = rb'\{"unfit": "([0-9.]{1,9})"\}'


@dataclass(slots=True)
class Running:
    """The state of one process."""

    batch: Batch
    started: Started
    open: int | None = None
    """The index of the question that it works on; None before the first."""

    steps: list[str] = field(default_factory=list)
    """The steps that have begun and not ended, the innermost last."""

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

    come_to: tuple[int, int] = (0, 0)
    """Of the file that it has open: bytes read, and bytes in all; zeros where it has not said."""

    results: list[Result] = field(default_factory=list)
    stack: Stack = field(default_factory=Stack)
    """Where it was when it had said nothing for long."""

    token: bytes = field(init=False)
    """What each of its lines begins with."""

    def __post_init__(self) -> None:
        self.token = f"{self.started.token} ".encode()

    def hear(self, line: bytes) -> None:
        """Take in one line that came from it."""
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
        self.come_to = said.get("at", 0), said.get("size", 0)
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
        """Take a line that is not of our protocol: a stack, or that the interpreter is too old."""
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
        else:
            self.results.append(Early(question=question, told=tuple(facts)))

    def _rest_of(self, index: int) -> Question:
        question = self.batch[index]
        return question.part(self.told) if self.told else question

    def under_way(self) -> UnderWay:
        """Say how much of the open question is done, as far as it has said."""
        at, size = self.come_to
        if not size or self.finished >= len(self.batch) or self.batch[self.finished].runs_code:
            return UnderWay()
        question = self.batch[self.finished]
        return UnderWay(bytes=at, seconds=question.seconds / len(question) * at / size)

    def give_up(self, reason: str, fix: str | None, *, says_where: bool = False) -> Batch:
        """Blame its end on the question it had open, and give the questions that are left."""
        if self.finished >= len(self.batch):
            return ()  # it died with everything said but the last line
        error = f"the process that looked at it {reason}"
        if self.crashed is not None:
            error, fix = self.crashed, our_failures.report_it(traced=self.trace is not None)
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
        """Report the questions that it has not answered as not asked."""
        for index in range(self.finished, len(self.batch)):
            rest = self._rest_of(index) if index == self.finished else self.batch[index]
            self.results.append(Unasked(question=rest))
