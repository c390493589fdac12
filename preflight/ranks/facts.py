"""Which rank of a job has which items."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class World(NamedTuple):
    """How items are divided among so many ranks."""

    ranks: int
    workers: int
    """Of each rank; 1 where the workers of a rank have the same items."""

    fewest: int
    """Items of the rank that has least."""

    most: int
    idle: int
    """Ranks that have none."""

    bare_workers: int
    """Workers that have none, also of ranks that have some."""

    nobody: int
    """Items that no rank has."""

    several: int
    """Items that more than one rank has."""

    kept: float = 1.0
    """Part of the samples in its shards that ranks have together, where each keeps some of them."""


class Owned(NamedTuple):
    """An item, and the ranks that have it."""

    name: str
    ranks: tuple[int, ...]


class OneEntry(NamedTuple):
    """Two samples with one entry of a cache, which two ranks have."""

    first: str
    second: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WorldFacts:
    """Who has which items of a data set, a cache or a loader, by the split that the job uses."""

    name: str
    """As the settings call it."""

    file: str | None = None
    """Its folder or file, as reports name it."""

    part: str
    """`data`, `cache` or `loader`. Ranks write the entries of a cache, and read all else."""

    noun: str
    """What the items are: `sample`, `shard`, `entry`."""

    split: tuple[str, ...]
    """As it was said; of several, each divides what the one before gave."""

    versions: tuple[str, ...] = ()
    """Of the libraries that divided them: `accelerate 1.13.0`."""

    items: int = 0
    ranks: int = 1
    workers: int = 1
    """Of each rank; 1 where the workers of a rank have the same items."""

    each: tuple[int, ...] = ()
    """Items of each rank."""

    samples: tuple[int, ...] = ()
    """Samples of each rank, where the items are shards that were all read."""

    nobody: int = 0
    """Items that no rank has."""

    nobody_names: tuple[str, ...] = ()
    """Of the first few; so it is with all names here."""

    several: int = 0
    """Items that more than one rank has."""

    several_names: tuple[Owned, ...] = ()
    bare_workers: int = 0
    """Workers that have nothing, also of ranks that have something."""

    owners: tuple[tuple[int, ...], ...] = ()
    """The items of each rank by their numbers, where they are few."""

    names: tuple[str, ...] = ()
    """The items, where they are few."""

    pads: bool = False
    """Whether the split gives some items twice on purpose."""

    drops: bool = False
    """Whether it leaves some out on purpose."""

    by_samples: bool = False
    """Whether ranks that do not divide the number of shards keep every N-th sample of them all."""

    kept: float = 1.0
    """Part of the samples that they keep together."""

    unstable: bool = False
    """Whether the user's function gives another split in another process."""

    entries_shared: int = 0
    """Entries of a cache that several samples have, of different ranks."""

    shared_names: tuple[OneEntry, ...] = ()
    by_caption: bool = False
    """Whether these are samples of one caption."""

    atomic: bool = False
    """Whether entries are written under another name and renamed."""

    tried_writer: str = ""
    """The function that writes them, where several processes tried it, and every read was whole."""

    missing: int | None = None
    """Entries of a cache that are not there yet; None: nobody knows."""

    batch_size: int | None = None
    """Samples in a batch of each rank, where that is known."""

    drop_last: bool | None = None
    """Whether the last batch is left out where it is smaller; None: nobody knows."""

    joined: str = ""
    """Where the job's sources let ranks go on that have more, as `train.py:12`; empty: nowhere."""

    counted: bool = False
    """Whether it was made by several ranks, and does divide by itself: what it has is counted."""

    worlds: tuple[World, ...] = ()
    """How it is with 1, 2, 4, 8, … ranks."""

    first_bad: tuple[World, ...] = ()
    """The smallest worlds that were found in which a rank or a worker has nothing, an item has no
    owner, or several."""

    tried: int = 1
    """The most ranks that were tried."""
