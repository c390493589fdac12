"""Something that a script saves and that nobody can have back.

What it finds
    The script is run in short, and what it saves goes to a folder of ours. Found is what is raised
    while it saves: a state that does not pickle, weights that safetensors does not take since two
    names share them, a folder that is not there. And a file that was left and is not whole, or that
    `torch.load` cannot load, even where it may load anything. A file that it loads only with
    `weights_only=False` is noted.

Why it matters
    The first checkpoint comes after hours. A run that stops there has saved nothing, and a run that
    goes on has nothing to go on from.

What to do
    Mend the line that saves: make the folder before it, and hand it plain values, tensors and state
    dicts.
"""

from __future__ import annotations

from collections.abc import Iterator

from preflight.check import check
from preflight.facts import SavedState
from preflight.finding import Finding, Location, Severity
from preflight.job import Job
from preflight.values.names import shown

from ._first_line import first_line, refused_by_torch
from ._no_place import to_write

_WHY = "The run has nothing to go on from, whatever it has cost until then."


@check(
    over=SavedState,
    title="state that cannot be saved and loaded",
    many="states cannot be saved and loaded",
    severity=Severity.ERROR,
)
def script_save(facts: SavedState, _job: Job) -> Iterator[Finding]:
    """Report what was raised, and what cannot be had back, at the line that saves."""
    at, name = facts.at, facts.name
    file = shown(name) or "what it saves"
    place = Location(name=name) if at is None else at.place(name)
    if facts.error and facts.raised is not None:
        inner = facts.raised
        yield script_save.found(
            f"{facts.writer} raises {shown(first_line(facts.error))}",
            at=inner.place(name),
            also=(place,) if at is not None else (),
            why=_WHY,
            fix="Mend this line.",
            about="error",
        )
    elif facts.error:
        yield script_save.found(
            f"{facts.writer} raises {shown(first_line(facts.error))}",
            at=place,
            why=_WHY,
            fix=to_write(facts.error, name or "") or _fix(facts.error),
            about="error",
        )
    elif facts.damage or facts.unloadable:
        wrong = facts.damage or f"torch.load raises {first_line(facts.unloadable)}"
        yield script_save.found(
            f"leaves {file}, which cannot be read back: {shown(wrong)}",
            at=place,
            why=_WHY,
            fix="Save plain values, tensors and state dicts, and close the file that is written.",
            about="back",
        )
    elif facts.refused:
        yield script_save.found(
            f"leaves {file}, which torch.load refuses by itself: it holds "
            f"{shown(refused_by_torch(facts.refused) or first_line(facts.refused))}",
            at=place,
            why="From torch 2.6 on it loads nothing but tensors and plain values, where it is not "
            "told otherwise.",
            fix="Save plain values, or load the file with weights_only=False where it is trusted.",
            severity=Severity.NOTE,
            about="refused",
        )


def _fix(error: str) -> str:
    if "share memory" in error:
        return "Save the model by safetensors.torch.save_model, which keeps shared weights once."
    return "Leave out of the state what cannot be pickled, or save plain values in its place."
