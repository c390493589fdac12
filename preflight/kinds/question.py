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
    """What a process is asked: about one thing, or about several that are told by their places."""

    kind: Kind
    wire: Mapping[str, Any]
    """What the reader is told."""

    target: Target
    """For whose sake it is asked."""

    at: Location
    """What it is about, as reports name it."""

    gives: tuple[type, ...]
    """The types of facts that are to be had of it."""

    gather: Gather
    """Takes the answer."""

    whole: Any = None
    """What the answer is a part of, for whoever takes it."""

    places: Sequence[int] | None = None
    """Of the things that it is about, where there are several."""

    folder: str | None = None
    """The folder in which the user's code is run for it; None: none is."""

    seconds: float = 0.0
    """How long a process is likely to look at it."""

    size: int = 0
    """Bytes of its file before it was read."""

    how: str | None = None
    """How its file is read, where what is seen in it may be remembered."""

    @property
    def runs_code(self) -> bool:
        """Whether the code of the user is run for it."""
        return self.kind.runs_code or self.folder is not None

    def __len__(self) -> int:
        return 1 if self.places is None else len(self.places)

    def part(self, begin: int, end: int | None = None) -> Question:
        """Ask about some of its things only."""
        assert self.places is not None  # noqa: S101  for the type checker
        return self.gather.about(self.whole, self.places[begin:end])


def stamp_of(path: str) -> tuple[int, int]:
    """Give the bytes of a file and when it was last written, in ns; zeros where nobody knows."""
    try:
        status = os.stat(path)
    except OSError:
        return 0, 0
    return status.st_size, status.st_mtime_ns
