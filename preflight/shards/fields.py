"""Counts what samples are made of, in one shard and in several, in bounded memory."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import compress, groupby, islice
from typing import NamedTuple

from preflight.formats.suffixes.images import EXTENSIONS
from preflight.pairing.rules import PLAIN, Groups
from preflight.shards.facts import Field, FieldSet, SampleFields, Unlike

MOST = 100
"""Fields that are told, and sets of them."""

_NAMES = 3
"""Files of one size that are named."""


class FieldCounts:
    """Fields of samples; of too many, the first by their names, in whatever order they come."""

    def __init__(self) -> None:
        self._fields: dict[str, Field] = {}
        self._sets: Counter[tuple[str, ...]] = Counter()
        self._more_fields = self._more_sets = 0

    def add(self, told: SampleFields) -> None:
        """Count the samples of a part."""
        self._more_fields += told.more_fields
        self._more_sets += told.more_sets
        for one in told.fields:
            before = self._fields.get(one.name)
            self._fields[one.name] = one if before is None else _both(before, one)
        for fields, samples in told.sets:
            self._sets[fields] += samples
        if max(len(self._fields), len(self._sets)) > 2 * MOST:
            self._keep_first()

    def told(self) -> SampleFields:
        """Give what was counted."""
        self._keep_first()
        return SampleFields(
            fields=tuple(self._fields.values()),
            sets=tuple(FieldSet(fields, samples) for fields, samples in self._sets.items()),
            more_fields=self._more_fields,
            more_sets=self._more_sets,
        )

    def _keep_first(self) -> None:
        names, sets = sorted(self._fields), sorted(self._sets)
        self._more_fields += sum(self._fields[one].files for one in names[MOST:])
        self._more_sets += sum(self._sets[one] for one in sets[MOST:])
        self._fields = {one: self._fields[one] for one in names[:MOST]}
        self._sets = Counter({one: self._sets[one] for one in sets[:MOST]})


def fields_of(groups: Groups, contents: array[int]) -> SampleFields:
    """Count the fields of samples, by the bytes of each of their files, and of more behind them."""
    alike: dict[tuple[str, ...], tuple[array[int], list[array[int]]]] = {}
    number = begin = 0
    for suffixes, run in groupby(groups.made_of):  # mostly one of all samples
        samples, files = sum(1 for _ in run), len(suffixes)
        end = begin + samples * files
        if suffixes not in alike:
            alike[suffixes] = array("Q"), [array("Q") for _ in suffixes]
        numbers, columns = alike[suffixes]
        numbers.extend(range(number, number + samples))
        for place, column in enumerate(columns, begin):
            column.extend(contents[place:end:files])
        number, begin = number + samples, end

    counts = FieldCounts()
    for suffixes, (numbers, columns) in alike.items():
        fields = tuple(sorted({suffix.lower() for suffix in suffixes}))
        counts.add(SampleFields(sets=(FieldSet(fields, len(numbers)),)))
        for suffix, sizes in zip(suffixes, columns, strict=True):
            one = _field(suffix, sizes, groups.keys, numbers)
            counts.add(SampleFields(fields=(one,)))
    return counts.told()


def _field(suffix: str, sizes: array[int], keys: Sequence[str], numbers: array[int]) -> Field:
    def first(size: int) -> tuple[str, ...]:
        those = compress(numbers, map(size.__eq__, sizes))
        return tuple(f"{keys[number]}.{suffix}" for number in islice(those, _NAMES))

    least, most = min(sizes), max(sizes)
    names = first(least), first(most)
    return Field(suffix.lower(), len(sizes), sum(sizes), least, most, *names)


def _both(one: Field, other: Field) -> Field:
    least, most = min(one.smallest, other.smallest), max(one.largest, other.largest)
    both = (one, other)
    smallest = [name for two in both if two.smallest == least for name in two.smallest_names]
    largest = [name for two in both if two.largest == most for name in two.largest_names]
    files, size = one.files + other.files, one.bytes + other.bytes
    names = tuple(smallest[:_NAMES]), tuple(largest[:_NAMES])
    return Field(one.name, files, size, least, most, *names)


class FieldsOf(NamedTuple):
    """What the samples of a shard are made of."""

    file: str
    samples: int
    fields: frozenset[str]


def made_of(file: str, fields: SampleFields) -> FieldsOf | None:
    """Keep of a shard what tells it from others; None where not all of it is known."""
    if fields.more_sets or not fields.sets:
        return None
    every = frozenset(name for one in fields.sets for name in one.fields)
    return FieldsOf(file, sum(one.samples for one in fields.sets), every)


def unlike(
    whole: SampleFields, shards: Mapping[str, FieldsOf | None], captions: Collection[str]
) -> Iterator[Unlike]:
    """Hold each shard against the others; images and captions are compared by their own rules."""
    samples = sum(one.samples for one in whole.sets)
    known = [one for one in shards.values() if one is not None]
    for field in sorted({name for one in whole.sets for name in one.fields}):
        extension = field.rpartition(".")[2]
        if extension in EXTENSIONS or extension in PLAIN or field in captions:
            continue
        having = sum(one.samples for one in whole.sets if field in one.fields)
        without = [one for one in known if field not in one.fields]
        if 2 * having > samples and 2 * len(without) < len(shards):
            yield from (Unlike(one.file, field, one.samples, having) for one in without)
