"""Takes what words name for what the settings say of it: a cache, and what it was made of."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain

from preflight.kinds.target import Target
from preflight.settings.job import Job
from preflight.targets.targets import CacheFolder, Dataset
from preflight.values.names import path_below


def as_entries(
    pairs: list[tuple[str, Target]], datasets: list[tuple[str, Dataset]], job: Job, folder: str
) -> tuple[list[tuple[str, Target]], list[Dataset]]:
    """Hold caches that words name against the data sets that they name, as the settings have it.

    A cache of which not all is named that it was made of stays by itself.
    """
    of_data = {word: _data_entry(word, job, folder) for word, _ in datasets}
    caches = {
        one: entry
        for _, one in pairs
        if isinstance(one, CacheFolder)
        for entry, cache in enumerate(job.cache)
        if _is_same(one.path, path_below(job.root, cache.path), folder)
        and (made_of := set(_made_of(entry, job)))
        and made_of <= {*of_data.values()}
    }
    wanted = set(chain.from_iterable(_made_of(entry, job) for entry in caches.values()))
    return (
        [
            (word, replace(one, entry=caches[one]) if isinstance(one, CacheFolder) else one)
            if one in caches
            else (word, one)
            for word, one in pairs
        ],
        [
            replace(one, entry=entry, name=job.data[entry].name or one.name)
            if (entry := of_data[word]) is not None and entry in wanted
            else one
            for word, one in datasets
        ],
    )


def _made_of(cache: int, job: Job) -> Iterator[int]:
    """Give the places of the data sets of a cache; -1 where there is no such one."""
    if job.implies_data(cache):
        yield 0
    for name in job.cache[cache].of:
        known = (at for at, one in enumerate(job.data) if name in (one.name, one.path, one.shards))
        yield next(known, -1)


def _data_entry(word: str, job: Job, folder: str) -> int | None:
    typed = word.removeprefix("data=")
    for at, data in enumerate(job.data):
        said: Iterable[str] = filter(None, (data.path, data.shards))
        if any(_is_same(typed, path_below(job.root, one), folder) for one in said):
            return at
    return None


def _is_same(typed: str, path: str, folder: str) -> bool:
    return os.path.realpath(os.path.join(folder, typed)) == os.path.realpath(path)
