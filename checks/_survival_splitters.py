"""Says where a pipeline has each rank or each worker read all of its shards, or refuses several."""

from __future__ import annotations

from typing import NamedTuple

from preflight.facts import Reads, Stage
from preflight.finding import Severity
from preflight.values.names import counted

_ALONE = "single_node_only"
_NODE, _WORKER = "split_by_node", "split_by_worker"


class Undivided(NamedTuple):
    """What comes of shards that are not divided."""

    message: str
    why: str
    fix: str
    severity: Severity


def undivided(reads: Reads, ranks: int, workers: int) -> Undivided | None:
    """Say what comes of shards that nobody divides among ranks or workers; None where it is done.

    Also None where it may be done: by a stage of which nothing is known, or in what a source says
    of which nobody knows that it runs.
    """
    opens = next((n for n, one in enumerate(reads.stages) if one.kind == "open"), None)
    if opens is None or reads.guess or any(_may_divide(one) for one in reads.stages[:opens]):
        return None
    names = {one.name for one in reads.stages}
    if _ALONE in names and ranks > 1:
        return _refused(ranks)
    drawn = reads.endless == "resampled" or reads.own_list
    if drawn or any(map(_may_divide, reads.stages)):
        return None
    among = [
        (splitter, number, what)
        for splitter, number, what in (
            (_NODE, ranks, "rank"),
            (_WORKER, workers, "worker"),
        )
        if number > 1 and splitter not in names
    ]
    return _read_by_all(reads, among) if among else None


def _may_divide(stage: Stage) -> bool:
    """Whether it may be a splitter of the user's own; what is done to each sample is none."""
    return stage.kind == "other" and stage.name != "map"


def _refused(ranks: int) -> Undivided:
    return Undivided(
        f"gives no sample on any of {counted(ranks, 'rank')}: {_ALONE} raises, which WebDataset "
        "takes where no nodesplitter is said",
        "webdataset raises ValueError (you need to add an explicit nodesplitter) at the first "
        "sample, once there is more than one rank.",
        "Say nodesplitter=wds.split_by_node.",
        Severity.ERROR,
    )


def _read_by_all(reads: Reads, among: list[tuple[str, int, str]]) -> Undivided:
    times = 1
    for _, number, _ in among:
        times *= number
    said = ", ".join(f"no {name} among {counted(number, what)}" for name, number, what in among)
    splitters = " and ".join(f"wds.{name}" for name, _, _ in among)
    alone = among[0][0] == _WORKER
    perhaps = "" if alone else ", unless something else divides them, as accelerate's prepare does"
    # Where an epoch is cut off by itself, or samples are picked out, it may be meant.
    sure = alone or len(among) > 1
    meant = reads.endless == "repeated" or any(one.kind == "filter" for one in reads.stages)
    return Undivided(
        f"gives each sample {times:,} times in one pass: nothing divides its shards ({said})",
        f"Each of them reads all shards{perhaps}: the job sees the same samples again, and an "
        f"epoch is {times:,} times as long.",
        f"Put {splitters} behind the list of shards, before they are opened.",
        Severity.WARNING if sure and not meant else Severity.NOTE,
    )
