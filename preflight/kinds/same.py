"""What every rank of a job should see alike, as the row of a kind tells it of its facts."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

from preflight.findings.finding import Location, Severity


@dataclass(frozen=True, slots=True, kw_only=True)
class Same:
    """One such thing, as one rank sees it."""

    what: str
    """`torch`, `shards of data`: the same words on all ranks."""

    value: str
    at: Location | None = None
    absent: str = ""
    """What it comes to that a rank does not have it, `not set`; empty: that says nothing."""

    severity: Severity = Severity.WARNING
    """What it means for the job that ranks differ in it."""


EVALUATES, EVENED = "evaluation", "batches evened out"
"""What a row tells of a rank that is no matter of comparison: at `at` it evaluates; what it does
about ranks with more batches than others (`Join`)."""


def listed(names: Iterable[str], noun: str) -> str:
    """Say how many there are, and tell one list from another by a hash."""
    every = sorted(names)
    digest = hashlib.sha256("\n".join(every).encode("utf-8", "surrogatepass")).hexdigest()
    return f"{len(every):,} {noun}{'s' * (len(every) != 1)} (sha256 {digest[:12]})"
