"""What is seen of a loader that was really made by several ranks, and made again elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from preflight.objects.facts import Definition

NO_TIME = "the budget was used up before ranks had made it"
"""Why nobody knows what they have, where a reader of a GO must know of it."""

NEARLY_ALL = 0.99
"""Part of the samples from which on it is taken for all of them."""


class RankCount(NamedTuple):
    """An epoch of one rank."""

    rank: int
    batches: int
    samples: int | None = None
    """In these batches; None: nobody counted them."""

    ended: bool = True
    """Whether it came to its end; else there are at least so many."""

    endless: bool = False
    """Whether it draws its shards again and again, and has no end that one could count to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RankBatches:
    """How many batches ranks have in an epoch, by loaders that were made for each of them."""

    name: str
    """What the user called the loader: `train:make_loader`."""

    defined: Definition = Definition()
    """Where the factory is."""

    reason: str = ""
    """Why nobody knows; empty: they were counted."""

    ranks: int = 1
    """Of the job."""

    counts: tuple[RankCount, ...] = ()
    """Of the ranks that were tried, which are not all where there are many."""

    splits: bool = False
    """Whether ranks have different samples."""

    is_stream: bool = False
    """Whether it had to be run to count its batches."""

    is_around: bool = False
    """Whether they are those that what stands around loaders gives, whose own are as many on each
    rank."""

    is_webdataset: bool = False
    even_batches: bool | None = None
    """What accelerate was told, where it has prepared the loader."""

    batch_size: int | None = None
    drop_last: bool | None = None
    joined: str = ""
    """Where the job's sources let ranks go on that have more, as `train.py:12`; empty: nowhere."""


class RankLost(NamedTuple):
    """That a rank gave no answer, for no fault of the job that anybody knows."""

    error: str
    """What became of it: it was killed, ended itself, says nothing, or lacks what is not here."""

    batches: bool
    """Whether nobody knows its batches for it."""

    order: bool
    """Whether nobody knows for it whether each process has the same list."""


class RanksPassed(NamedTuple):
    """Ranks that were to make it, and did not come to it."""

    reason: str
    ranks: tuple[int, ...]


class OtherItems(NamedTuple):
    """What a rank has where the loader was made once more, and one thing was otherwise."""

    cause: str
    """What that was: `hash` (the hash seed), `folder` (the order in which folders are listed),
    `random` (what random numbers begin with); or what leaves items out: `rank` (each rank divides
    another list), `seed` (in another order), `twice` (a part is divided once more), `alike` (some
    ranks have the same part), `same` (all have), `apart` (none has), `overlapping` (each has some
    of others), `few` (no rank has any), `replicas` (a sampler divides among more ranks), `beyond`
    (so does whatever else), `before` (ranks are counted from 1), `between` (each rank's slice ends
    before the next one's begins),
    `trainer` (Lightning's divides again, of the source `before`); or what ranks have without
    another process: `shared` (all have all), `several` (some have the same); or what is not
    otherwise: `drawn` (each draws the same shards), `undivided` (all have one stream),
    `unsampled` (all have what a sampler gives)."""

    others: int
    """Items that were not its own before, or that no rank has, or several; 0: the same in another
    order."""

    of: int
    """Items that were compared."""

    before: str = ""
    """An item that it had."""

    now: str = ""
    """One that it has in place of it."""

    ranks: int = 1
    """By how many it is known what all are to have together, where it is told who has nothing."""

    is_made_up: bool = False
    """Whether no sample is one that it had: random numbers may make them, and not choose them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RankOrder:
    """Whether each process of a job lists the items of a loader alike."""

    name: str
    defined: Definition = Definition()
    reason: str = ""
    """Why nobody knows."""

    ranks: int = 1
    nodes: int = 1
    splits: bool = False
    """Whether ranks have different samples."""

    tried: tuple[str, ...] = ()
    """What was otherwise, one after the other."""

    found: tuple[OtherItems, ...] = ()
    undivided: str = ""
    """The source that trains by ranks, where none of the job's divides batches later; empty: nobody
    knows."""

    seeded: str = ""
    """The line of the sources that seeds all ranks alike before they make the loader; empty: none
    is known."""

    seeds_surely: bool = False
    """Whether no test stands around that."""
