"""Finds the entries of samples, wherever in a cache they are put; and the layout that fits best."""

from __future__ import annotations

import itertools
import os
from array import array
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from typing import TypeAlias

from preflight.keys.entries import Entries
from preflight.keys.index import EntryIndex, endings_of, places_of
from preflight.keys.places import Places
from preflight.keys.samples.caption_texts import Captions, in_order
from preflight.keys.samples.of_data_sets import SAID, Spelling, differs, folder_as, values_of
from preflight.keys.samples.sample import Sample
from preflight.settings.key_expression import Values
from preflight.settings.key_rule import KeyRule
from preflight.targets.targets import KeyedData

# Samples that are looked at first, where one of several rules is to be chosen.
_FEW = 2_000

# Where entries are fewer than one of so many samples, those few may lead to none of them.
_RARE = 20

UNSURE = ("inner", "anywhere")
"""Layouts that match wherever entries lie."""

# They count where the others find less than one of so many.
_LEAST = 10

# Samples that are asked what stands behind their keys.
_ASKED = 20_000

# What can be said of a sample without its folder.
_PLAIN = frozenset({"stem", "name", "caption"})


_Led: TypeAlias = "tuple[array[int], array[int]]"
"""The numbers of entries, and their kinds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """A way from a sample to its entry."""

    rule: KeyRule
    layout: str = "flat"
    """`mirrored`: in the folder below the cache in which the sample lies below its data set's;
    `flat`: in the cache itself; `inner`: as mirrored, in whatever folder of the cache (`text/`);
    `anywhere`: in whatever folder, whatever that of the sample."""

    spelling: Spelling = SAID
    again: bool = False
    """Whether entries lie below the path of their data set, which was put there once more."""

    numbered: bool = False
    """Whether a sample has several entries, each with its number: `dog_0.pt`, `dog_1.pt`."""

    readings: tuple[str, ...] = ()
    """The ways to read captions, of which the first that one has is settled; none: each is open."""

    endings: frozenset[str] = frozenset()
    """What was learnt to stand behind keys, as kinds: `_flip`, `_clip_l`."""


class Finder:
    """Finds entries by any way."""

    def __init__(self, entries: Entries, root: str, places: Places) -> None:
        self.entries = entries
        self.places = places
        self.root = root
        self._indexes: dict[tuple[bool, str, bool, frozenset[str]], EntryIndex] = {}
        self._folders: dict[tuple[int, str], tuple[str, str]] = {}

    def key(self, one: Sample, way: Way) -> str:
        """Give the key of a sample, where it is not made of its caption."""
        return self._placed(one, way.rule.make(self._values(one, way)), way)

    def find(self, one: Sample, way: Way, captions: Captions | None) -> _Led:
        """Give the numbers of the entries of a sample, and their kinds.

        Each way to read its captions is tried, unless one is settled; all captions of one way have
        to have their entry.
        """
        if captions is None:
            return self.led(one, way, self.key(one, way))
        none = array("i")
        for name in in_order(captions, way.readings):
            found = self.read(one, way, captions[name])
            if all(numbers for numbers, _ in found):
                return sum((one for one, _ in found), none), sum((one for _, one in found), none)
        return none, none

    def read(self, one: Sample, way: Way, texts: Iterable[str]) -> Sequence[_Led]:
        """Give what each of these captions of a sample leads to."""
        values = self._values(one, way)
        made = (way.rule.make({**values, "caption": text}) for text in texts)
        return [self.led(one, way, self._placed(one, key, way)) for key in made]

    def led(self, one: Sample, way: Way, key: str) -> _Led:
        """Give the numbers and kinds of the entries of a key that may be those of a sample."""
        numbers, kinds = self.index(way).find(key)
        if way.layout not in UNSURE or way.rule.by_caption:
            return numbers, kinds
        kept = [self.places.leads(one, number, again=way.again) for number in numbers]
        if all(kept):
            return numbers, kinds
        return array("i", compress(numbers, kept)), array("i", compress(kinds, kept))

    def _values(self, one: Sample, way: Way) -> Values:
        if way.rule.needs <= _PLAIN and way.spelling == SAID:
            return {"stem": one.stem, "name": one.name}
        return values_of(one, *self.folders(one.home.data, way.spelling), way.spelling)

    def folders(self, data: KeyedData, spelling: Spelling) -> tuple[str, str]:
        """Spell the folder of a data set, as the job may and from the root on."""
        which, said = (id(data), spelling.folder), spelling.folder
        if which not in self._folders:
            whole = folder_as(data, "real" if said == "real" else "absolute", self.root)
            self._folders[which] = folder_as(data, said, self.root), whole
        return self._folders[which]

    def index(self, way: Way) -> EntryIndex:
        """Give what finds entries by their keys."""
        layout = way.layout if way.layout in UNSURE else "mirrored"  # flat is named alike
        which = way.rule.suffix is None, layout, way.numbered, way.endings
        if which not in self._indexes:
            by_stem, layout, numbered, endings = which
            self._indexes[which] = self.entries.index(
                by_stem=by_stem, layout=layout, numbered=numbered, endings=endings
            )
        return self._indexes[which]

    def _placed(self, one: Sample, key: str, way: Way) -> str:
        if "/" in key:
            if way.layout == "anywhere":
                return key.rpartition("/")[2]
            key = os.path.normpath(key).replace(os.sep, "/").lstrip("/")
        is_mirrored = one.folder and way.layout in ("mirrored", "inner") and not way.rule.placed
        return f"{one.folder}/{key}" if is_mirrored else key


def ways_of(
    rule: KeyRule,
    entries: Entries,
    *,
    nested: bool,
    numbered: bool = False,
    separator: str = os.sep,
) -> tuple[Way, ...]:
    """Give the ways that a rule leaves open, the likeliest first.

    Jobs may put `/` in paths whatever the system's separator.
    """
    if rule.placed:
        return (Way(rule=rule),)
    layouts = ["flat", "mirrored"] if rule.by_caption else ["mirrored", "flat"]
    if not nested:
        layouts = ["flat"]
    if entries.is_deep:
        layouts += UNSURE if nested else UNSURE[1:]
    # Trainers make a path whole with links in it, or without; and part it as the system does.
    others = [Spelling(slash=separator)]
    if "path" not in rule.needs:
        others.append(Spelling(folder="real"))
    spellings = (SAID, *(one for one in others if differs(one, rule.needs)))
    return tuple(
        Way(rule=rule, layout=layout, spelling=spelling, numbered=numbered)
        for layout in layouts
        for spelling in spellings
    )


def captions_for(one: Sample, rule: KeyRule) -> Captions | None:
    """Read the captions of a sample where the rule needs them; None: it does not."""
    return one.home.captions(one) if rule.by_caption else None


def best_way(ways: Sequence[Way], samples: Iterable[Sample], total: int, finder: Finder) -> Way:
    """Choose the way that leads to most entries; the first, where none leads to any."""
    if len(ways) == 1 or not len(finder.entries):
        return ways[0]
    step = max(1, total // _FEW)
    surer = [way for way in ways if way.layout not in UNSURE] or list(ways)
    hits = dict(_reached(surer, itertools.islice(samples, 0, None, step), finder))
    best = max(surer, key=lambda way: len(hits[way]))
    if 2 * step * len(hits[best]) > total:  # to index entries by the rest takes time
        return best
    unsure = [way for way in ways if way not in hits]
    hits.update(_reached(unsure, itertools.islice(samples, 0, None, step), finder))
    if step > 1 and not any(hits.values()) and len(finder.entries) * _RARE < total:
        hits = dict(_reached(ways, samples, finder))
        best = max(surer, key=lambda way: len(hits[way]))
    widest = max(ways, key=lambda way: len(hits[way]))
    return widest if len(hits[best]) * _LEAST < len(hits[widest]) else best


def _reached(
    ways: Sequence[Way], samples: Iterable[Sample], finder: Finder
) -> Mapping[Way, set[int]]:
    """Give by each way the entries that samples lead to.

    Entries and not samples: two of one stem, each in its folder, lead to one that is not of both.
    """
    hits: dict[Way, set[int]] = {way: set() for way in ways}
    for one in samples:
        captions: Captions | None = None
        if any(way.rule.by_caption for way in ways):
            captions = one.home.captions(one)
        for way in ways:
            hits[way].update(finder.find(one, way, captions if way.rule.by_caption else None)[0])
    return hits


def led_by(
    ways: Sequence[Way], samples: Iterable[Sample], total: int, finder: Finder
) -> tuple[int, int]:
    """Count the samples that the best of some ways leads to an entry, and those that were asked."""
    hits, asked = dict.fromkeys(ways, 0), 0
    for one in itertools.islice(samples, 0, None, max(1, total // _FEW)):
        asked += 1
        for way in ways:
            hits[way] += bool(finder.find(one, way, captions_for(one, way.rule))[0])
    return max(hits.values()), asked


def with_endings(way: Way, samples: Iterable[Sample], total: int, finder: Finder) -> Way:
    """Give a way with the endings that stand behind the keys of at least half of the samples."""
    led, keys = behind_keys(way, samples, total, finder)
    most = frozenset(kind for kind, (number, _) in led.items() if 2 * number >= keys)
    return replace(way, endings=most)


def behind_keys(
    way: Way, samples: Iterable[Sample], total: int, finder: Finder
) -> tuple[Mapping[str, tuple[int, str]], int]:
    """Count the keys behind which endings of each kind stand in names of entries, and all keys.

    Beside its number is the ending as it is written, where it is one and the same.
    """
    asked = itertools.islice(samples, 0, None, max(1, total // _ASKED))
    keys = {hash(finder.key(one, way)) for one in asked}
    led: defaultdict[str, set[int]] = defaultdict(set)
    called: dict[str, str] = {}
    for name in finder.entries.names():
        stems = [rest for _, rest in places_of(os.path.splitext(name)[0], way.layout)]
        if not keys.isdisjoint(map(hash, stems)):
            continue
        for stem in stems:
            for key, kind in endings_of(stem):
                if (hashed := hash(key)) in keys:
                    led[kind].add(hashed)
                    ending = stem[len(key) :]
                    called[kind] = ending if called.get(kind, ending) == ending else kind
    return {kind: (len(those), called[kind]) for kind, those in led.items()}, len(keys)
