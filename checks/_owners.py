"""How it is said which ranks have which items."""

from __future__ import annotations

from collections.abc import Iterator

from preflight.facts import NEARLY_ALL, World, WorldFacts
from preflight.finding import Location, Row
from preflight.values.names import counted, first_of, shown

_RANKS = 8
"""Ranks that are told one by one."""

_ALL_THERE = "All entries are there, so that none is written now."


def place(facts: WorldFacts) -> Location:
    """Say where what is divided is."""
    if facts.file is not None:
        return Location(file=facts.file)
    return Location(name=facts.name)


def writes(facts: WorldFacts) -> bool:
    """Whether ranks write what they have, and do not only read it."""
    return facts.part == "cache"


def items(number: int, facts: WorldFacts) -> str:
    """Count items: `3 shards`."""
    return counted(number, facts.noun, "entries" if facts.noun == "entry" else None)


def split_of(facts: WorldFacts) -> str:
    """Say how items are divided: `strided, then accelerate (accelerate 1.13.0)`."""
    versions = f" ({', '.join(facts.versions)})" if facts.versions else ""
    return ", then ".join(facts.split) + versions


def lost(world: World, facts: WorldFacts) -> int:
    """Count items that no rank has, but for those that are left unread on purpose."""
    on_purpose = facts.drops and not writes(facts) and world.nobody < world.ranks
    return 0 if on_purpose else world.nobody


def left(world: World) -> str:
    """Say what part of the samples no rank keeps, though their shards are read; empty: none."""
    return "" if world.kept >= NEARLY_ALL else f"{1 - world.kept:.0%}"


def doubled(world: World, facts: WorldFacts) -> int:
    """Count items that several ranks have, but for those that are read twice on purpose.

    So are those that make all parts alike.
    """
    pads = world.fewest == world.most and not world.nobody and world.several < world.ranks
    on_purpose = facts.by_samples or ((facts.pads or pads) and not writes(facts))
    return 0 if on_purpose else world.several


def idle(world: World, facts: WorldFacts) -> int:
    """Count ranks, or else workers, that have nothing to read."""
    return 0 if writes(facts) else world.idle or world.bare_workers


def has_as_many_batches(facts: WorldFacts) -> bool:
    """Whether all ranks have as many steps, however full their last batch is."""
    size = facts.batch_size
    if size is None or facts.noun != "sample":
        return False
    return len({own // size if facts.drop_last else -(-own // size) for own in facts.each}) == 1


def goes_on(facts: WorldFacts) -> str:
    """Say what runs today: with_epoch is webdataset's own."""
    if facts.noun == "shard" and "datasets" not in facts.split:
        return "with_epoch(N) ends every rank's epoch alike."
    return "torch's Join lets the others go on."


def world_of(facts: WorldFacts) -> World:
    """Give the world of the job."""
    return World(
        ranks=facts.ranks,
        workers=facts.workers,
        fewest=min(facts.each, default=0),
        most=max(facts.each, default=0),
        idle=facts.each.count(0),
        bare_workers=facts.bare_workers,
        nobody=facts.nobody,
        several=facts.several,
        kept=facts.kept,
    )


def size(world: World) -> str:
    """Say how large a world is: `12 ranks x 4 workers`."""
    ranks = counted(world.ranks, "rank")
    return ranks if world.workers == 1 else f"{ranks} x {counted(world.workers, 'worker')}"


def spread(world: World, facts: WorldFacts) -> str:
    """Say how much each rank has: `3 shards`, `3 to 4 shards`."""
    if world.fewest == world.most:
        return items(world.most, facts)
    return f"{world.fewest:,} to {items(world.most, facts)}"


def lost_why(facts: WorldFacts) -> str:
    """Say what becomes of items that no rank has."""
    if facts.missing == 0:
        return _ALL_THERE
    if writes(facts):
        return "What no rank has is never cached, and training waits for it, or leaves it out."
    return "What no rank has is never trained on, without a word."


def writers_why(facts: WorldFacts) -> str:
    """Say what becomes of an entry that several ranks write."""
    if facts.missing == 0:
        return _ALL_THERE
    if facts.atomic:
        return "Each writes under another name and renames, so that this is only work done twice."
    if facts.tried_writer:
        return (
            f"{shown(facts.tried_writer)} was called by several processes at once, and each read "
            "was whole, so that this is only work done twice."
        )
    return (
        "open(path, 'wb') cuts off what another rank has just written: readers meet an empty file, "
        "or half of one, which stays so when the launcher ends the others."
    )


def rows_of(facts: WorldFacts) -> Iterator[Row]:
    """Say what each rank has: item by item where they are few."""
    if facts.names:
        owners = facts.owners
        for rank, own in enumerate(owners):
            marks = "".join("#" if one in own else "." for one in range(facts.items))
            name = first_of([facts.names[one] for one in own], len(own), most=1) if own else ""
            yield Row(count=len(set(own)), text=f"rank {rank}  {marks}", example=name)
        return
    for rank, number in enumerate(facts.each[:_RANKS]):
        yield Row(count=number, text=f"rank {rank}")
    rest = facts.each[_RANKS:]
    if rest:
        yield Row(count=sum(rest), text=f"{counted(len(rest), 'more rank')} together")
