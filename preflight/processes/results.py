"""What comes of asking our processes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, TypeAlias

from preflight.kinds.question import Question


class Answer(NamedTuple):
    """What was seen: plain facts, each with its `type`."""

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
    """That a step has begun: `import torch`."""

    step: str


class Took(NamedTuple):
    """How long a step took, in seconds."""

    step: str
    seconds: float


class UnderWay(NamedTuple):
    """What was read of files that are not read to their end as yet."""

    bytes: int = 0
    seconds: float = 0.0
    """How long that was likely to take."""


class Unasked(NamedTuple):
    """What nobody has come to in the time that there was."""

    question: Question


class Survived(NamedTuple):
    """What the user's code has started, and nobody could end."""

    processes: tuple[str, ...]


Result: TypeAlias = Answer | Fault | Began | Took | UnderWay | Unasked | Survived


Batch: TypeAlias = tuple[Question, ...]
"""What one process is asked, in this order."""
