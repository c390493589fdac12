"""Says in words what a rehearsal came to, for a page."""

from __future__ import annotations

from collections.abc import Sequence

from preflight.scripts.facts import Rehearsal
from preflight.values.names import counted, first_of, shown


def in_words(found: Sequence[Rehearsal]) -> str | None:
    """Say what was seen, what was shortened, and what was not rehearsed."""
    return "; ".join(_one(each) for each in found) or None


def _one(seen: Rehearsal) -> str:
    loaders = sum(one.what == "loader" for one in seen.met)
    nouns = (("evaluation", "evaluation"), ("save", "save"))
    counts = [counted(seen.times(what), noun) for what, noun in nouns if seen.times(what)]
    said = [f"{counted(seen.batches, 'batch', 'batches')} of {counted(loaders, 'loader')}", *counts]
    line = f"run for {seen.seconds:.0f} s: {', '.join(said)}"
    for what, words in (("group", "process group:"), ("wrap", "wrapped:")):
        kinds = list(dict.fromkeys(one.name for one in seen.met if one.what == what))
        if kinds:
            line += f"; {words} {first_of(kinds, len(kinds))}"
    if seen.shortened:
        line += f"; shortened: {', '.join(map(shown, seen.shortened))}"
    missing = [*seen.not_reached]
    if seen.times("evaluation") and not seen.times("loss"):
        missing.append("loss of an evaluation")
    if missing:
        line += f"; not rehearsed: {', '.join(f'no {one}' for one in missing)} seen"
    if seen.ended.unfinished and seen.ended.how != "stopped":
        line += "; ended by us, since what it did at its end took longer than 20 s"
    for what, words in (
        ("apart", "also wrote, apart from the job:"),
        ("for real", "wrote for real:"),
    ):
        names = [one.name for one in seen.met if one.what == what]
        if names:
            line += f"; {words} {first_of(names, len(names))}"
    if seen.on_cpu is not None:
        line += f"; on the CPU in place of CUDA ({seen.on_cpu.file}:{seen.on_cpu.line})"
        line += ", so that a tensor on the wrong device is not seen"
    return line
