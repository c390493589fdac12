"""What is named and not there."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Absent:
    """Something that the settings or a brace range name, and that is not there."""

    file: str
    kind: str
    pattern: str | None = None
    named_in: str | None = None
    named_at: int | None = None
    near: str | None = None
    """A name like it that is there."""

    elsewhere: str | None = None
    """The same path, taken from the folder of the file that names it, where that is there."""

    holds: str | None = None
    """What is wrong with it where it is there after all: `holds no image and no shard`."""
