"""Something that the settings name, and that is not there.

What it finds
    A folder, file or pattern that names nothing, in preflight.toml or in the file in which a
    trainer keeps its data sets (kohya's dataset config, SimpleTuner's multidatabackend.json); a
    folder that is named there as a data set and holds no image and no shard; and such a file that
    is no valid TOML or JSON. A cache folder that is not there is a note, since a trainer makes it
    at its first run; and a warning where a name like it lies beside it.

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
    if facts.file == facts.named_in:  # a trainer's own file, and not what it names
        yield _of_file(facts)
        return
    place = Location(file=facts.named_in, line=facts.named_at, name=facts.file)
    near = f"; beside it lies {shown(facts.near)}" if facts.near else ""
    fix = "Correct the path, or mount the file system on which it lies."
    if facts.elsewhere is not None:
        near = f" from here; from {shown(facts.named_in or '')} there is {shown(facts.elsewhere)}"
        fix = "Start the job in that file's folder, or say the path from where it starts."
    yield target_missing.found(
        f"{facts.holds}{near}" if facts.holds else f"there is no such {facts.kind} path{near}",
        at=place,
        why="The job reads this path too, and stops at it or goes on without it.",
        fix=fix,
    )


def _of_file(facts: Absent) -> Finding:
    return target_missing.found(
        facts.holds or "is not there",
        at=Location(file=facts.file, line=facts.named_at),
        why="The trainer reads it at its start, and stops.",
        fix="Mend this line.",
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
