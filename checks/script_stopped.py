"""A script that stops with an exception.

What it finds
    The script is run as itself, with a few batches of each loader and for a few epochs. Found is
    what it raises and does not catch, at its own innermost line: at its start, in training, while
    it saves, or at its end; also in a thread in the background, which ends and leaves the script
    running without it, and in a process that it has started to train in. And a script that ends by
    itself with an exit code that says that it failed; where it handles an exception by that, the
    line is where this was raised. Where something was left out, it is run once more with ten times
    as many batches, or as many as take seconds: what goes on then is no finding. What it raises
    behind a loop that we had to leave early is a warning, and so is what lacks a checkpoint or a
    name that only a good score makes, and an `assert` on the order of two values. A schedule of
    learning rates that has fewer steps than its epochs have batches, at which torch raises, is
    found by arithmetic, where nothing leaves these early. An exception in an evaluation is told by
    script-eval. What is raised for want of something that is not here (NCCL, a launcher, a package)
    is no finding: the script could not be judged.

Why it matters
    The run stops at this line, maybe hours later: behind the first epoch, at the first checkpoint.

What to do
    Mend the line that is named: it is the innermost one of the script's own.
"""

from __future__ import annotations

from collections.abc import Iterator

from preflight.check import check
from preflight.facts import Raised, Rehearsal
from preflight.finding import Finding, Location, Severity
from preflight.job import Job
from preflight.values.names import shown

from ._script_ends import every, in_evaluation, left_out, place, told

_WHEN = {"setup": "before its first batch", "training": "in its training"}


@check(
    over=Rehearsal,
    title="script that stops with an exception",
    many="scripts stop with an exception",
    severity=Severity.ERROR,
)
def script_stopped(facts: Rehearsal, job: Job) -> Iterator[Finding]:
    """Report what was raised outside of evaluations, and codes that say that it failed."""
    for raised in every(facts):
        if not in_evaluation(raised):
            yield told(script_stopped, raised, facts, job, _why(raised, facts))
    yield from _run_out(facts)
    ended = facts.ended
    if ended.how == "exited" and ended.code:
        yield script_stopped.found(
            f"ends with exit code {ended.code} after {facts.seconds:.0f} s",
            at=Location(file=facts.file),
            why="Whoever starts the job takes this for a failure, and so does what waits for it.",
            fix="Look at what it has printed; give it the arguments with which the job starts it.",
            about="code",
        )


def _run_out(facts: Rehearsal) -> Iterator[Finding]:
    for one in facts.met:
        if one.what == "runs out" and one.at is not None:
            yield script_stopped.found(
                f"moves a schedule that has {one.name} steps {one.count:,} times, once a batch",
                at=place((one.at,), facts),
                why="torch raises ValueError there at the first step beyond: Tried to step …",
                fix="Make it of len(loader) * epochs steps, or move it as often as it has steps.",
                about="schedule",
            )


def _why(raised: Raised, facts: Rehearsal) -> str:
    if raised.thread:
        waits = next((one.frames for one in facts.ended.waiting if one.frames), ())
        goes_on = (
            f"waits for ever at {place(waits, facts)}" if facts.ended.how == "stuck" else "goes on"
        )
        return f"The thread ends, and {shown(facts.file)} {goes_on} without what it was to do."
    if raised.is_process:
        return f"The process ends, and {shown(facts.file)} goes on as if all were well."
    when = _WHEN.get(raised.while_at, "there")
    said = f"{shown(facts.file)} was run in short, and stopped {when}: the job does so, too"
    return f"{said}{left_out(facts)}."
