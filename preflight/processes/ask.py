"""Asks processes about items: several at once, each death and each silence put down to its item.

When a process dies or is late, the item that it had open is named, what it had answered is kept,
and a new process goes on with the rest.
"""

from __future__ import annotations

import json
import queue
import re
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from preflight.processes.start import MOST_PIECES, Lines, Question, Started, start, wait
from preflight.values.exit_status import ending

# Lines that are taken in before what they say is dealt with.
_AT_ONCE = 100

# What several lines came in, of which so many are few enough to be taken in at once.
_FEW = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What was seen of an item: plain facts, each with its `type`."""

    key: Any
    facts: tuple[Mapping[str, Any], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """Why an item could not be looked at."""

    key: Any
    error: str
    fix: str | None = None
    mistyped: bool = False
    """Whether a module or name that the user typed does not exist."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Took:
    """How long a step took, in seconds."""

    step: str
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Unasked:
    """An item that nobody has come to in the time that there was."""

    key: Any


class Several(ABC):
    """A key that stands for several things, which one item names and which are seen in turn."""

    __slots__ = ()

    @property
    @abstractmethod
    def plain(self) -> Mapping[str, Any]:
        """The item that names them."""

    @abstractmethod
    def part(self, begin: int, end: int | None = None) -> Several:
        """Give some of them, by their places."""

    @abstractmethod
    def __len__(self) -> int:
        """Count them."""


Result: TypeAlias = Answer | Fault | Took | Unasked


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """A question, and by which key each of its items is known to us."""

    question: Question
    keys: tuple[Any, ...]
    may_be_left: bool = False
    """Whether it may be left out where time is short."""


_UNFIT = rb'\{"unfit": "([0-9.]{1,9})"\}'


@dataclass(slots=True)
class _Running:
    """What a process has come to."""

    batch: Batch
    started: Started
    open: int | None = None
    """The item it looks at; None before the first."""

    step: str | None = None
    finished: int = 0
    """Items answered."""

    told: int = 0
    """How many things were answered of the open item, where it names several."""

    done: bool = False
    unfit: str | None = None
    """The version of an interpreter that is too old."""

    results: list[Result] = field(default_factory=list)
    token: bytes = field(init=False)
    """What each of its lines begins with."""

    def __post_init__(self) -> None:
        """Work out what is looked for in every line."""
        self.token = f"{self.batch.question.token} ".encode()

    def hear_all(self, lines: bytes) -> None:
        """Take in one line or several."""
        for line in lines.split(b"\n"):
            if line:
                self.hear(line)

    def hear(self, line: bytes) -> None:
        """Take in one line."""
        if not line.startswith(self.token):
            return self._hear_stranger(line)
        try:
            said = json.loads(line[len(self.token) :].decode())
        except (ValueError, RecursionError):  # cut by its writer's death
            return None
        self.started.heard = time.monotonic()
        self._take_in(said)
        if isinstance(index := said.get("open"), int):  # which may follow in the same line
            self.open, self.step = index, None
        self.done = self.done or said.get("done") is True
        return None

    def _take_in(self, said: Mapping[str, Any]) -> None:
        match said:
            case {"answer": int(index), "facts": list(facts)}:
                self._finish(Answer(key=self._rest_of(index), facts=tuple(facts)))
            case {"some": list(facts), "count": int(count)}:
                self._tell(facts, count)
            case {"step": str(name)}:
                self.step = name
            case {"took": str(name), "seconds": float(seconds)}:
                self.step = None
                self.results.append(Took(step=name, seconds=seconds))
            case {"broken": int(index), "error": str(error)}:
                key = self._rest_of(index)
                self._finish(Fault(key=key, error=error, fix=said.get("fix")))
            case {"mistyped": int(index), "error": str(error)}:
                self._finish(Fault(key=self.batch.keys[index], error=error, mistyped=True))

    def _hear_stranger(self, line: bytes) -> None:
        """Pass over what is no line of ours, but for an interpreter that is too old to run us."""
        match = re.fullmatch(_UNFIT, line.strip())
        if match is not None and self.open is None:
            self.unfit = match[1].decode()

    def _finish(self, result: Answer | Fault) -> None:
        self.finished += 1
        self.step = None
        self.told = 0
        self.results.append(result)

    def _tell(self, facts: list[Mapping[str, Any]], count: int) -> None:
        """Take in what was seen of some of what the open item names."""
        key = self.batch.keys[self.finished]
        if isinstance(key, Several):
            self.results.append(
                Answer(key=key.part(self.told, self.told + count), facts=tuple(facts))
            )
            self.told += count

    def _rest_of(self, index: int) -> Any:
        """Give the key of an item, but for what was answered of it."""
        key = self.batch.keys[index]
        return key.part(self.told) if self.told and isinstance(key, Several) else key

    def give_up(self, reason: str, fix: str | None) -> Batch | None:
        """Put its end down to the item it had open, and give what is left to ask."""
        keys = self.batch.keys
        if self.finished >= len(keys):
            return None  # it died with everything said but the last line
        culprit = self.finished
        error = f"the process that looked at it {reason}"
        if self.unfit is not None:
            error = f"{self.batch.question.python} is Python {self.unfit}; 3.10 or newer is needed"
        if self.open is None:
            self.results += [Fault(key=key, error=error, fix=fix) for key in keys]
            return None
        if self.step is not None:
            error = f"{error}, at this step: {self.step}"
        key, rest = keys[culprit], keys[culprit + 1 :]
        items = self.batch.question.items[culprit + 1 :]
        if isinstance(key, Several):
            item, place = self.started.place
            place = max(self.told, min(place, len(key) - 1)) if item == culprit else self.told
            others = [key.part(self.told, place), key.part(place + 1)]
            others = [one for one in others if len(one)]
            rest, items = (*others, *rest), (*(one.plain for one in others), *items)
            key = key.part(place, place + 1)
        self.results.append(Fault(key=key, error=error, fix=fix))
        if not rest:
            return None
        return replace(self.batch, question=replace(self.batch.question, items=items), keys=rest)

    def leave(self) -> None:
        """Say which items it has not come to."""
        for index in range(self.finished, len(self.batch.keys)):
            key = self._rest_of(index) if index == self.finished else self.batch.keys[index]
            self.results.append(Unasked(key=key))


def ask(
    batches: Iterable[Batch],
    *,
    jobs: int,
    timeout: float,
    until: float | None = None,
) -> Iterator[Result]:
    """Ask all batches, at most so many at the same time.

    Args:
        batches: each becomes one process, or more where processes die; taken one by one, when there
            is room for it.
        jobs: processes at the same time.
        timeout: seconds of silence after which a process counts as hung.
        until: when to stop with what may be left out, by the monotonic clock; None: never.
    """
    waiting = _Waiting(iter(batches))
    running: list[_Running] = []
    lines: Lines = queue.Queue(MOST_PIECES)
    try:
        while True:
            late = until is not None and time.monotonic() > until
            while len(running) < jobs and (batch := waiting.next()) is not None:
                if late and batch.may_be_left:
                    yield from (Unasked(key=key) for key in batch.keys)
                else:
                    yield from _begin(batch, running, lines)
            if not running:
                return
            _hear(running, lines)
            for one in tuple(running):  # those that have ended leave the list
                if late and one.batch.may_be_left:
                    _stop(one, running, lines)
                else:
                    waiting.again(_end(one, running, lines, timeout))
                yield from one.results
                one.results.clear()
    finally:
        for one in running:
            one.started.kill()
            one.started.abandon()


@dataclass(slots=True)
class _Waiting:
    """What is still to be asked: first what a process has left when it died."""

    fresh: Iterator[Batch]
    left: list[Batch] = field(default_factory=list)

    def next(self) -> Batch | None:
        return self.left.pop() if self.left else next(self.fresh, None)

    def again(self, batch: Batch | None) -> None:
        if batch is not None:
            self.left.append(batch)


def _begin(batch: Batch, running: list[_Running], lines: Lines) -> Iterator[Result]:
    try:
        running.append(_Running(batch=batch, started=start(batch.question, lines)))
    except OSError as error:
        reason = f"{batch.question.python or 'python'} cannot be started: {error.strerror}"
        yield from (Fault(key=key, error=reason) for key in batch.keys)


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
                one.hear_all(several)


def _stop(one: _Running, running: list[_Running], lines: Lines) -> None:
    """End a process whose time is up; what it has said is kept."""
    one.started.kill()
    one.started.drain(lambda: _hear(running, lines, patiently=False))
    for _ in range(lines.qsize()):  # of all; nothing of this one comes after these
        _hear(running, lines, patiently=False, most=1)
    running.remove(one)
    one.leave()


def _end(
    one: _Running,
    running: list[_Running],
    lines: Lines,
    timeout: float,
) -> Batch | None:
    """Close the account of a process that is done, dead or late; give what is left to ask."""
    silent = time.monotonic() - one.started.heard > timeout
    ended = one.started.ended
    if not (one.done or ended or silent):
        return None
    if not silent and lines.qsize() > _FEW:
        return None  # what was said so far is dealt with first, and need not be held all at once
    one.started.kill()
    one.started.drain(lambda: _hear(running, lines, patiently=False))
    for _ in range(lines.qsize()):  # of all; nothing of this one comes after these
        _hear(running, lines, patiently=False, most=1)
    running.remove(one)
    if one.done and one.finished >= len(one.batch.keys):
        return None
    if one.done:
        return one.give_up("said that it was done, and was not", None)
    if ended:
        return one.give_up(ending(one.started.popen.returncode), None)
    fix = "Give it longer, if it is only slow:  preflight run --timeout SECONDS"
    return one.give_up(f"said nothing for {timeout:g} s", fix)
