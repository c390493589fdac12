"""The checkpoint from which the job would go on is not whole.

What it finds
    In a folder that was named as `checkpoint=`, where each folder or file is one state of a run: a
    newest checkpoint with a damaged file, or without a file that all others have. The newest one
    that is whole is named, and what is wrong with the others. Of a folder whose newest checkpoint
    is whole, only that is a note if others are not.

Why it matters
    A trainer that resumes takes the newest. It stops there, after the models were loaded, or begins
    anew without a word; and a scheduler that restarts it does so again and again.

What to do
    Resume from the checkpoint that is named, and move the damaged ones aside.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator

from preflight.check import check
from preflight.facts import Checkpoint, CheckpointFacts
from preflight.finding import Finding, Location, Severity
from preflight.job import Job
from preflight.names import counted, first_of, shown


@check(
    over=CheckpointFacts,
    title="newest checkpoint that is not whole",
    many="folders have a newest checkpoint that is not whole",
    severity=Severity.ERROR,
)
def cache_checkpoint(facts: CheckpointFacts, _job: Job) -> Iterator[Finding]:
    """Name the newest whole checkpoint, where another one is not whole."""
    broken = [one for one in facts.checkpoints if _wrong(one)]
    if not broken:
        return
    whole = next((one for one in facts.checkpoints if not _wrong(one)), None)
    newest = facts.checkpoints[0]
    is_newest = bool(_wrong(newest))
    said = "; ".join(f"{shown(one.name)} {_wrong(one)}" for one in broken[:3])
    more = f"; and {len(broken) - 3:,} more are not whole" if len(broken) > 3 else ""
    named = f"the newest whole one is {shown(whole.name)}, of {_when(whole)}" if whole else ""
    yield cache_checkpoint.found(
        f"{said}{more}; {named or 'none of them is whole'}",
        at=Location(file=facts.file),
        also=tuple(Location(file=f"{facts.file}/{one.name}") for one in broken[1:6]),
        severity=Severity.ERROR if is_newest else Severity.NOTE,
        why="A job that goes on from the newest checkpoint stops there, or begins anew."
        if is_newest
        else "The newest checkpoint is whole; a job that is told to take one of these stops there.",
        fix=f"Go on from {shown(whole.name)}, and move the others aside."
        if whole
        else "Take a copy from elsewhere, or begin anew.",
        evidence={"checkpoints": len(facts.checkpoints), "broken": len(broken)},
    )


def _wrong(one: Checkpoint) -> str:
    """Say what is wrong with a checkpoint, as a predicate; empty where it is whole."""
    if one.damaged:
        of = counted(one.files, "file")
        return f"has {one.damaged:,} damaged of {of}: {shown(one.first_damaged)}"
    if one.lacks:
        return f"lacks {first_of(one.lacks, len(one.lacks))}, which the others have"
    return ""


def _when(one: Checkpoint) -> str:
    then = datetime.datetime.fromtimestamp(one.written, tz=datetime.timezone.utc)
    return then.strftime("%Y-%m-%d %H:%M UTC")
