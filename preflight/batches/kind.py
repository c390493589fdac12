"""The row of first batches."""

from __future__ import annotations

from preflight.batches.facts import CountedInScript, Drawn, FirstBatches
from preflight.batches.pass_facts import Further, RandomDraws, WholePass
from preflight.flow.facts import Flow
from preflight.kinds.kind import Kind
from preflight.targets.targets import Built, Loader, Script
from preflight.values.names import counted


def _drawn(found: list[FirstBatches]) -> str | None:
    """Say on a page how many batches were drawn, of how many samples, and whether those are all."""
    number = sum(max(len(one.batches), one.furthest or 0) for one in found)
    if not number:
        return None
    rows = [one.rows for one in found if one.rows is not None]
    samples = f"{counted(sum(rows), 'sample')} in " if len(rows) == len(found) else ""
    is_all = all(one.past_end is not None for one in found)
    how = ", past the end" if is_all else " drawn"
    return samples + counted(number, "batch", "batches") + how


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
    led_to_by=(Loader, Built, Script),
    answers=(Drawn, Further, CountedInScript),
    gather="preflight.batches.gather:Batches",
)

KINDS = (FIRST,)
