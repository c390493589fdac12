"""A script that does not go on from what it has saved.

What it finds
    The script is run in short, and again from the first checkpoint that it has saved, by an option
    of its own (`--resume`, or what `--resume-with` says), or by what its sources read: an argument
    by its place, `resume=PATH`, a variable of the environment, a key of a configuration. Found is a
    second run that stops or hangs; that goes on with weights other than those saved, with an
    average of them (EMA) that begins anew, with an empty state of an optimizer that had one, or
    with that of another, with the learning rate of the first step where a schedule had moved it,
    with a schedule that begins anew, from a step or an epoch before that of the checkpoint, with an
    epoch that was over when it was saved, or with that behind the next one. As a warning: another
    learning rate, the batches of the beginning once more, or an epoch in the order of the first
    one, an epoch that is counted again and was not over, a checkpoint that is never asked how far
    training was, or does not say it, and a model that is trained later and not loaded as the others
    are. A script without any of these, and one that saves only at its end, is not rehearsed, which
    the page says.

Why it matters
    It shows itself after a crash, hours or days into the run: what was trained until then is lost,
    or training goes on with a jump that nobody asked for.

What to do
    Save what the finding names, and load it before the first step.
"""

from __future__ import annotations

from collections.abc import Iterator

from preflight.check import check
from preflight.facts import Difference, Frame, Resumed
from preflight.finding import Finding, Location, Severity
from preflight.job import Job
from preflight.values.names import shown

from ._first_line import first_line, refused_by_torch

_WHY = {
    "weights": "What the run had learned until then is lost.",
    "average": "What was averaged until then is lost, and so is what evaluations of it were.",
    "optimizer": "Its averages start at zero: the loss jumps, and the run is not the one it was.",
    "rate": "The schedule does not go on from where it was.",
    "data": "After each resume the run trains on the same samples again.",
    "order": "The epoch that follows a resume has the order of the run's first one.",
    "step": "It trains again what it has trained, and its schedule counts wrong.",
    "skip": "It ends with an epoch less than was meant, and its schedule counts wrong.",
}

_FIX = {
    "weights": "Load the weights of the checkpoint into the model before the first step.",
    "average": "Save the averaged weights beside the model's, and load them before the first step.",
    "optimizer": "Save optimizer.state_dict(), and load it after the optimizer was made.",
    "rate": "Save the scheduler's state_dict() and load it, too, after the scheduler was made.",
    "data": "Save the state of the sampler or of the random generators, or seed by the epoch.",
    "order": "Save the state of the random generators, or seed the order by the epoch.",
    "step": "Save the epoch or step, and start the loop behind the one that the checkpoint names.",
    "skip": "Add 1 to the epoch where it is saved or where it is loaded, and not twice.",
}


@check(
    over=Resumed,
    title="script that does not go on from its checkpoint",
    many="parts of a run do not go on from its checkpoint",
    severity=Severity.ERROR,
    skip=lambda facts, _job: facts.unasked or None,
)
def script_resume(facts: Resumed, _job: Job) -> Iterator[Finding]:
    """Report a second run that does not start, or that is not a continuation of the first."""
    if facts.unasked or facts.how in {"late", "died"}:
        return
    yield from _stopped(facts)
    for one in facts.differences:
        yield _differs(facts, one)


def _stopped(facts: Resumed) -> Iterator[Finding]:
    what = ""
    if facts.error:
        what = f"raises {shown(first_line(facts.error))}"
    elif facts.how == "stuck":
        what = "hangs"
    elif facts.how == "exited" and facts.code:
        what = f"ends with exit code {facts.code}"
    if what:
        yield script_resume.found(
            f"{what} when it is started again with {shown(facts.words)}",
            at=_place(facts.frames[-1] if facts.frames else None, facts),
            also=tuple(_place(one, facts) for one in facts.frames[:-1]),
            why="After a crash it does not start from its own checkpoint, and is begun anew.",
            fix=_fix_of(facts.error),
            about="start",
            line_text=facts.frames[-1].text if facts.frames else None,
        )


def _fix_of(error: str) -> str:
    if refused_by_torch(error):
        return "Save plain values, or load with weights_only=False what the run itself has saved."
    return "Mend this line, or save what it asks for."


def _differs(facts: Resumed, one: Difference) -> Finding:
    place = one.at if one.what == "optimizer" and one.at is not None else facts.saved_at
    return script_resume.found(
        f"{one.text}, when it is started again with {shown(facts.words)}",
        at=_place(place, facts),
        why=_WHY[one.what],
        fix=_FIX[one.what] + _of_trainer(one, facts),
        severity=Severity.ERROR if one.is_fault else Severity.WARNING,
        about=one.what,
    )


def _of_trainer(one: Difference, facts: Resumed) -> str:
    """Say what has the Trainer of transformers leave out what it saves by itself."""
    by_trainer = facts.saved_at is not None and ".train(" in facts.saved_at.text
    if one.what not in {"optimizer", "rate"} or not by_trainer:
        return ""
    return " A Trainer of transformers does both, unless save_only_model=True is said."


def _place(at: Frame | None, facts: Resumed) -> Location:
    return Location(name=facts.name) if at is None else at.place()
