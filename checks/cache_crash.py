"""Damaged files of a cache that were last written at the same time.

What it finds
    Three or more damaged files in one cache that were last written within ten seconds of one
    another. That they were left by one crash, or by one disk that was full, is a guess.

Why it matters
    One cause has one remedy, and the time says where to look for it: in the log of the job, of the
    scheduler or of the machine. Files that were written in the same minute and look whole may be
    worth a second look, where they have no checksums.

What to do
    Look what happened then; make the files again once it cannot happen again.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator

from preflight.check import check
from preflight.facts import CacheFolderFacts
from preflight.finding import Finding, Location, Severity
from preflight.job import Job


@check(
    over=CacheFolderFacts,
    title="damaged cached files of one moment",
    many="moments left damaged cached files",
    severity=Severity.NOTE,
)
def cache_crash(facts: CacheFolderFacts, _job: Job) -> Iterator[Finding]:
    """Tell each moment at which several damaged files were last written."""
    for one in facts.bursts:
        begin = datetime.datetime.fromtimestamp(one.begin, tz=datetime.timezone.utc)
        seconds = one.end - one.begin
        when = f"within {seconds:,.1f} s, from" if seconds >= 0.1 else "at the same moment,"
        on = " on" if seconds >= 0.1 else ""
        yield cache_crash.found(
            f"{one.count:,} of its {facts.damaged:,} damaged files were last written {when} "
            f"{begin:%Y-%m-%d %H:%M:%S} UTC{on}: most likely left by one crash or one full disk",
            at=Location(file=facts.file),
            why="What ended their writer has most likely one cause, which may come again.",
            fix="Look into the logs of that moment, and make the files again.",
            evidence={"files": one.count, "seconds": round(one.end - one.begin, 1)},
            about=f"{one.begin:.0f}",
        )
