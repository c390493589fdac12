"""How the entries of a cache go with the samples they were made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class SharedKey(NamedTuple):
    """One key that several samples share."""

    key: str
    samples: int
    names: tuple[str, ...]
    """Of the first few of them, as reports name them."""

    sized: bool = False
    """Whether entries say the size of their image, which may tell two of one key apart."""


class LackedKind(NamedTuple):
    """A kind of entries that most samples have, and that some of them lack."""

    kind: str
    """What their names have in common: `*_te_outputs.npz`."""

    have: int
    """Samples that have one."""

    samples: int
    """Those that have others, and none of this kind."""

    names: tuple[str, ...]
    """Of the first few of these."""


class Respelled(NamedTuple):
    """Samples whose entry is there under the key that another spelling of their path gives."""

    samples: int
    said: str
    """How the job spells the path of one of them."""

    made: str
    """The spelling of that path that does lead to its entry."""

    folder: str | None = None
    """The data set's folder as the job spells it, where that makes the difference."""

    other_folder: str | None = None
    """As it has to be spelled."""

    below: str = ""
    """The folder of the cache below which the entries lie instead: the data set's path, or what is
    left of it; `said` and `made` are that path as the job spells it, and whole."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheKeys:
    """A cache, held against the data sets that it was made of; by names and times alone."""

    file: str
    """The cache, as reports name it."""

    entry: int | None = None
    """Its place among the caches of the settings, counted from 0."""

    is_file: bool = False
    """Whether it is one file, and no folder of entries."""

    is_unfilled: bool = False
    """Whether there is nothing in it yet, and nobody has said of which data sets it will be."""

    of: tuple[str, ...] = ()
    """The data sets, as reports name them."""

    rule: str | None = None
    """The rule that was applied; None: none was said, and none that was tried fits."""

    was_said: bool = False
    """Whether the settings say it."""

    by_caption: bool = False
    """Whether keys are made of captions, or all are one, so that samples share them on purpose."""

    tried: tuple[str, ...] = ()
    """The rules that were tried where none was said."""

    tried_led: tuple[int, ...] = ()
    """How many samples each of them leads to an entry, where none fits."""

    tried_of: int = 0
    """Of how many, which may be fewer than all."""

    samples: int = 0
    """Samples that have a key."""

    uncaptioned: int = 0
    """Samples that have none, since they have no caption, or an empty one that has no entry."""

    entries: int = 0
    """Cached files whose names are as the rule has them."""

    others: int = 0
    """Cached files of other names."""

    other_names: tuple[str, ...] = ()
    stores: tuple[str, ...] = ()
    """Files in it that hold entries of many samples, of which nobody knows the names."""

    matched: int = 0
    """Samples whose entry is there."""

    missing: int = 0
    """Samples whose entry is not there."""

    missing_names: tuple[str, ...] = ()
    """Of the first few; so it is with all names here."""

    orphans: int = 0
    """Entries that lead back to no sample, but for those of the empty prompt and the like."""

    orphan_names: tuple[str, ...] = ()
    stale: int = 0
    """Entries that are older than the file they were made of."""

    stale_names: tuple[str, ...] = ()
    younger: int = 0
    """Samples that have such an entry."""

    younger_names: tuple[str, ...] = ()
    dated: int = 0
    """Entries whose age was compared."""

    oldest: float = 0.0
    """By how many seconds the worst of them is older."""

    shared: int = 0
    """Keys that several samples share."""

    shared_samples: int = 0
    shared_keys: tuple[SharedKey, ...] = ()
    lacked: tuple[LackedKind, ...] = ()
    """Where samples have entries of several kinds."""

    cased: tuple[str, ...] = ()
    """Two keys of different samples that differ in nothing but capital letters, if there are."""

    elsewhere: tuple[str, ...] = ()
    """Folders of the cache in which its entries are found, where the settings name none of them."""

    elsewhere_rule: str | None = None
    """A rule that names these folders and leads there; empty: none that was tried does."""

    respelled: Respelled | None = None
    instead: str | None = None
    """The rule by which most samples lead to an entry, where that of the settings leads to none."""

    instead_matched: int = 0
    unread: tuple[str, ...] = ()
    """Shards and folders of data that could not be read to their end: there may be more samples."""

    changed: bool = False
    """Whether something was put into the cache or taken out while it was looked at."""
