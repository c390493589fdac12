"""One thing that a process is asked: what about, by which reader, and who takes the answer."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from preflight.findings.finding import Location

if TYPE_CHECKING:
    from preflight.kinds.gather import Gather
    from preflight.kinds.kind import Kind
    from preflight.kinds.target import Target


@dataclass(slots=True, kw_only=True)
class Question:
    """What a process is asked: about one thing, or about several things in one go."""

    kind: Kind
    wire: Mapping[str, Any]
    """The plain values that are sent to the reader."""

    target: Target
    """The target that the answer is about, or part of."""

    at: Location
    """What it is about, as reports name it."""

    gives: tuple[type, ...]
    """The types of facts that an answer may hold."""

    gather: Gather
    """Asks the question, and is given the answer."""

    whole: Any = None
    """Where the answer is part of a larger one: that one, for the gather. Nobody else reads it."""

    places: Sequence[int] | None = None
    """Where it is about several things: the index of each in the list that the gather keeps."""

    folder: str | None = None
    """The folder in which the user's code is run for it; None: none is."""

    seconds: float = 0.0
    """How long a process is likely to look at it."""

    size: int = 0
    """Bytes of its file before it was read."""

    how: str | None = None
    """The settings that decide how its file is read, as the ledger keeps them; None: not kept."""

    @property
    def runs_code(self) -> bool:
        """Whether the code of the user is run for it."""
        return self.kind.runs_code or self.folder is not None

    def __len__(self) -> int:
        return 1 if self.places is None else len(self.places)

    def part(self, begin: int, end: int | None = None) -> Question:
        """Make a question about some of its things only."""
        assert self.places is not None  # noqa: S101  for the type checker
        return self.gather.about(self.whole, self.places[begin:end])


def stamp_of(path: str) -> tuple[int, int]:
    """Give the bytes of a file and when it was last written, in ns; zeros where nobody knows."""
    try:
        status = os.stat(path)
    except OSError:
        return 0, 0
    return status.st_size, status.st_mtime_ns
