"""What is known of a folder of cached files as a whole."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True, slots=True, kw_only=True)
class Alike:
    """Cached files that are alike in one way."""

    what: str
    """A format (`torch zip`), or the part of their names that they share (`-flux.pt`)."""

    count: int
    names: tuple[str, ...]
    """Of the first few, below the folder."""


class Unread(NamedTuple):
    """A cached file of which not everything was looked at."""

    name: str
    """Below the folder."""

    what: str
    """What was not, with its sizes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Burst:
    """Damaged files that were last written at nearly the same time."""

    count: int
    begin: float
    """In seconds since the epoch."""

    end: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheFolderFacts:
    """A folder of cached files, with all below it, after each was read."""

    file: str
    entries: int
    """Cached files that were read."""

    damaged: int = 0
    formats: tuple[Alike, ...] = ()
    """Whole files by format, the commonest first."""

    unverified: tuple[Alike, ...] = ()
    """By format, whole files without a checksum, or with some that say nothing; of which all was
    looked at."""

    unread: tuple[Unread, ...] = ()
    """The first few of those of which not everything was looked at."""

    unread_count: int = 0
    patterns: tuple[Alike, ...] = ()
    """Files whose names begin with a hash, by what follows it, the commonest first."""

    apart: float = 0.0
    """The share of hashes that stand before one such pattern only, from 0 to 1."""

    left_over: tuple[str, ...] = ()
    """Temporary files and locks, the first few, below the folder."""

    left_over_count: int = 0
    same_as: str | None = None
    """Another entry of the settings that names this folder, too."""

    bursts: tuple[Burst, ...] = ()
    checkpoints: int = 0
    """How many, where it is a folder of checkpoints."""
