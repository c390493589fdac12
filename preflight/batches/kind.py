"""The row of first batches."""

from __future__ import annotations

from preflight.batches.facts import CountedInScript, Drawn, FirstBatches
from preflight.batches.pass_facts import Further, RandomDraws, WholePass
from preflight.flow.facts import Flow
from preflight.kinds.kind import Kind
from preflight.targets.targets import Built, Loader, Script
from preflight.values.names import counted, shown


def _drawn(found: list[FirstBatches]) -> str | None:
    """Say on a page how many batches were drawn, of how many samples, and whether those are all."""
    if not found:  # a script draws by itself, and tells what goes through its pipelines alone
        return None
    found = [one for one in found if not _is_told_by_another(one, found)]
    number = sum(max(len(one.batches), one.furthest or 0) for one in found)
    if not number:
        return "no batch came"
    rows = [one.rows for one in found if one.rows is not None]
    samples = f"{counted(sum(rows), 'sample')} in " if len(rows) == len(found) else ""
    is_all = all(one.past_end is not None for one in found)
    how = ", past the end" if is_all else " drawn"
    return samples + counted(number, "batch", "batches") + how


def _is_told_by_another(one: FirstBatches, found: list[FirstBatches]) -> bool:
    """Whether a generator, or the loader that it takes from, says what both give: one that ends."""
    if any(other.name.startswith(f"{one.name}.") for other in found):
        return one.past_end is None
    around = (other for other in found if one.name.startswith(f"{other.name}."))
    return any(other.past_end is not None for other in around)


def _of_archives(found: list[WholePass]) -> str | None:
    """Say what is read of the images in archives that data sets open by their own code."""
    those = [one.archives for one in found if one.archives is not None]
    if not those:
        return None
    images, read = sum(one.images for one in those), sum(one.read for one in those)
    more = sum(one.archives for one in those) - 1
    where = f"{shown(those[0].archive)}{f' and {more:,} more' if more else ''}"
    share = f"{read:,} of {counted(images, 'image')}" if read < images else counted(images, "image")
    return f"{share} in {where}"


def _taken_out(found: list[Flow]) -> str | None:
    """Say what functions take out that choose among samples; whether it is meant nobody knows."""
    chosen = max(
        (one for flow in found if flow.ended == "over" for one in flow.chosen),
        key=lambda one: one.out,
        default=None,
    )
    return None if chosen is None else chosen.in_words()


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
    sums_up={FirstBatches: _drawn, WholePass: _of_archives, Flow: _taken_out},
    made_of=(Built,),
    led_to_by=(Loader, Built, Script),
    answers=(Drawn, Further, CountedInScript),
    gather="preflight.batches.gather:Batches",
)

KINDS = (FIRST,)
