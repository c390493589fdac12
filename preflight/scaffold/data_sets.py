"""Says in the words of preflight.toml which data sets lie around."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from preflight.kinds.target import Target
from preflight.scaffold.toml_entries import can_be_said, spelled
from preflight.targets.file_types.suffixes import SHARD_SUFFIXES
from preflight.targets.one_file import UnknownWordError
from preflight.targets.targets import CaptionRule, Folder, Shard, Unlistable
from preflight.targets.words.patterns import read_data

# A number stands directly before the ending; braces, stars and colons have a meaning in a range.
_NUMBERED = re.compile(r"([^{}\[\]*?:]*?)(\d{1,18})(\.t(?:ar|gz|bz2|xz)[.a-z0-9]*)", re.IGNORECASE)

_MOST_RANGES = 8

# Shards of a range of which one may be missing.
_TELLING = 8

# Shards of odd names that are named one by one.
_MOST_SINGLE = 16


class DataSet(NamedTuple):
    """One entry."""

    key: str
    """`path` or `shards`."""

    value: str
    remark: str | None = None
    subfolders: bool = True


def data_sets(targets: Iterable[Target], folder: str) -> tuple[DataSet, ...]:
    """Write an entry, or several, for the shards of each folder, for images, and what is closed."""
    shards: dict[str, list[str]] = {}
    found: list[DataSet] = []
    for target in targets:
        if isinstance(target, Shard):
            place, name = os.path.split(target.path)
            shards.setdefault(place, []).append(name)
        elif isinstance(target, Folder):
            deep = target.captions.subfolders
            found.append(DataSet("path", spelled(target.path, folder), subfolders=deep))
        elif isinstance(target, Unlistable):
            remark = "cannot be listed, so nobody knows what is in it"
            found.append(DataSet("path", spelled(target.path, folder), remark))
    for place, names in shards.items():
        found += _of_shards(place, names, folder)
    return tuple(dict.fromkeys(found))


def _of_shards(place: str, names: list[str], folder: str) -> list[DataSet]:
    """Name the shards of a folder in the first way that names them all."""
    paths = {os.path.join(place, name) for name in names}
    for entries in _ways(spelled(place, folder), names):
        said = all(can_be_said(one.value) for one in entries)
        if entries and said and paths <= set(_named_by(entries, folder)):
            return entries
    return [DataSet("path", spelled(place, folder))]


def _ways(place: str, names: list[str]) -> Iterator[list[DataSet]]:
    begin = "" if place == "." else f"{place}/"
    yield [DataSet("shards", begin + range_, remark) for range_, remark in _ranges(names)]
    stars = "::".join(begin + pattern for pattern in _wildcards(names))
    yield [DataSet("shards", stars, f"{len(names):,} here now")]
    if len(names) <= _MOST_SINGLE:
        yield [DataSet("path", begin + name) for name in names]


def _named_by(entries: Iterable[DataSet], folder: str) -> Iterator[str]:
    for one in entries:
        try:
            for target in read_data(one.value, folder, CaptionRule()):
                if isinstance(target, Shard):
                    yield target.path
        except UnknownWordError:
            return


def _ranges(names: list[str]) -> list[tuple[str, str]]:
    """Write shards as ranges, each with what is there of it; none where they are not numbered so.

    A range is told from a pattern with a star by its gaps: what is missing of it is found.
    """
    numbers: dict[tuple[str, str], list[str]] = {}
    for name in names:
        match = _NUMBERED.fullmatch(name)
        if match is None:
            return []
        numbers.setdefault((match[1], match[3]), []).append(match[2])
    found = []
    for (before, after), some in numbers.items():
        first, last = min(some, key=int), max(some, key=int)
        named = int(last) - int(first) + 1
        padded = len(set(map(len, some))) == 1
        if len(some) < 2 or not (padded or _are_bare(some)):
            return []
        if named - len(some) > (1 if named >= _TELLING else 0) and 10 * (named - len(some)) > named:
            return []
        here = f"{len(some):,} of {named:,}" if named > len(some) else f"{named:,}"
        found.append((f"{before}{{{first}..{last}}}{after}", f"{here} here now"))
    return found if len(found) <= _MOST_RANGES else []


def _wildcards(names: list[str]) -> list[str]:
    """Write shards as patterns with a star, which take in as little else as they can."""
    suffixes: dict[str, set[str]] = {}
    for name in names:
        long = max((one for one in SHARD_SUFFIXES if name.lower().endswith(one)), key=len)
        suffix = name[-len(long) :]
        suffixes.setdefault(suffix[:4], set()).add(suffix)
    return [
        f"*{those.pop()}" if len(those) == 1 else f"*{begin}*" for begin, those in suffixes.items()
    ]


def _are_bare(numbers: list[str]) -> bool:
    """Whether no number is filled up with zeros."""
    return all(number == str(int(number)) for number in numbers)
