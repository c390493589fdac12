"""A script that ends before it has trained.

What it finds
    A script that ends by itself, as if all were well, before one of its loaders has given a batch
    and before it has computed a gradient.

Why it matters
    Whoever starts the job sees exit code 0 and no model: its data set is empty, an argument has it
    do something else, or its main function is never called.

What to do
    Start it with the arguments of the job, which stand behind the script; look whether its data set
    finds its files, and whether `main()` is called.
"""

from __future__ import annotations

from collections.abc import Iterator

from preflight.check import check
from preflight.facts import Rehearsal
from preflight.finding import Finding, Location, Severity
from preflight.job import Job


@check(
    over=Rehearsal,
    title="script that ends before it has trained",
    many="scripts end before they have trained",
    severity=Severity.ERROR,
)
def script_idle(facts: Rehearsal, _job: Job) -> Iterator[Finding]:
    """Report an end without a failure and without a batch or a step."""
    if not facts.is_idle:
        return
    begun = [one for one in facts.met if one.what == "loader"]
    at = begun[-1].at if begun else None
    empty = ", though it began to iterate over a loader here" if at is not None else ""
    yield script_idle.found(
        f"ends after {facts.seconds:.0f} s without a batch and without a step of training{empty}",
        at=Location(file=facts.file) if at is None else at.place(),
        why="The job ends so, too: with exit code 0, and with nothing trained.",
        fix="Look whether its data is found, and give it the arguments of the job.",
        about="idle",
    )
