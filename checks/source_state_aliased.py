"""A state of a model that is kept for later, and that training goes on to change.

What it finds
    `best = model.state_dict()` under a test in a loop that trains, with
    `model.load_state_dict(best)` or `torch.save(best, …)` after the loop, or where a caller has it
    returned; and `self.best = model.state_dict()` in a class, with
    `model.load_state_dict(self.best)` in another call. Also by `.copy()` or `dict(…)`, which copy
    no tensors, as an entry of a dict, and of optimizers. States that are copied, changed, written
    to a file at once, or of a model that each round makes anew are left alone, and so is what is
    put back at once.

Why it matters
    `state_dict()` gives the model's own tensors, and the optimizer writes into them. What was kept
    as the best weights holds the last ones in the end, and to put it back changes nothing: the
    model that is tested, saved and published is not the one that was chosen. No error is raised.

What to do
    Keep a copy: `best = copy.deepcopy(model.state_dict())`.
"""

from __future__ import annotations

from collections.abc import Iterator

from preflight.check import check
from preflight.facts import AliasedState, SourceFacts
from preflight.finding import Finding, Location, Severity
from preflight.job import Job
from preflight.values.names import shown


@check(
    over=SourceFacts,
    title="kept state that training changes",
    many="kept states are changed by training",
    severity=Severity.WARNING,
)
def source_state_aliased(facts: SourceFacts, _: Job) -> Iterator[Finding]:
    """Give each line that keeps one, with the line that puts it back."""
    for one in facts.flaws.states:
        yield source_state_aliased.found(
            f"`{shown(one.code)}` keeps the tensors that training writes into, and line "
            f"{one.used.line} {'saves' if one.is_saved else 'puts back'} what they have become: "
            f"`{shown(one.used.code)}`",
            at=Location(file=one.file, line=one.line),
            also=(Location(file=one.file, line=one.used.line),),
            why=_why(one),
            fix=f"Keep a copy: copy.deepcopy({shown(one.state)}).",
            evidence={"in_loop": one.in_loop},
            about=one.code,
            line_text=one.text,
        )


def _why(one: AliasedState) -> str:
    when = "after the loop" if one.in_loop else "by the time it is put back"
    return f"{when.capitalize()} it holds the last weights, and not those that were kept."
