"""Shards of such sizes that some ranks run out of samples before the others.

What it finds
    Where a launch has several ranks and each shard goes to one of them, as webdataset's
    `split_by_node` gives them out (every N-th shard to each of N ranks): a rank that gets at least
    a tenth fewer samples than another. Whether shards are shuffled before is not known here; it
    changes which rank it is, and seldom how much it is. Where the settings say how they are divided
    (`split`), world-ownership tells it; where some shards were not read, or there are fewer than
    ranks, or a loader that is named begins them again (`repeat()`, `with_epoch(N)`), nothing is
    said. It is a note where a source lets the others go on (torch's `Join`,
    accelerate's `join_uneven_inputs`): one that the named scripts lead to, or else one in the job's
    folder.

Why it matters
    The rank that has no more samples waits at the end of its epoch, and the others wait for it in
    the next all-reduce: DistributedDataParallel hangs until the time-out of the process group.

What to do
    Pack shards of even sizes, in a number that the ranks divide; or end every epoch after the same
    number of batches (`with_epoch`).
"""

from __future__ import annotations

from collections.abc import Iterator

from preflight.check import Foreign, check
from preflight.facts import DatasetFacts
from preflight.finding import Finding, Severity
from preflight.job import Job
from preflight.values.names import counted

# What part of the samples of one rank another may lack.
_PART = 0.1


def _is_not_divided(facts: DatasetFacts, job: Job) -> str | None:
    """Say why no rank can run out before another, or why that cannot be known."""
    if facts.is_folder:
        return Foreign("a folder is divided by its samples")
    if facts.resampled is not None:
        return Foreign(f"shards are drawn with replacement ({facts.resampled})")
    if facts.repeated is not None:
        return Foreign(f"each rank begins its shards again ({facts.repeated})")
    if facts.perhaps_resampled is not None:
        return f"shards may be drawn with replacement ({facts.perhaps_resampled})"
    if job.launch.ranks == 1:
        return "the job has one rank"
    if facts.split_said:
        return Foreign("the settings say how its shards are divided; see world-ownership")
    if facts.unread:
        return f"{counted(facts.unread, 'shard was', 'shards were')} not read"
    if len(facts.shards) < job.launch.ranks:
        return "there are fewer shards than ranks; see dataset-small"
    return None


@check(
    over=DatasetFacts,
    title="shards whose sizes leave some ranks without samples before the others",
    many="data sets leave some ranks without samples before the others",
    severity=Severity.WARNING,
    skip=_is_not_divided,
)
def shard_uneven(facts: DatasetFacts, job: Job) -> Iterator[Finding]:
    """Give the shards out in their order, and compare what each rank has."""
    ranks = job.launch.ranks
    each = [sum(facts.sizes[rank::ranks]) for rank in range(ranks)]
    most, least = max(each), min(each)
    if most - least <= _PART * most:
        return
    rich, poor = each.index(most), each.index(least)
    number = len(facts.shards)
    why_so = (
        f"{number:,} shards are not divided by {ranks:,}"
        if number % ranks
        else f"shards have from {min(facts.sizes):,} to {max(facts.sizes):,} samples"
    )
    yield shard_uneven.found(
        f"gives rank {poor} {counted(least, 'sample')} and rank {rich} {most:,}: {why_so}",
        at=facts.place,
        severity=Severity.NOTE if facts.joined else None,
        why=f"Rank {poor} runs out after {least / most:.0%} of the epoch of the others, which then "
        + (
            f"go on where {facts.joined} stands around their loop, as torch's Join has it."
            if facts.joined
            else "hang in their next all-reduce until it times out."
        ),
        fix="Pack shards of even sizes, in a number that the ranks divide.",
        workaround="with_epoch(N) ends every rank's epoch alike.",
        evidence={"least": least, "most": most, "ranks": ranks},
    )
