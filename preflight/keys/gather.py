"""Asks of caches in the settings whether their entries lead back to what they were made of."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any

from preflight.keys.facts import CacheKeys
from preflight.session.items import Item
from preflight.settings.job import Job
from preflight.targets import discover
from preflight.targets.targets import CacheFolder, Dataset
from preflight.values.code_name import parse_spec
from preflight.values.names import name_of
from preflight.values.wire import to_plain


def made_of(index: int, datasets: Iterable[Dataset], job: Job) -> list[Dataset]:
    """Give the data sets of which a cache was made.

    Args:
        index: of its entry in the settings.
        datasets: of the settings.
        job: whose settings they are.
    """
    if job.implies_data(index):
        return [one for one in datasets if one.entry is not None]
    names = job.cache[index].of
    return [one for one in datasets if _is_called(one, names, job)]


def key_item(target: CacheFolder, index: int, of: Sequence[Dataset], job: Job) -> Item:
    """Make the item that asks about a cache.

    Args:
        target: the cache.
        index: of its entry in the settings.
        of: the data sets of which it was made.
        job: whose settings they are.
    """
    cache = job.cache[index]
    runs_code = cache.key is not None and parse_spec(cache.key) is not None
    plain = {
        "type": "CacheKeys",
        "path": target.path,
        "entry": index,
        "key": cache.key,
        "of": [_part(one, job) for one in of],
        "others": [one.path for place, one in enumerate(job.cache) if place != index],
    }
    return Item(
        plain=plain,
        target=target,
        name=name_of(target.path, job.root),
        kinds=(CacheKeys,),
        code_folder=job.root if runs_code else None,
    )


def same_as(target: CacheFolder, job: Job) -> str | None:
    """Name an earlier entry of the settings that leads to the same folder.

    Two that say how their entries are named, and each otherwise, do share it on purpose.
    """
    if target.entry is None:
        return None
    here = os.path.realpath(target.path)
    key = job.cache[target.entry].key
    for other in job.cache[: target.entry]:
        if key is not None and other.key not in (None, key):
            continue
        if os.path.realpath(os.path.join(job.root, other.path)) == here:
            return other.path
    return None


def _is_called(dataset: Dataset, names: Iterable[str], job: Job) -> bool:
    if dataset.entry is None:
        return False
    data = job.data[dataset.entry]
    return not {data.name, data.path, data.shards}.isdisjoint(names)


def _part(dataset: Dataset, job: Job) -> dict[str, Any]:
    data = job.data[dataset.entry or 0]
    return {
        "name": dataset.name,
        "folder": dataset.folder,
        "shards": dataset.shards,
        "spelled": data.path if dataset.folder is not None else data.shards,
        "captions": to_plain(discover.captions_of(data)),
    }
