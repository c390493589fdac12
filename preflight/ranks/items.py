"""Lists the items that ranks divide: samples of a cache, shards, images, or what a loader lists."""

from __future__ import annotations

import os
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from preflight.keys.entries import Entries
from preflight.keys.read import key_of, read_keys
from preflight.keys.samples.of_data_sets import KeyedSamples, folder_as, values_of
from preflight.keys.samples.sample import Sample
from preflight.kinds.asked import Asked, CannotLookError
from preflight.settings.key_rule import KeyRule, parse_rule
from preflight.targets.targets import CacheOf, KeyedData
from preflight.values.addresses import plain_path
from preflight.values.code_name import is_code_name
from preflight.values.names import name_of
from preflight.values.wire import from_wire


@dataclass(frozen=True, slots=True, kw_only=True)
class Items:
    """What there is to divide, in the order in which the job has it."""

    noun: str
    names: Sequence[str]
    """As reports name them."""

    told: Sequence[str]
    """As a function of the user's is given them: paths as the job spells them."""

    entries: array[int] | None = None
    """Of each sample of a cache, the number of its entry; None: each has its own, or who knows."""

    by_caption: bool = False
    missing: int | None = None


class Numbered(Sequence[str]):
    """Samples that have no names."""

    def __init__(self, noun: str, count: int) -> None:
        self._noun = noun
        self._count = count

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            return [self[one] for one in range(self._count)[place]]
        return f"{self._noun} {range(self._count)[place]}"


def items_of(asked: Asked) -> Items:
    """List what is asked about.

    Raises:
        OSError: a folder cannot be listed.
        CannotLookError: there is nothing to divide, or nobody knows what.
    """
    wire, root = asked.wire, asked.root
    if "count" in wire:
        few = Numbered(wire["noun"], wire["count"])
        return Items(noun=wire["noun"], names=few, told=few)
    if "names" in wire:
        names = [one if plain_path(one) is None else name_of(one, root) for one in wire["names"]]
        return Items(noun=wire["noun"], names=names, told=wire["names"])
    if "data" in wire:
        data = from_wire(KeyedData, wire["data"])
        return _of_samples(_sorted(KeyedSamples((data,), root, asked.alive, ())), root)
    return _of_cache(from_wire(CacheOf, wire["cache"]), asked)


def _of_cache(owed: CacheOf, asked: Asked) -> Items:
    root = asked.root
    top = os.path.join(root, owed.path)
    others = [os.path.join(root, one) for one in owed.others]
    if not owed.of:
        if os.path.isfile(top):
            raise CannotLookError("it is one file, and nobody said of which data set (of)")
        is_there = not owed.is_to_be or os.path.lexists(top)
        entries = sorted(Entries(top, None, asked.alive, others, is_there=is_there).names())
        if not entries:
            raise CannotLookError(
                "it has no entry yet, and nobody said of which data set it will be",
                fix='Name its data set in the settings: of = ["photos"], in the [[cache]] table.',
            )
        return Items(
            noun="entry",
            names=[name_of(os.path.join(top, one), root) for one in entries],
            told=[os.path.join(owed.path, one) for one in entries],
        )
    samples = _sorted(KeyedSamples(owed.of, root, asked.alive, [top, *others]))
    key = key_of(owed, asked)
    facts = read_keys(owed, root, asked.alive, key)
    missing = None if facts.rule is None or facts.is_file else facts.missing
    plain = _of_samples(samples, root, missing=missing)
    rule = None
    if facts.rule is not None and not is_code_name(facts.rule):
        rule = parse_rule(facts.rule)
    if rule is None or not (rule.by_caption or facts.shared):
        return plain
    return _of_samples(samples, root, missing=missing, rule=rule)


def _sorted(samples: Iterable[Sample]) -> list[Sample]:
    """Put samples in the order of their paths, data set by data set, as most jobs do."""
    places: dict[int, int] = {}

    def key(one: Sample) -> tuple[int, str]:
        return places.setdefault(id(one.home.data), len(places)), one.relative

    return sorted(samples, key=key)


def _of_samples(
    samples: Sequence[Sample],
    root: str,
    *,
    missing: int | None = None,
    rule: KeyRule | None = None,
) -> Items:
    if not samples:
        raise CannotLookError("its data set holds no sample")
    folders: dict[int, tuple[str, str]] = {}

    def values(one: Sample) -> Mapping[str, str]:
        data = one.home.data
        if id(data) not in folders:
            spelled = [folder_as(data, how, root) for how in ("said", "absolute")]
            folders[id(data)] = spelled[0], spelled[1]
        return values_of(one, *folders[id(data)])

    names = [one.home.shown(one) for one in samples]
    told = [values(one)["path"] for one in samples]
    return Items(
        noun="sample",
        names=names,
        told=names if told == names else told,  # once, since there may be very many
        entries=None if rule is None else _entries(samples, rule, values),
        by_caption=rule is not None and rule.by_caption,
        missing=missing,
    )


def _entries(
    samples: Sequence[Sample], rule: KeyRule, values: Callable[[Sample], Mapping[str, str]]
) -> array[int]:
    """Give the numbers of entries: samples of one key in one folder have one."""
    known: dict[object, int] = {}
    found = array("q")
    for number, one in enumerate(samples):
        told = values(one)
        if rule.by_caption:
            texts = next(iter(one.home.captions(one).values()), ())
            if not texts:
                found.append(-1 - number)  # of its own, since it has none
                continue
            told = {**told, "caption": texts[0]}
        place = "" if rule.placed or rule.by_caption else one.folder
        found.append(known.setdefault((place, rule.make(told)), len(known)))
    return found
