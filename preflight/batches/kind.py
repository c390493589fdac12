"""The row of first batches."""

from __future__ import annotations

from preflight.batches.facts import Drawn, FirstBatches
from preflight.batches.pass_facts import Further, RandomDraws, WholePass
from preflight.flow.facts import Flow
from preflight.kinds.kind import Kind
from preflight.targets.targets import Built, Loader
from preflight.values.names import counted


def _drawn(found: list[FirstBatches]) -> str | None:
    """Say on a page how many batches were drawn."""
    ends = [one.past_end for one in found if one.past_end is not None]
    if found and len(ends) == len(found):
        return f"{counted(sum(ends), 'batch', 'batches')}, past the end"
    number = sum(len(one.batches) for one in found)
    return f"{counted(number, 'batch', 'batches')} drawn" if number else None


FIRST = Kind(
    name="first-batches",
    noun="loader",
    word="loader",
    part="loader",
    target=Loader,
    facts={
        FirstBatches: "loader to draw from",
        WholePass: "loader to run past its end",
        RandomDraws: "loader to draw one sample of",
        Flow: "pipeline to count in",
    },
    sums_up={FirstBatches: _drawn},
    made_of=(Built,),
    led_to_by=(Loader, Built),
    answers=(Drawn, Further),
    gather="preflight.batches.gather:Batches",
)

KINDS = (FIRST,)
