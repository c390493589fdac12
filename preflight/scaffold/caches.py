"""Says in the words of preflight.toml which caches and checkpoints lie around, each by itself."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from preflight.cached_files.cache_listing import list_cache
from preflight.kinds.target import Target
from preflight.scaffold.fits import led_to
from preflight.scaffold.toml_entries import spelled, table, texts
from preflight.settings.job import CacheSettings, DataSettings
from preflight.targets.caches_apart import apart
from preflight.targets.targets import CacheFolder

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
    for cache, parts in apart(targets).items():
        if parts.beside:
            yield _Entry(spelled(cache.path, folder), remark="what lies beside")
        for one in parts.caches:
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
