"""Divides items among ranks and workers, and counts who has how many of them."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from preflight.ranks.facts import Owned, World
from preflight.ranks.named_splits import Items, RankWorker, Rule
from preflight.settings.split import BY_SAMPLE, BY_WORKER, Steps

NOBODY, SEVERAL = 0, 2
"""How many ranks have an item, as a tally counts them; 1: one."""

_NEXT = bytes([1, 2, 2, *range(3, 256)])


@dataclass(frozen=True, slots=True, kw_only=True)
class Splitter:
    """The splits of a job, one after the other."""

    steps: Steps
    rules: Mapping[str, Rule]
    streams: int = 0
    """How often `datasets` divides a stream of shards, one time after the other."""

    @property
    def by_worker(self) -> bool:
        """Whether the workers of a rank have different items, too."""
        return any(BY_WORKER in step for step in self.steps)

    def of(self, count: int, at: RankWorker) -> Items:
        """Give the numbers of the items of one worker."""
        own: Items = range(count)
        for step in self.steps:
            own = self._part(step, own, at)
        return own

    def _part(self, step: Sequence[str], items: Items, at: RankWorker) -> Items:
        first, *others = [self.rules[word](items, at) for word in step]
        for other in others:
            both = set(other)
            first = [one for one in first if one in both]
        return first

    def one_of(self, count: int, rank: int, ranks: int) -> int:
        """Say of how many samples in its shards a rank keeps one, and leaves others to others."""
        own: Items = range(count)
        number = 1
        for step in self.steps if self.streams else ():
            if BY_SAMPLE in step and len(own) % ranks**self.streams:
                number *= ranks**self.streams
            own = self._part(step, own, RankWorker(rank, ranks))
        return number

    def of_rank(self, count: int, rank: int, ranks: int, workers: int) -> Iterator[Items]:
        """Give those of each worker of a rank."""
        number = workers if self.by_worker else 1
        return (self.of(count, RankWorker(rank, ranks, worker, number)) for worker in range(number))


@dataclass(slots=True)
class Division:
    """Who has how many items, where the job has so many ranks."""

    count: int
    ranks: int
    workers: int
    owners: bytearray
    """Of each item: none, one or several."""

    each: list[int] = field(default_factory=list)
    """Items of each rank."""

    bare_workers: int = 0
    """Workers with nothing, also of ranks that have something."""

    by_sample: bool = False
    """Whether some rank keeps one of so many samples in its shards."""

    samples: float = 0.0
    """As many as are in so many shards."""

    @property
    def world(self) -> World:
        """Give the numbers alone."""
        return World(
            ranks=self.ranks,
            workers=self.workers,
            fewest=min(self.each),
            most=max(self.each),
            idle=self.each.count(0),
            bare_workers=self.bare_workers,
            nobody=self.owners.count(NOBODY),
            several=self.owners.count(SEVERAL),
            kept=min(self.samples / self.count, 1.0) if self.by_sample else 1.0,
        )

    def take(self, parts: Iterable[Items], one_of: int = 1) -> None:
        """Count what the workers of the next rank have, which keeps one sample of so many."""
        mine = 0
        for own in parts:
            mine += _mark(self.owners, own)
            self.bare_workers += not own
        self.each.append(mine)
        self.samples += mine / one_of
        self.by_sample |= one_of > 1

    def numbers(self, owners: int, most: int) -> list[int]:
        """Give the first few items that nobody has, or several."""
        found: list[int] = []
        at = self.owners.find(owners)
        while at >= 0 and len(found) < most:
            found.append(at)
            at = self.owners.find(owners, at + 1)
        return found


def _mark(owners: bytearray, own: Items) -> int:
    """Count an owner more of each, and give how many these are, each once."""
    if isinstance(own, range):  # at once, since there may be very many
        if own:
            part = slice(own.start, own.stop, own.step)
            owners[part] = owners[part].translate(_NEXT)
        return len(own)
    mine = bytearray(len(owners))
    for one in own:
        if not mine[one]:
            mine[one] = 1
            owners[one] = _NEXT[owners[one]]
    return mine.count(1)


def tally(splitter: Splitter, count: int, ranks: int, workers: int) -> Division:
    """Divide items among so many ranks with so many workers each."""
    found = Division(count, ranks, workers if splitter.by_worker else 1, bytearray(count))
    for rank in range(ranks):
        one_of = splitter.one_of(count, rank, ranks)
        found.take(splitter.of_rank(count, rank, ranks, workers), one_of)
    return found


def shared_entries(parts: Sequence[Items], entries: array[int]) -> Iterator[tuple[int, int, int]]:
    """Give items of two ranks that have one entry of a cache: the entry, and an item of each."""
    first: dict[int, tuple[int, int]] = {}
    told: set[int] = set()
    for rank, own in enumerate(parts):
        for item in own:
            entry = entries[item]
            owner, other = first.setdefault(entry, (rank, item))
            if owner != rank and other != item and entry not in told:
                told.add(entry)
                yield entry, other, item


def owned(
    numbers: Iterable[int], parts: Sequence[Items], names: Sequence[str]
) -> tuple[Owned, ...]:
    """Name items with the ranks that have them."""
    wanted = list(numbers)
    held = [part if isinstance(part, range) else set(part) for part in parts] if wanted else []
    return tuple(
        Owned(names[one], tuple(rank for rank, own in enumerate(held) if one in own))
        for one in wanted
    )
