"""Which parts of a job were looked at: what a verdict covers, and what it does not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

PARTS = ("data", "cache", "checkpoint", "loader", "model", "source", "script")

WHOLE, PART, UNREAD, NOT_NAMED = "whole", "part", "unread", "not-named"


class Files(NamedTuple):
    """Files of one suffix that no reader reads."""

    count: int
    bytes: int

    def __add__(self, other: tuple[object, ...]) -> Files:  # type: ignore[override]
        """Sum up both."""
        return Files(*(sum(pair) for pair in zip(self, other, strict=True)))  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True, kw_only=True)
class Covered:
    """How far one part of the job was looked at."""

    part: str
    """`data`, `cache`, `checkpoint`, `loader`, `model`, `source` or `script`."""

    state: str
    """`whole` or `part` of it was looked at; `unread`: nothing of what is there; `not-named`."""

    looked_at: int = 0
    """Targets that were looked at: shards, folders of images, caches, loaders."""

    of: int = 0
    """Targets that there are, as far as anybody named or found them."""

    seen: str = ""
    """What was looked at, for people: `24 shards (12,000 samples)`."""

    unread: Mapping[str, int] = field(default_factory=dict)
    """Files there that no reader reads, by suffix."""

    unread_bytes: int = 0
    """Their sizes together."""

    hint: str | None = None
    """The command that looks at this part, where one is known."""


def summed_up(found: Iterable[Mapping[str, tuple[int, int]]]) -> dict[str, Files]:
    """Add up files by suffix, most of them first; names beside which no suffix stands are `''`."""
    total: dict[str, Files] = {}
    for one in found:
        for suffix, files in one.items():
            total[suffix] = total.get(suffix, Files(0, 0)) + files
    return dict(sorted(total.items(), key=lambda item: (-item[1].count, item[0])))
