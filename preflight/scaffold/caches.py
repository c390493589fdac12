"""Says in the words of preflight.toml which caches and checkpoints lie around, each by itself."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

from preflight.cached_files.cache_listing import list_cache
from preflight.kinds.target import Target
from preflight.scaffold.fits import led_to
from preflight.scaffold.tables import spelled, table, texts
from preflight.settings.job import CacheSettings, DataSettings
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

# These hold weights, which are made of no sample.
_WEIGHTS = re.compile(
    r"(.*[-_.])?(weights?|models?|pre_?trained|checkpoints?|ckpts?|out(puts?)?|runs?|results?|logs?"
    r"|lightning_logs|wandb|saved?|saves|exps?|experiments?|states?)([-_.].*)?",
    re.IGNORECASE,
)
_OF_WEIGHTS = (".ckpt", ".pth", ".tar", ".bin", ".distcp")

_OF = """\
# What it was made of, so that entries that are missing or old are told:
of = {}
# key = "md5(caption)"     # how entries are named after samples; the usual ways are tried
"""

# Of several data sets, somebody has to say which; and how entries are named that no usual way
# leads to, without which a run could not judge what it was asked for.
_MAY_BE_OF = """\
# What it may have been made of, a guess. Take the "# " away to have entries that are missing or old
# told, and say in `key` how entries are named after samples where the usual ways do not lead there.
# of = {}
# key = "md5(caption)"
"""


class _Entry(NamedTuple):
    """One cache, and the data sets of which it may have been made."""

    path: str
    remark: str | None = None
    checkpoint: bool = False
    of: tuple[str, ...] = ()
    likely: bool = False
    """Whether it is rather made of these than not."""


def caches(targets: Sequence[Target], folder: str, data: Sequence[DataSettings]) -> Iterator[str]:
    """Write an entry for each cache; what it was made of only where its entries say so, too."""
    entries = list(_entries_of(targets, folder, [one.path or one.shards or "" for one in data]))
    likely = [CacheSettings(path=one.path, of=one.of) for one in entries if one.likely]
    sure = led_to(likely, data, folder)
    for one in entries:
        written = table("cache", path=one.path, remark=one.remark)
        if one.checkpoint:
            written += "checkpoints = true  # states of a run, or one model in pieces\n"
        elif one.of:
            written += (_OF if one.path in sure else _MAY_BE_OF).format(texts(one.of))
        yield written


def _entries_of(targets: Sequence[Target], folder: str, data: Sequence[str]) -> Iterator[_Entry]:
    of_data = _names_in_data(targets)
    for target in targets:
        if isinstance(target, CacheFolder):
            parts = _apart(target, of_data)
            if len(parts) > 1 and not _hold_all(target, parts):
                yield _Entry(spelled(target.path, folder), remark="what lies beside")
            for one in parts:
                yield _entry(one, spelled(one.path, folder), data)


def _entry(cache: CacheFolder, name: str, data: Sequence[str]) -> _Entry:
    if cache.checkpoint or not data:
        return _Entry(name, checkpoint=cache.checkpoint)
    alike = [one for one in data if _is_called_after(name, one)]
    of = alike if len(alike) == 1 else data
    likely = len(of) == 1 and not _holds_weights(cache, name, data)
    return _Entry(name, of=tuple(of), likely=likely)


def _is_called_after(cache: str, data: str) -> bool:
    """Whether a cache lies beside its images, or is called after them: `pets-512`."""
    name, other = (one.rstrip("/").rpartition("/")[2].lower() for one in (cache, data))
    return cache == data or (other.isidentifier() and bool(re.match(rf"{other}([-_.]|$)", name)))


def _holds_weights(cache: CacheFolder, name: str, data: Sequence[str]) -> bool:
    if name in data and name != ".":
        return False
    if name == "." or any(map(_WEIGHTS.fullmatch, name.split("/"))):
        return True
    try:
        files = list_cache(cache.path).files
    except OSError:
        return False
    return bool(files) and all(one.lower().endswith(_OF_WEIGHTS) for one in files)


# --- one by one -----------------------------------------------------------------------------------


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
    try:
        files = list_cache(path).files
    except OSError:
        return frozenset()
    return frozenset(os.path.splitext(os.path.relpath(one, path))[0] for one in files)


def _hold_all(target: CacheFolder, parts: Iterable[CacheFolder]) -> bool:
    """Whether nothing that a look at a folder would meet lies beside the caches in it."""
    try:
        listing = list_cache(target.path)
    except OSError:
        return False
    met = (*listing.files, *listing.left_over, *(path for path, _ in listing.unreadable))
    begin = tuple(os.path.join(one.path, "") for one in parts)
    return all(path.startswith(begin) for path in met)
