"""A gap in a range of shards.

What it finds
    Files that a brace range such as `data/{000..009}.tar` names, and that are not there.

Why it matters
    webdataset opens shards one by one while it trains. At a missing one it stops, hours after the
    start; or, with a handler that goes on, it trains without those samples and does not say so.

What to do
    Bring the missing shards, or write a range that names only what is there.
"""

from __future__ import annotations

from collections.abc import Iterator

from preflight.check import check
from preflight.facts import Absent
from preflight.finding import Finding, Location, Severity
from preflight.job import Job
from preflight.values.names import shown


@check(
    over=Absent,
    title="gap in a range of shards",
    many="places of a range hold no shard",
    severity=Severity.ERROR,
    always=True,
)
def shard_missing(facts: Absent, _job: Job) -> Iterator[Finding]:
    """Report each name of a range that is no file."""
    if facts.pattern is None:
        return
    named = Location(file=facts.named_in, line=facts.named_at)
    yield shard_missing.found(
        f"is named by {shown(facts.pattern)} and is not there",
        at=Location(file=facts.file),
        also=() if facts.named_in is None else (named,),
        why="webdataset meets the gap in the middle of the run: it stops there, or goes on without "
        "these samples where its handler swallows errors.",
        fix="Bring the shard, or write a range that leaves it out.",
    )
