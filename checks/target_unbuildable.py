"""A loader or a model that the job's own code does not give.

What it finds
    A module that raises while it is imported, or a factory that raises or calls `sys.exit` when it
    is called as the job calls it. Only lines of the user's own code are told.

Why it matters
    The job runs the same lines at its start, and stops there.

What to do
    Mend the line that is named last: it is the innermost one of your own code.
"""

from __future__ import annotations

from collections.abc import Iterator

from preflight.check import check
from preflight.facts import Unbuilt
from preflight.finding import Finding, Location, Severity
from preflight.job import Job
from preflight.names import shown

_DOING = {
    "import": "while it is imported",
    "call": "when it is called",
    "pick": "in what it gave",
    "look": "when it is looked at",
}


@check(
    over=Unbuilt,
    title="loader or model that cannot be made",
    many="loaders or models cannot be made",
    severity=Severity.ERROR,
    always=True,
)
def target_unbuildable(facts: Unbuilt, job: Job) -> Iterator[Finding]:
    """Report what the user's code raised, at its own innermost line."""
    del job
    *outer, inner = facts.frames or (None,)
    place = (
        Location(name=facts.name)
        if inner is None
        else Location(file=inner.file, line=inner.line, name=facts.name)
    )
    yield target_unbuildable.found(
        f"raises {_DOING.get(facts.step, facts.step)}: {shown(facts.error)}",
        at=place,
        also=tuple(Location(file=one.file, line=one.line) for one in outer if one is not None),
        why="The job runs the same line at its start, and stops there."
        if inner is None
        else f"The job runs `{shown(inner.text)}` at its start too, and stops there.",
        fix="Mend this line, or make it as the job does: arguments go into preflight.toml, under "
        "[[loader]] or [[model]].",
        about=facts.step,
    )
