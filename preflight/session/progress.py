"""How far a run has come, for whoever watches it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from preflight.findings.finding import Finding
from preflight.kinds.gather import Gather
from preflight.kinds.question import Question
from preflight.processes.results import UnderWay


class Progress(NamedTuple):
    """How far a run has come."""

    done: int
    total: int
    name: str
    """What was looked at last."""

    bytes: int
    """Of the files that were read."""

    share: float
    """How much of the work is likely to be done, from 0 to 1."""

    doing: str = ""
    """What is at work, for people: `imports torch`, `reads sources 812 of 2,086`."""

    runs_code: bool = False
    """Whether the user's code is at work, of which nobody knows how long it takes."""


Watch: TypeAlias = Callable[[Progress | Finding], None]
"""Called with each step forward and with each finding, as it comes."""


@dataclass(slots=True)
class Account:
    """How much has been done, and how much there is to do."""

    watch: Watch
    total: int = 0
    expected: float = 0.0
    """How long all that is to be read is likely to take, in seconds."""

    done: int = 0
    bytes: int = 0
    worked: float = 0.0
    """How long what is done was likely to take."""

    to_read: dict[Gather, int] = field(default_factory=dict)
    """How many things of each kind are to be read."""

    _read: Counter[Gather] = field(default_factory=Counter)
    _steps: list[str] = field(default_factory=list)
    """Of the user's code, those that are at work."""

    _under_way: UnderWay = field(default_factory=UnderWay)
    _name: str = ""
    _reading: str = ""

    def passed(self, number: int) -> None:
        """Take in that so many things need no reading."""
        self.done += number

    def begins(self) -> None:
        """Tell what is to be read: the first of few may take nearly all of the time."""
        counts = [(many, one.kind.noun) for one, many in self.to_read.items() if one.kind.is_kept]
        many, noun = max(counts, default=(0, ""))
        if many:
            self._reading = f"reads {noun}s 0 of {many:,}"
            self._tell()

    def began(self, step: str) -> None:
        """Take in that the user's code comes to a step, and tell it."""
        self._steps.append(step)
        self._tell()

    def ended(self, step: str) -> None:
        """Take in that a step is over."""
        if step in self._steps:
            self._steps.remove(step)

    def reads(self, under_way: UnderWay) -> None:
        """Take in what was read of files that are still open, and tell it where that is more."""
        before, self._under_way = self._under_way, under_way
        if under_way.bytes > before.bytes:
            self._tell()

    def did(self, question: Question) -> None:
        """Take in that a question was answered, which may be about several things, and tell it."""
        self.done += len(question)
        self.bytes += question.size
        self.worked += question.seconds
        self._name = question.at.file or question.at.name or ""
        if question.runs_code:
            self._steps.clear()
        else:
            self._read[question.gather] += len(question)
            self._reading = self._read_so_far(question)
        self._tell()

    def _read_so_far(self, question: Question) -> str:
        """Say how many of a kind were read; of what is asked beside files, leave that as it is."""
        read, total = self._read[question.gather], self.to_read.get(question.gather, 0)
        if question.kind.is_kept:
            return f"reads {question.kind.noun}s {read:,} of {max(read, total):,}"
        kept = [(one, many) for one, many in self.to_read.items() if one.kind.is_kept]
        return self._reading if any(self._read[one] < many for one, many in kept) else ""

    def _tell(self) -> None:
        verb, _, object_ = (self._steps or [""])[-1].partition(" ")
        worked = self.worked + self._under_way.seconds
        share = min(1.0, worked / self.expected) if self.expected else 0.0
        reading = self._reading if share < 1 or not verb else ""
        self.watch(
            Progress(
                done=self.done,
                total=max(self.total, self.done),
                name=self._name,
                bytes=self.bytes + self._under_way.bytes,
                share=share,
                doing="; ".join(filter(None, [f"{verb}s {object_}" if verb else "", reading])),
                runs_code=bool(verb),
            )
        )
