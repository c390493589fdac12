"""Takes shards and folders for data sets: what belongs together as data."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator

from preflight.kinds.target import Target
from preflight.settings.job import Job
from preflight.targets.targets import (
    Dataset,
    Folder,
    Missing,
    Shard,
)
from preflight.values.names import name_of

_SPLIT = re.compile(
    r"(?<![a-z])(train|val|test|eval|dev)(?:ing|id|idation|uation)?(?![a-z])"
).search


def _as_one(name: str, targets: Iterable[Target], entry: int | None = None) -> Iterator[Dataset]:
    """Take all shards, and each folder of images, for one data set."""
    found = tuple(targets)
    shards = tuple(
        one.path
        for one in found
        if isinstance(one, Shard) or (isinstance(one, Missing) and one.kind == "shard")
    )
    if shards:
        more = sum(one.more for one in found if isinstance(one, Missing))
        yield Dataset(name=name, shards=shards, more=more, entry=entry)
    for one in found:
        if isinstance(one, Folder):
            yield Dataset(name=name, folder=one.path, entry=entry)


def of_settings(job: Job, data_sets: list[list[tuple[str, Target]]]) -> Iterator[Dataset]:
    """Take each entry for a data set.

    Shards that one entry names (`shards`) are no part of another for the folder in which they lie.
    """
    of_ranges = {
        target
        for data, named in zip(job.data, data_sets, strict=True)
        if data.shards is not None
        for _, target in named
    }
    for index, (data, named) in enumerate(zip(job.data, data_sets, strict=True)):
        if named:
            found = (one for _, one in named if data.shards is not None or one not in of_ranges)
            yield from _as_one(data.name or named[0][0], found, index)


def by_folder(word: str | None, targets: Iterable[Target], root: str) -> Iterator[Dataset]:
    """Take shards of one folder for a data set; a pattern names one, wherever its shards lie."""
    found = tuple(targets)
    if word is not None and any(sign in word for sign in "*?[{") and len(found) > 1:
        yield from _as_one(word, found)
        return
    shards: dict[str, list[Target]] = {}
    for one in found:
        if isinstance(one, Shard):
            shards.setdefault(os.path.dirname(one.path), []).append(one)
    for place, those in shards.items():
        yield from _as_one(word if len(found) == 1 and word else name_of(place, root), those)
    for one in found:
        if isinstance(one, Folder):
            yield from _as_one(word or name_of(one.path, root), (one,))


def together(datasets: Iterable[Dataset], root: str) -> Iterator[Dataset]:
    """Take shards that a word each names for one data set, as a pattern of them would be.

    Those of another folder are another one, and so are those of another split.
    """
    alone: dict[tuple[str, str], list[str]] = {}
    for one in datasets:
        if len(one.shards) != 1 or one.more or one.entry is not None:
            yield one
            continue
        place, name = os.path.split(one.shards[0])
        split = _SPLIT(name.lower())
        alone.setdefault((place, split[1] if split else ""), []).append(one.shards[0])
    for (place, _), paths in alone.items():
        shards = tuple(dict.fromkeys(paths))
        name = name_of(place if len(shards) > 1 else shards[0], root)
        yield Dataset(name=name, shards=shards)
