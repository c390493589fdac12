"""Ranks that have more batches than others.

What it finds
    Where a job has several ranks (`--world-size`), a loader is really made for each of them, up to
    eight that lie far apart: in a process of its own, with that rank's variables and a process
    group that talks to nobody. Its batches are counted by its sampler alone, without a sample
    drawn; of a stream they are run through, with its workers, for 3 s at most. So is what a class,
    a generator or an iterator makes of the batches of loaders, such as one that skips some on rank
    0 alone: samples are decoded for a second then, and given again in place of others, so that the
    number is an estimate where it leaves out, or adds, by what is in a sample. Found are
    ranks whose numbers differ, and streams that end while another rank's goes on. Of what does not
    end on any rank by then, nothing is said, nor passed.

    Where the settings say how the samples of a data set or a loader are divided (`split`), and the
    loader does not divide them by itself, they are computed: by how many are in a batch, and by
    `drop_last`, or both with it and without. Of shards that no loader reads, nobody knows the
    batches before they are read: see shard-uneven and world-ownership.

    It is a note where a source evens it out (torch's `Join`, accelerate's `join_uneven_inputs`):
    one that the named scripts lead to, or that imports what is looked at, or else one in the job's
    folder. Whether all ranks are stopped after so many steps is not known, so that else this is a
    warning. A loader that ranks make by telling each other something is not judged. Where a rank is
    killed, ends itself or hangs while it makes one, nobody knows. Where making it takes some ranks
    more than 10 s, no more are begun between the first and the last: those left are named as not
    looked at.

Why it matters
    The rank that has no more batches leaves its loop, and the others wait for it in their next
    all-reduce until it times out.

What to do
    Give every rank as many samples: DistributedSampler pads, or drops with `drop_last`; accelerate
    does with `even_batches`; a stream is ended by `with_epoch`.
"""

from __future__ import annotations

from collections.abc import Iterator

from preflight.check import Foreign, check
from preflight.facts import RankBatches, RankCount, WorldFacts
from preflight.finding import Finding, Row, Severity
from preflight.job import Job
from preflight.values.names import counted

from ._owners import place, split_of, writes

_RANKS = 8

_BATCH = ("batch", "batches")


def _has_no_batches(facts: WorldFacts | RankBatches, _job: Job) -> str | None:
    if isinstance(facts, RankBatches):
        return facts.reason or None
    if writes(facts):
        return Foreign("a cache is not read in batches")
    if facts.ranks == 1:
        return Foreign("the job has one rank")
    if facts.counted:
        return Foreign("it was made by each rank, and its batches counted")
    if facts.noun != "sample":
        return Foreign(f"how many batches a {facts.noun} makes is not known before it is read")
    if facts.batch_size is None:
        return "the size of a batch is not known (--batch-size)"
    if facts.unstable:
        return "each process divides another list; see world-ownership"
    return None


@check(
    over=(WorldFacts, RankBatches),
    title="ranks that have more batches than others",
    many="data sets or loaders give some ranks more batches than others",
    severity=Severity.WARNING,
    skip=_has_no_batches,
)
def world_steps(facts: WorldFacts | RankBatches, _job: Job) -> Iterator[Finding]:
    """Count the batches of each rank, and say who stops first."""
    if isinstance(facts, RankBatches):
        yield from _really_made(facts)
        return
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
        f"gives rank {first} {counted(min(steps), *_BATCH)} of {size:,} and rank {last} "
        f"{max(steps):,}{unsure}",
        at=place(facts),
        rows=tuple(
            Row(count=number, text=f"rank {rank}, of {counted(facts.each[rank], 'sample')}")
            for rank, number in enumerate(steps[:_RANKS])
        ),
        severity=Severity.NOTE if facts.joined else None,
        why=f"Samples are divided by {split_of(facts)}. {_hangs(first, min(steps), facts.joined)}",
        fix="Set drop_last=True, which evens it out here."
        if evens and not facts.drop_last and min(facts.each) >= size
        else "Give every rank as many samples: DistributedSampler pads, or drops (drop_last).",
        workaround="Accelerate's even_batches, or torch's Join, lets the others go on.",
        evidence={"fewest": min(steps), "most": max(steps), "batch_size": size},
    )


def _hangs(rank: int, steps: int, joined: str) -> str:
    if joined:
        return (
            f"Rank {rank} stops first, after step {steps:,}, and the others go on where {joined} "
            "stands around their loop, as torch's Join has it."
        )
    return (
        f"Rank {rank} stops first, after step {steps:,}, and the others hang in their next "
        "all-reduce until it times out."
    )


def _really_made(facts: RankBatches) -> Iterator[Finding]:
    """Hold against each other what ranks really have; of an endless one, what it had at least."""
    over = [one for one in facts.counts if one.ended]
    first = min(over, key=lambda one: one.batches, default=None)
    last = max(facts.counts, key=lambda one: (one.endless, one.batches))
    if first is None or (first.batches >= last.batches and not last.endless):
        return
    goes_on = "" if last.ended else " and more"
    most = "batches without end" if last.endless else f"{last.batches:,}{goes_on}"
    tried = len(facts.counts)
    some = f", of {tried:,} of {facts.ranks:,} ranks that were made" if tried < facts.ranks else ""
    yield world_steps.found(
        f"gives rank {first.rank} {counted(first.batches, *_BATCH)} and rank {last.rank} "
        f"{most}{some}",
        at=facts.defined.at(facts.name),
        rows=tuple(map(_row, facts.counts[:_RANKS])),
        severity=Severity.NOTE if facts.joined else None,
        why="It was made by each of these ranks, and counted. "
        + _hangs(first.rank, first.batches, facts.joined),
        fix=_evens_out(facts, first),
        workaround="Stop every rank after as many steps as the first to end has; or go on in "
        "torch's Join.",
        evidence={
            "fewest": first.batches,
            **({} if last.endless else {"most": last.batches}),
            "ranks": facts.ranks,
            "tried": tried,
        },
        about=facts.name,
    )


def _row(one: RankCount) -> Row:
    samples = "" if one.samples is None else f", of {counted(one.samples, 'sample')}"
    goes_on = ", without end" if one.endless else ", and more"
    return Row(count=one.batches, text=f"rank {one.rank}{samples}{'' if one.ended else goes_on}")


def _evens_out(facts: RankBatches, first: RankCount) -> str:
    """Name what evens it out in this loader."""
    size = facts.batch_size or 0
    whole = {(one.samples or 0) // size for one in facts.counts} if size else set()
    if facts.is_around:
        return (
            "What it takes its batches from has as many on each rank: have it leave out, or add, "
            "as many on all of them."
        )
    if facts.even_batches is False:
        return "Leave even_batches=True in accelerate, which is its default."
    if facts.is_webdataset:
        return (
            f"End each rank's epoch alike: with_epoch({max(first.batches, 1):,}) behind the "
            "batches, of WebLoader; or pack as many shards, of as many samples, for each rank."
        )
    if facts.is_stream:
        return "End each rank's stream after as many samples, as itertools.islice does."
    if len(whole) == 1 and not facts.drop_last and 0 not in whole:
        return "Set drop_last=True, which evens it out here."
    return "Give every rank as many samples: DistributedSampler pads, or drops (drop_last)."
