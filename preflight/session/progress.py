"""How far a run has come, for whoever watches it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from preflight.findings.finding import Finding
from preflight.kinds.question import Question


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

    def passed(self, number: int) -> None:
        """Take in that so many things need no reading."""
        self.done += number

    def did(self, question: Question) -> None:
        """Take in that a question was answered, which may be about several things, and tell it."""
        self.done += len(question)
        self.bytes += question.stamp[0]
        self.worked += question.seconds
        self.watch(
            Progress(
                done=self.done,
                total=self.total,
                name=question.at.file or question.at.name or "",
                bytes=self.bytes,
                share=min(1.0, self.worked / self.expected) if self.expected else 0.0,
            )
        )
