"""Ranks that have more batches than others.

What it finds
    Where the settings say how the samples of a data set or a loader are divided (`split`), and how
    many are in a batch: ranks whose batches differ in number, by the samples that each has, and by
    `drop_last` of the loader, where one was made; else both with it and without are tried, and
    those that only differ without it are told so. Of shards, nobody knows the batches before they
    are read: see shard-uneven and world-ownership. Whether the job evens it out (`even_batches`,
    `Join`) is not known, so that this is a warning.

Why it matters
    The rank that has no more batches leaves its loop, and the others wait for it in their next
    all-reduce until it times out.

What to do
    Give every rank as many samples: DistributedSampler pads, or drops with `drop_last`.
"""

from __future__ import annotations

from collections.abc import Iterator

from preflight.check import Foreign, check
from preflight.facts import WorldFacts
from preflight.finding import Finding, Row, Severity
from preflight.job import Job
from preflight.values.names import counted

from ._owners import place, split_of, writes

_RANKS = 8


def _has_no_batches(facts: WorldFacts, _job: Job) -> str | None:
    if writes(facts):
        return Foreign("a cache is not read in batches")
    if facts.ranks == 1:
        return Foreign("the job has one rank")
    if facts.noun != "sample":
        return Foreign(f"how many batches a {facts.noun} makes is not known before it is read")
    if facts.batch_size is None:
        return "the size of a batch is not known (--batch-size)"
    if facts.unstable:
        return "each process divides another list; see world-ownership"
    return None


@check(
    over=WorldFacts,
    title="ranks that have more batches than others",
    many="data sets or loaders give some ranks more batches than others",
    severity=Severity.WARNING,
    skip=_has_no_batches,
)
def world_steps(facts: WorldFacts, _job: Job) -> Iterator[Finding]:
    """Count the batches of each rank, and say who stops first."""
    size = facts.batch_size or 1
    if facts.drop_last:
        steps = [number // size for number in facts.each]
    else:
        steps = [-(-number // size) for number in facts.each]
    if min(steps) == max(steps):
        return
    first, last = steps.index(min(steps)), steps.index(max(steps))
    evens = len({number // size for number in facts.each}) == 1
    unsure = ", without drop_last" if facts.drop_last is None and evens else ""
    yield world_steps.found(
        f"gives rank {first} {counted(min(steps), 'batch', 'batches')} of {size:,} and rank {last} "
        f"{max(steps):,}{unsure}",
        at=place(facts),
        rows=tuple(
            Row(count=number, text=f"rank {rank}, of {counted(facts.each[rank], 'sample')}")
            for rank, number in enumerate(steps[:_RANKS])
        ),
        why=f"Samples are divided by {split_of(facts)}. Rank {first} stops first, after step "
        f"{min(steps):,}, and the others hang in their next all-reduce until it times out.",
        fix="Set drop_last=True, which evens it out here."
        if evens and not facts.drop_last
        else "Give every rank as many samples: DistributedSampler pads, or drops (drop_last).",
        workaround="Accelerate's even_batches, or torch's Join, lets the others go on.",
        evidence={"fewest": min(steps), "most": max(steps), "batch_size": size},
    )
