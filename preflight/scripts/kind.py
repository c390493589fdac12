"""The row of scripts, which are run as they are."""

from __future__ import annotations

from collections.abc import Sequence

from preflight.kinds.kind import Kind
from preflight.loaders.facts import Loaded, Sent
from preflight.models.facts import Copied
from preflight.pipelines.facts import Reads
from preflight.scripts.facts import Rehearsal
from preflight.targets.targets import Script
from preflight.values.names import counted, shown


def in_words(found: Sequence[Rehearsal]) -> str | None:
    """Say what was seen, what was shortened, and what was not rehearsed."""
    return "; ".join(_one(each) for each in found) or None


def _one(seen: Rehearsal) -> str:
    loaders = sum(one.what == "loader" for one in seen.met)
    nouns = (("evaluation", "evaluation"), ("save", "save"))
    counts = [counted(seen.times(what), noun) for what, noun in nouns if seen.times(what)]
    said = [f"{counted(seen.batches, 'batch', 'batches')} of {counted(loaders, 'loader')}", *counts]
    line = f"run for {seen.seconds:.0f} s: {', '.join(said)}"
    if seen.shortened:
        line += f"; shortened: {', '.join(map(shown, seen.shortened))}"
    if seen.not_reached:
        line += f"; not rehearsed: {', '.join(f'no {one}' for one in seen.not_reached)} seen"
    if seen.ended.unfinished and seen.ended.how != "stopped":
        line += "; ended by us, since what it did at its end took longer than 20 s"
    if seen.on_cpu is not None:
        line += f"; on the CPU in place of CUDA ({seen.on_cpu.file}:{seen.on_cpu.line})"
    return line


SCRIPT = Kind(
    name="script",
    noun="script",
    word="script",
    part="script",
    target=Script,
    facts={Rehearsal: "script"},
    sums_up={Rehearsal: in_words},
    may_give=(Sent, Loaded, Reads, Copied),
    reader="preflight.scripts.read:look",
    gather="preflight.scripts.gather:Scripts",
    runs_code=True,
)

KINDS = (SCRIPT,)
