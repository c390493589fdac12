"""Compares samples and entries by one way between them."""

from __future__ import annotations

import itertools
from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace

from preflight.keys.entries import Entries, is_of_nobody
from preflight.keys.facts import SharedKey
from preflight.keys.index import ANY_HASH, ANY_SIZE, OF_TEXT
from preflight.keys.layouts import Finder, Way, captions_for
from preflight.keys.samples.caption_texts import Captions, Readings, in_order, is_blank
from preflight.keys.samples.sample import Sample
from preflight.values.tally import NAMED, First

# By how many seconds an entry may be older: clocks differ, and FAT counts in twos.
_SKEW = 2.0

_LOST, _FOUND, _BARE, _MASK = range(4)
"""What became of a sample: without an entry, with one, without a caption to make a key of (or with
an empty one, which trainers leave out), and a mask without an entry, which needs none."""

_ORPHAN, _LED, _STALE = range(3)
"""What became of an entry: it leads to no sample, to one, to one that is younger."""


@dataclass(slots=True)
class Compared:
    """What became of each sample and of each entry."""

    way: Way
    fate: bytearray = field(default_factory=bytearray)
    """Of each sample."""

    keys: array[int] = field(default_factory=lambda: array("q"))
    """Of each sample by its hash, where keys are not made of captions."""

    folded: array[int] = field(default_factory=lambda: array("q"))
    """The same of each key in small letters."""

    used: bytearray = field(default_factory=bytearray)
    """Of each entry."""

    held: array[int] = field(default_factory=lambda: array("i"))
    """Of each sample, which of `mixtures` its entries are; empty where all are of one kind."""

    mixtures: dict[bytes, int] = field(default_factory=dict)
    """The kinds of entries that samples have, each as an array; numbered as they come."""

    dated: int = 0
    """Entries whose age was compared."""

    oldest: float = 0.0
    """By how many seconds the worst is older than its sample."""

    younger: First = field(default_factory=First)
    """Samples that are younger than an entry of theirs."""

    @property
    def samples(self) -> int:
        """Count the samples that should have an entry."""
        return self.matched + self.fate.count(_LOST)

    @property
    def matched(self) -> int:
        """Count those that have one."""
        return self.fate.count(_FOUND)

    @property
    def bare(self) -> int:
        """Count those that have no caption to make a key of."""
        return self.fate.count(_BARE)

    @property
    def fits(self) -> bool:
        """Whether most of what could lead to each other does."""
        return 0 < min(self.samples, len(self.used)) < 2 * self.matched

    @property
    def unused(self) -> int:
        """Count the entries that lead to no sample."""
        return self.used.count(_ORPHAN)

    @property
    def led(self) -> int:
        """Count the entries that lead to one."""
        return len(self.used) - self.unused

    def use(self, other: Compared) -> None:
        """Take entries that lead to a sample by another way for its own."""
        for number, fate in enumerate(other.used):
            self.used[number] = self.used[number] or (_LED if fate else _ORPHAN)

    def hold(self, kinds: array[int]) -> None:
        """Note of which kinds the entries of a sample are."""
        several = len(kinds) > 1
        mixture = (array("i", sorted(set(kinds))) if several else kinds).tobytes()
        self.held.append(self.mixtures.setdefault(mixture, len(self.mixtures)))

    def date(self, number: int, age: float) -> bool:
        """Note by how many seconds an entry is older than its sample, and say whether it is."""
        self.dated += 1
        if age <= _SKEW:
            return False
        self.used[number] = _STALE
        self.oldest = max(self.oldest, age)
        return True

    def without_entry(self, samples: Iterable[Sample]) -> Iterator[Sample]:
        """Give the samples that should have an entry and have none."""
        if _LOST not in self.fate:
            return iter(())
        return (one for fate, one in zip(self.fate, samples, strict=True) if fate == _LOST)

    def named(self, entries: Entries) -> tuple[First, First]:
        """Name the entries that lead to no sample, and those that are too old."""
        orphans, stale = First(), First()
        if self.used.count(_LED) < len(self.used):
            for fate, name in zip(self.used, entries.names(), strict=True):
                if fate == _ORPHAN and not is_of_nobody(name):
                    orphans.add(name)
                elif fate == _STALE:
                    stale.add(name)
        return orphans, stale


def compare(way: Way, samples: Iterable[Sample], finder: Finder) -> Compared:
    """Look for the entry of every sample, and compare their ages.

    Where samples have entries by different ways to read their captions, one is settled for all.
    """
    readings = Readings()
    found = Compared(way, used=bytearray(len(finder.entries)))
    of_text = finder.entries.of_text()
    index = finder.index(way)
    several = len(index.kinds) > 1 + 1
    for one in samples:
        captions = captions_for(one, way.rule)
        if captions is None:
            key = finder.key(one, way)
            found.keys.append(hash(key))
            found.folded.append(hash(key.lower()))
            numbers, kinds = finder.led(one, way, key)
        else:
            numbers, kinds = finder.find(one, way, captions)
            if len(captions) > 1:
                _read(found, readings, one, captions, finder)
        if several:
            found.hold(kinds)
        if numbers:
            found.fate.append(_FOUND)
        elif captions is not None and is_blank(captions):
            found.fate.append(_BARE)
        else:
            found.fate.append(_MASK if one.home.is_mask(one) else _LOST)
        for number in numbers:
            found.used[number] = found.used[number] or _LED
        if numbers and not way.rule.is_shared:
            _date(found, one, numbers, finder.entries.modified, of_text)
    settled = () if way.readings else readings.settled()
    return compare(replace(way, readings=settled), samples, finder) if settled else found


def _read(
    found: Compared, readings: Readings, one: Sample, captions: Captions, finder: Finder
) -> None:
    """Take in what each way to read a sample's captions leads to; of one that is settled, use it.

    Of several captions, some may have their entries.
    """
    names = in_order(captions, found.way.readings)
    every = {name: finder.read(one, found.way, captions[name]) for name in names}
    led = {name: [those for those, _ in some] for name, some in every.items()}
    if not found.way.readings:
        readings.note(led)
        return
    for number in itertools.chain.from_iterable(itertools.chain(*led.values())):
        found.used[number] = found.used[number] or _LED


def _date(
    found: Compared,
    one: Sample,
    numbers: Iterable[int],
    modified: Sequence[float],
    of_text: AbstractSet[int],
) -> None:
    written = one.home.modified(one)
    is_younger = False
    for number in numbers:
        then = one.home.caption_modified(one) if number in of_text else written
        if then is not None and found.date(number, then - modified[number]):
            is_younger |= number not in of_text
    if is_younger:
        found.younger.add(one.home.shown(one))


def shared_keys(found: Compared, samples: Iterable[Sample], finder: Finder) -> list[SharedKey]:
    """Find the keys that several samples share, where each would need an entry of its own."""
    way = found.way
    if way.rule.is_shared or way.layout == "anywhere":
        return []
    again = _again(found.keys)
    groups: dict[str, dict[object, str]] = {}
    for hashed, one in zip(found.keys, samples if again else (), strict=bool(again)):
        at = bisect_left(again, hashed)
        if at == len(again) or again[at] != hashed or one.home.is_mask(one):
            continue
        key = finder.key(one, way)
        groups.setdefault(key, {})[one.home.identity(one)] = one.home.shown(one)
    index = finder.index(way)
    return [
        SharedKey(
            key=key,
            samples=len(group),
            names=tuple(sorted(group.values())[:NAMED]),
            sized=any(ANY_SIZE in one for one in index.kinds),
        )
        for key, group in sorted(groups.items())
        if len(group) > _told_apart(index.find(key)[1], index.kinds)
    ]


def cased_keys(found: Compared, samples: Iterable[Sample], finder: Finder) -> tuple[str, ...]:
    """Find two keys that are one on a file system which folds capital letters."""
    again = set(_again(found.folded))
    if not again or len(set(found.folded)) == len(set(found.keys)):
        return ()
    met: dict[str, str] = {}
    for folded, one in zip(found.folded, samples, strict=True):
        if folded in again:
            key = finder.key(one, found.way)
            other = met.setdefault(key.lower(), key)
            if other != key:
                return (other, key)
    return ()


def _told_apart(numbers: Sequence[int], kinds: Sequence[str]) -> float:
    """Say of how many samples the entries of one key may be.

    Sizes tell two images of one stem from each other, and so do hashes. One caption, for a file of
    captions is found by its stem, too, may have one entry for all.
    """
    here = Counter(kinds[one] for one in numbers)
    if here and all(OF_TEXT.search(one) or ANY_HASH in one for one in here):
        return float("inf")
    return max(here.values(), default=1)


def _again(keys: array[int]) -> array[int]:
    """Give the hashes that are there more than once, in order."""
    ordered = array("q", sorted(keys))
    return array("q", dict.fromkeys(a for a, b in itertools.pairwise(ordered) if a == b))
