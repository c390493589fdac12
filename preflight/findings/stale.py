"""Tells what somebody has accepted and is there no more: it would hide what comes next."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator
from typing import TypeAlias

from preflight.findings.gate import Baseline, covers, expired
from preflight.findings.judge import Judged
from preflight.findings.registry import fits
from preflight.findings.report import Outcome
from preflight.settings.job import Job
from preflight.values.names import counted

Known: TypeAlias = Callable[[str, "str | None"], bool]
"""`(check, place) -> bool`: whether all is known that it might say of the place, where it ran."""


def stale(
    job: Job,
    judged: Judged,
    baseline: Baseline,
    *,
    known: Known,
    again: bool,
    today: datetime.date,
) -> Iterator[str]:
    """Say in a sentence each which ignores are past their day, and which entries match nothing.

    Args:
        job: what it ignores, and what its baseline is called.
        judged: all that was found, accepted findings too, and what became of each check.
        baseline: what it holds.
        known: tells of a place; else what matches nothing may lie elsewhere.
        again: whether all was looked at that the baseline's own run has looked at.
        today: the day until which ignores hold.
    """
    for index, ignore in enumerate(job.ignore):
        asked = [one for one in judged.outcomes if fits(ignore.check, one.id)]
        if asked and expired(ignore, today):
            yield f"{_named(job, index)} holds no more: its last day was {ignore.until}."
        elif (
            asked
            and all(_looked(one, judged) for one in asked)
            and not any(covers(ignore, one) for one in judged.findings)
            and known(ignore.check, ignore.at)
        ):
            yield f"{_named(job, index)} matches nothing that was found; take it out."
    gone = _gone(judged, baseline, known, again=again)
    if gone:
        entries = counted(len(baseline.entries), "entry", "entries")
        yield f"The baseline {job.gate.baseline} has {entries}; found no longer: {gone:,}."


def _named(job: Job, index: int) -> str:
    ignore = job.ignore[index]
    file, line = job.origin(f"ignore.{index}.check")
    place = f"{file}:{line}: " if file else ""
    return f"{place}[[ignore]] {ignore.check}" + (f" at {ignore.at}" if ignore.at else "")


def _gone(judged: Judged, baseline: Baseline, known: Known, *, again: bool) -> int:
    """Count the entries of a baseline that match nothing, as far as that is known."""
    ran = {one.id: one.outcome != "skipped" for one in judged.outcomes if _looked(one, judged)}
    there = {one.fingerprint for one in judged.findings}
    return sum(
        mark not in there and ((again and ran[one.check]) or known(one.check, one.file))
        for mark, one in baseline.entries.items()
        if one.check in ran
    )


def _looked(one: Outcome, judged: Judged) -> bool:
    """Whether a check has seen all that it is about, as far as there is any."""
    left = any(skip.count for skip in one.skipped)
    return not one.broken and not left and one.id not in judged.more
