"""Tells the caches in a folder of caches apart: `pets-512` and `pets-1024` are two."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

from preflight.kinds.target import Target
from preflight.targets.folders import folders_of_images, look_around
from preflight.targets.targets import CacheFolder, Folder, Shard

# Folders of one folder that are taken for a cache each.
_MOST_CACHES = 12

# Parts of one cache: of a rank, of a process, by the first digits of a hash.
_PART = re.compile(
    r"(.*[-_])?(rank|part|chunk|gpu|worker|process|proc|node|split|bucket|shard|group)[-_]?\d+"
    r"|\d+|[0-9a-f]{1,4}",
    re.IGNORECASE,
)


class Parts(NamedTuple):
    """The caches in a folder of them."""

    caches: tuple[CacheFolder, ...]
    beside: bool = False
    """Whether cached files lie beside them, in the folder that holds them."""


def apart(targets: Sequence[Target]) -> Mapping[CacheFolder, Parts]:
    """Say of each cache which it is: itself, or several that lie in its folder."""
    caches = [one for one in targets if isinstance(one, CacheFolder)]
    of_data = _names_in_data(targets) if caches else set()
    found = {}
    for one in caches:
        parts = _apart(one, of_data)
        found[one] = Parts(parts, beside=len(parts) > 1 and not _hold_all(one, parts))
    return found


def _names_in_data(targets: Iterable[Target]) -> set[str]:
    """Give what folders in data are called, and shards: a cache of it may be a tree like that."""
    names: set[str] = set()
    for one in targets:
        if isinstance(one, Folder):
            names |= {
                part
                for place in folders_of_images(one.path)
                for part in os.path.relpath(place, one.path).split(os.sep)
            }
        elif isinstance(one, Shard):
            names.add(os.path.basename(one.path).partition(".")[0])
    return names - {os.curdir}


def _apart(target: CacheFolder, of_data: set[str]) -> tuple[CacheFolder, ...]:
    """Take a folder of caches for those: `cache/vae` and `cache/text`, `pets-512` and `pets-1024`.

    Folders that are called as those of the data hold one cache, in a tree like theirs.
    """
    inner = [one for one in look_around(target.path) if isinstance(one, CacheFolder)]
    below = [one for one in inner if one.path != target.path]
    names = {os.path.basename(one.path) for one in below}
    are_states = target.checkpoint or any(one.checkpoint for one in below)
    if not below or are_states or not names.isdisjoint(of_data):
        return (target,)
    if len(below) > 1 and not _are_several(below, names):
        return (target,)
    parts = tuple(part for one in below for part in _apart(one, of_data))
    return parts if len(parts) > 1 else (target,)


def _are_several(below: Sequence[CacheFolder], names: set[str]) -> bool:
    """Whether each folder is a cache by itself, and no part of one that is divided."""
    if not all(map(_PART.fullmatch, names)):
        return len(below) <= _MOST_CACHES
    if len(below) > _MOST_CACHES or _are_counted(names):
        return False
    entries = [_entries(one.path) for one in below]  # of the same samples, in 512 and 1024
    return any(
        2 * len(one & other) >= min(len(one), len(other)) > 0
        for one, other in combinations(entries, 2)
    )


def _are_counted(names: set[str]) -> bool:
    """Whether folders are numbered one after the other, as those of ranks are."""
    numbers = sorted(int(digits[0]) for one in names if (digits := re.search(r"\d+$", one)))
    return len(numbers) == len(names) == numbers[-1] - numbers[0] + 1


def _entries(path: str) -> frozenset[str]:
    """Give the names of entries, without their suffixes."""
    from preflight.cached_files.cache_listing import list_cache

    try:
        files = list_cache(path).files
    except OSError:
        return frozenset()
    return frozenset(os.path.splitext(os.path.relpath(one, path))[0] for one in files)


def _hold_all(target: CacheFolder, parts: Iterable[CacheFolder]) -> bool:
    """Whether nothing that a look at a folder would meet lies beside the caches in it."""
    from preflight.cached_files.cache_listing import list_cache

    try:
        listing = list_cache(target.path)
    except OSError:
        return False
    met = (*listing.files, *listing.left_over, *(path for path, _ in listing.unreadable))
    begin = tuple(os.path.join(one.path, "") for one in parts)
    return all(path.startswith(begin) for path in met)
