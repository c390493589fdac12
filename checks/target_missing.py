"""Something that the settings name, and that is not there.

What it finds
    A folder, file or pattern in preflight.toml that names nothing, or a folder that is named as a
    data set and holds no image and no shard. A cache folder that is not there is a note, since a
    trainer makes it at its first run; and a warning where a name like it lies beside it.

Why it matters
    The job reads the same path. It stops at its start; or, where the code goes on without what it
    did not find, it trains on less than was meant.

What to do
    Correct the path, or mount what it lies on. A name like it that does exist is told.
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
    title="path in the settings that is not there",
    many="paths are not there",
    severity=Severity.ERROR,
    always=True,
)
def target_missing(facts: Absent, job: Job) -> Iterator[Finding]:
    """Report what is absent, unless it is one of a range of shards."""
    if facts.pattern is not None:
        return
    if _may_be_made(facts):
        yield _of_cache(facts, job)
        return
    place = Location(file=facts.named_in, line=facts.named_at, name=facts.file)
    near = f"; beside it lies {shown(facts.near)}" if facts.near else ""
    yield target_missing.found(
        f"{facts.holds}{near}" if facts.holds else f"there is no such {facts.kind} path{near}",
        at=place,
        why="The job reads this path too, and stops at it or goes on without it.",
        fix="Correct the path, or mount the file system on which it lies.",
    )


def _may_be_made(facts: Absent) -> bool:
    """Whether this is a cache folder, which a trainer makes itself: a file has a suffix."""
    name = facts.file.rstrip("/").rpartition("/")[2]
    return facts.kind == "cache" and facts.holds is None and "." not in name.strip(".")


def _of_cache(facts: Absent, job: Job) -> Finding:
    others = {one.path.rstrip("/").rpartition("/")[2] for one in job.cache}
    near = facts.near if facts.near not in others else None
    beside = f"; beside it lies {shown(near)}" if near else ""
    return target_missing.found(
        f"there is no such cache folder yet{beside}",
        severity=Severity.WARNING if near else Severity.NOTE,
        at=Location(file=facts.named_in, line=facts.named_at, name=facts.file),
        why="A job that fills its cache makes it before it trains; a job that only reads it stops.",
        fix="Correct the path, if the cache is made already.",
    )
