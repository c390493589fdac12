"""The ways to divide items that are known by name, as the libraries divide them.

Items are their numbers, in a sequence: mostly a range, of which a part is a range again, so that
very many cost nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

Items: TypeAlias = Sequence[int]


class RankWorker(NamedTuple):
    """One worker of one rank."""

    rank: int
    ranks: int
    worker: int = 0
    workers: int = 1


Rule: TypeAlias = Callable[[Items, RankWorker], Items]
"""Gives what one place has of items."""


def contiguous(items: Items, at: RankWorker) -> Items:
    """Give a block; where the number does not fit, the first ranks have one more."""
    each, more = divmod(len(items), at.ranks)
    begin = at.rank * each + min(at.rank, more)
    return items[begin : begin + each + (at.rank < more)]


def strided(items: Items, at: RankWorker) -> Items:
    """Give every N-th."""
    return items[at.rank :: at.ranks]


def by_worker(items: Items, at: RankWorker) -> Items:
    """Give every N-th to each of N workers of a rank, as webdataset's `split_by_worker`."""
    return items[at.worker :: at.workers]


def sampler(items: Items, at: RankWorker) -> Items:
    """Divide as torch's DistributedSampler: the first are given once more until all have as many.

    Without its shuffle, which changes which items these are, and not how many.
    """
    number = len(items)
    total = -(-number // at.ranks) * at.ranks
    again = [items[place % number] for place in range(number, total) if place % at.ranks == at.rank]
    own = items[at.rank :: at.ranks]
    return [*own, *again] if again else own


def sampler_dropping(items: Items, at: RankWorker) -> Items:
    """Divide as DistributedSampler with `drop_last`: what is too much for some is left out."""
    total = len(items) // at.ranks * at.ranks
    return items[at.rank : total : at.ranks]


def shards_or_samples(items: Items, at: RankWorker, times: int = 1) -> Items:
    """Divide shards as `datasets.distributed` does those of a stream, maybe several times.

    Where the ranks do not divide their number, every rank reads all, and keeps every N-th sample.
    What was divided before has as many ranks as there are pairs of both.
    """
    ranks = at.ranks**times
    rank = sum(at.rank * at.ranks**power for power in range(times))
    return items if len(items) % ranks else items[rank::ranks]


RULES: Mapping[str, Rule] = {
    "contiguous": contiguous,
    "strided": strided,
    "split_by_node": strided,
    "split_by_worker": by_worker,
    "distributed-sampler": sampler,
    "distributed-sampler-drop-last": sampler_dropping,
    "datasets": contiguous,
}
"""By what the settings call them; `datasets` is that of a table of rows (map-style)."""
