"""A script that stops in its evaluation.

What it finds
    An exception, which nothing catches, after a model was set to `eval()`, or in a loop over a
    loader without gradients. The script is run as itself, with a few batches of each loader, so
    that its first evaluation comes after seconds; and once more with ten times as many, or as many
    as take seconds, where it stops. What goes on then is no finding; what waits for a good score,
    as an `assert` on it, is a warning.

Why it matters
    The first evaluation of a run comes after a whole epoch, or after a thousand steps: what it
    stops costs all the time until then, and what was trained is lost where it was not saved. A
    model that is never set back trains without dropout, and by statistics that stay as they were,
    which nothing says.

What to do
    Mend the line that is named: it is the innermost one of the script's own. Set a model back by
    `model.train()` behind its evaluation.
"""

from __future__ import annotations

from collections.abc import Iterator

from preflight.check import check
from preflight.facts import Met, Rehearsal
from preflight.finding import Finding, Location, Severity
from preflight.job import Job
from preflight.values.names import counted

from ._script_ends import every, in_evaluation, left_out, place, told

_LEFT = "left in eval"


@check(
    over=Rehearsal,
    title="script that stops in its evaluation",
    many="scripts stop in their evaluation",
    severity=Severity.ERROR,
)
def script_eval(facts: Rehearsal, job: Job) -> Iterator[Finding]:
    """Report what was raised while the script evaluated."""
    until = "its first evaluation, and stops there"
    if facts.times("evaluation") > 1:
        until = "a later evaluation than its first, and stops in it, or behind it"
    why = f"The job trains until {until}{left_out(facts)}."
    for raised in every(facts):
        if in_evaluation(raised):
            yield told(script_eval, raised, facts, job, why)
    for one in facts.met:
        if one.what == _LEFT:
            yield _left(one, facts)


def _left(one: Met, facts: Rehearsal) -> Finding:
    steps = counted(one.count, "step")
    return script_eval.found(
        f"sets a model to evaluate that is trained on so, for {steps} of those seen: {one.name}",
        at=Location(file=facts.file) if one.at is None else place((one.at,), facts),
        why="Behind the first evaluation it trains without dropout, and its batch normalization "
        "by statistics that stay as they are.",
        fix="Say model.train() behind the evaluation, or before the first batch of each epoch.",
        severity=Severity.WARNING,
        about="left",
        line_text=one.at.text if one.at is not None else None,
    )
