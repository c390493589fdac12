"""Tells what somebody has accepted and is there no more: it would hide what comes next."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping, Sequence

from preflight.findings.finding import Finding
from preflight.findings.gate import covers, expired
from preflight.findings.registry import fits
from preflight.findings.report import Outcome
from preflight.settings.job import Job
from preflight.values.names import counted


def stale(
    job: Job,
    outcomes: Sequence[Outcome],
    findings: Sequence[Finding],
    baseline: Mapping[str, str],
    *,
    more: Mapping[str, object],
    whole: bool,
    today: datetime.date,
) -> Iterator[str]:
    """Say in a sentence each which ignores are past their day, and which entries match nothing.

    Args:
        job: what it ignores.
        outcomes: what became of each check.
        findings: all that were found, accepted ones too.
        baseline: the fingerprints that it holds, each with its check.
        more: findings that were only counted, by check; they may match.
        whole: whether everything was looked at; else what matches nothing may lie elsewhere.
        today: the day until which ignores hold.
    """
    for index, ignore in enumerate(job.ignore):
        file, line = job.origin(f"ignore.{index}.check")
        place = f"{file}:{line}: " if file else ""
        named = f"{place}[[ignore]] {ignore.check}" + (f" at {ignore.at}" if ignore.at else "")
        asked = [one for one in outcomes if fits(ignore.check, one.id)]
        if expired(ignore, today):
            if asked:
                yield f"{named} holds no more: its last day was {ignore.until}."
        elif (
            whole
            and asked
            and all(_looked(one, more) for one in asked)
            and not any(covers(ignore, one) for one in findings)
        ):
            yield f"{named} matches nothing that was found; take it out."
    seen = {one.id for one in outcomes if _looked(one, more)} if whole else set()
    there = {one.fingerprint for one in findings}
    gone = sum(check in seen and mark not in there for mark, check in baseline.items())
    if gone:
        entries = counted(len(baseline), "entry", "entries")
        name = job.gate.baseline
        yield f"The baseline {name} has {entries}; found no longer: {gone:,}."


def _looked(one: Outcome, more: Mapping[str, object]) -> bool:
    """Whether a check has seen all that it is about, as far as there is any."""
    left = any(skip.count for skip in one.skipped)
    return not one.broken and not left and one.id not in more
