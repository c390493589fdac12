"""What our processes answer, and what is told of them meanwhile."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, TypeAlias

from preflight.kinds.question import Question


class Answer(NamedTuple):
    """What was seen: plain facts, each with its `type`."""

    question: Question
    told: tuple[Mapping[str, Any], ...]


class Early(NamedTuple):
    """What was seen by now, where the rest takes long: facts as in `Answer`."""

    question: Question
    told: tuple[Mapping[str, Any], ...]


class Fault(NamedTuple):
    """Why nobody could look."""

    question: Question
    error: str
    fix: str | None = None
    mistyped: bool = False
    """Whether a module or name that the user typed does not exist."""

    trace: str | None = None
    """The traceback, where our own code failed."""


class Began(NamedTuple):
    """A step has begun: `import torch`."""

    step: str


class Took(NamedTuple):
    """How long a step took, in seconds."""

    step: str
    seconds: float


class UnderWay(NamedTuple):
    """How much was read of the files that are still being read."""

    bytes: int = 0
    seconds: float = 0.0
    """The seconds that so much was expected to take."""


class Unasked(NamedTuple):
    """A question that was not asked, since the budget was used up."""

    question: Question


class Survived(NamedTuple):
    """Processes that the user's code has started, and that could not be ended."""

    processes: tuple[str, ...]


Result: TypeAlias = Answer | Early | Fault | Began | Took | UnderWay | Unasked | Survived


Batch: TypeAlias = tuple[Question, ...]
"""What one process is asked, in this order."""
