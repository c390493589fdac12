"""What the ranks of a job have seen, each by itself, as rank 0 has it from them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from preflight.findings.finding import Location, Severity
from preflight.kinds.same import Same


class FoundThere(NamedTuple):
    """A finding of one rank."""

    check: str
    severity: Severity
    message: str
    at: Location
    why: str | None = None
    fix: str | None = None
    fingerprint: str = ""


class RankSeen(NamedTuple):
    """What one rank has seen."""

    rank: int
    host: str = ""
    same: tuple[Same, ...] = ()
    """What should be alike on all ranks."""

    found: tuple[FoundThere, ...] = ()
    failed: tuple[str, ...] = ()
    """What it could not look at, and why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RanksSeen:
    """What was gathered; on another rank than 0, that it was handed over."""

    name: str
    """`rank 0 of 4`."""

    rank: int
    size: int
    every: tuple[RankSeen, ...] = ()
    """All that came, rank 0 first."""

    silent: tuple[int, ...] = ()
    """Ranks that have told nothing; on another rank than 0, that rank, where it took nothing."""

    waited: float = 0.0
    """Seconds for which they were waited for."""


def in_words(found: list[RanksSeen]) -> str | None:
    """Say on a page how many ranks were compared."""
    compared = [one for one in found if len(one.every) > 1]
    return f"compared on {len(compared[-1].every):,} ranks" if compared else None
