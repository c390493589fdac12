"""Which parts of a job were looked at: what a verdict covers, and what it does not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

PARTS = ("data", "cache", "checkpoint", "loader", "model", "source", "script")

OF_JOB = ("data", "cache", "checkpoint", "loader", "model", "script")
"""Without some of these, there is nothing that a GO could be about."""

WHOLE, PART, UNREAD, NOT_NAMED = "whole", "part", "unread", "not-named"


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

    if_named: Mapping[str, int] = field(default_factory=dict)
    """Files there that are read only where they are named, by suffix."""

    if_named_by: str | None = None
    """The command that names the first of them, of each kind."""

    hint: str | None = None
    """The command that looks at this part, where one is known."""

    hint_at: str | None = None
    """What that command names, and where it stands: `train.py:116 makes batches`."""
