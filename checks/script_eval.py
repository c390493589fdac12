"""A script that stops in its evaluation.

What it finds
    An exception, which nothing catches, after a model was set to `eval()`, or in a loop over a
    loader without gradients. The script is run as itself, with a few batches of each loader, so
    that its first evaluation comes after seconds.

Why it matters
    The first evaluation of a run comes after a whole epoch, or after a thousand steps: what it
    stops costs all the time until then, and what was trained is lost where it was not saved.

What to do
    Mend the line that is named: it is the innermost one of the script's own.
"""

from __future__ import annotations

from collections.abc import Iterator

from preflight.check import check
from preflight.facts import Rehearsal
from preflight.finding import Finding, Severity
from preflight.job import Job

from ._script_ends import every, in_evaluation, told


@check(
    over=Rehearsal,
    title="script that stops in its evaluation",
    many="scripts stop in their evaluation",
    severity=Severity.ERROR,
)
def script_eval(facts: Rehearsal, job: Job) -> Iterator[Finding]:
    """Report what was raised while the script evaluated."""
    why = "The job trains until its first evaluation, and stops there."
    for raised in every(facts):
        if in_evaluation(raised):
            yield told(script_eval, raised, facts, job, why)
