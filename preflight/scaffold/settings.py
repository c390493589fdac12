"""Looks around a folder and writes preflight.toml; sources are read, and nothing is imported."""

from __future__ import annotations

import json
import os
import re
import textwrap
from collections.abc import Iterator

from preflight.kinds.target import Target
from preflight.settings.toml_file import FILE, SettingsError
from preflight.sources.factories import factories_in, worth_offering
from preflight.targets.folders import look_around
from preflight.targets.targets import CacheFolder, Folder, Shard
from preflight.values.names import name_of

_HEAD = """\
# What `preflight run` looks at, in this folder. Every line is a guess made by looking around:
# take out what is no part of the job, and add what is missing.

[launch]
# gpus = 8                 # GPUs that the job needs on this machine
# vram = "80GB"            # free memory that it needs on each of them
# world_size = 8           # ranks in all
# batch_size = 32          # samples in a batch of each rank
# num_workers = 4          # workers of each DataLoader
# start_method = "spawn"   # where the platform's own is not meant
"""

# A number stands directly before the ending; braces, stars and colons have a meaning in a range.
_NUMBERED = re.compile(r"([^{}\[\]*?:]*?)(\d{1,18})(\.(?:tar|tgz)[.a-z0-9]*)", re.IGNORECASE)

_MOST_RANGES = 8

# Shards of a range of which one may be missing.
_TELLING = 8

# Folders of one folder that are taken for a cache each.
_MOST_CACHES = 8


def write(folder: str, *, force: bool) -> str:
    """Write the settings file, and give a sentence on what stands in it.

    Raises:
        SettingsError: there is one already, or it cannot be written.
    """
    path = os.path.join(folder, FILE)
    if os.path.exists(path) and not force:
        raise SettingsError([f"{FILE} is there already; --force writes over it"])
    targets = look_around(folder)
    data = tuple(_data(targets, folder))
    tables = (_table("data", remark=remark, **{key: said}) for key, said, remark in data)
    caches = _caches(targets, folder, tuple(said for _, said, _ in data))
    text = "\n".join([_HEAD, *tables, *caches, *_made_in(folder)])
    try:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise SettingsError([f"{FILE} cannot be written: {error.strerror}"]) from error
    return f"Wrote {FILE}. Read it through, then:  preflight run"


def _data(targets: tuple[Target, ...], folder: str) -> Iterator[tuple[str, str, str | None]]:
    """Give each data set: under which key it is named, how, and a remark."""
    shards: dict[str, list[str]] = {}
    for target in targets:
        if isinstance(target, Shard):
            place, name = os.path.split(target.path)
            shards.setdefault(place, []).append(name)
        elif isinstance(target, Folder):
            yield "path", name_of(target.path, folder), None
    for place, names in shards.items():
        for pattern, remark in _ranges(names) or [_wildcard(names)]:
            below = "/".join(part for part in (name_of(place, folder), pattern) if part != ".")
            yield "shards", below, remark


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


def _wildcard(names: list[str]) -> tuple[str, str]:
    """Write shards as a pattern with a star, which takes in as little else as it can."""
    suffixes = {name[name.lower().rindex(".t") :] for name in names}
    return f"*{suffixes.pop() if len(suffixes) == 1 else '.tar*'}", f"{len(names):,} here now"


def _are_bare(numbers: list[str]) -> bool:
    """Whether no number is filled up with zeros."""
    return all(number == str(int(number)) for number in numbers)


def _caches(targets: tuple[Target, ...], folder: str, data: tuple[str, ...]) -> Iterator[str]:
    of_data = {
        entry.name
        for target in targets
        if isinstance(target, Folder)
        for entry in os.scandir(target.path)
        if entry.is_dir()
    }
    for target in targets:
        if isinstance(target, CacheFolder):
            for one in _apart(target, of_data):
                table = _table("cache", path=name_of(one.path, folder))
                if one.checkpoint:
                    table += "checkpoints = true  # states of a run, or one model in pieces\n"
                elif data:
                    here = name_of(one.path, folder)
                    of = (here,) if here in data else data  # beside its images, as kohya's
                    named = json.dumps(list(of), ensure_ascii=False)
                    table += _OF.format("# " if len(of) > 1 else "", named)
                yield table


# One data set is what a cache was made of; of several, somebody has to say it.
_OF = """\
# What it was made of, so that entries that are missing or old are told:
{}of = {}
# key = "md5(caption)"     # how entries are named after samples; the usual ways are tried
"""


def _apart(target: CacheFolder, of_data: set[str]) -> tuple[CacheFolder, ...]:
    """Take a folder of a few caches for those: `cache/vae` and `cache/text`.

    Folders that are called as those of the data hold one cache, in a tree like theirs.
    """
    inner = tuple(one for one in look_around(target.path) if isinstance(one, CacheFolder))
    names = {os.path.basename(one.path) for one in inner}
    few = 1 < len(inner) <= _MOST_CACHES and all(one.path != target.path for one in inner)
    return inner if few and not target.checkpoint and names.isdisjoint(of_data) else (target,)


def _table(kind: str, *, remark: str | None = None, **keys: str) -> str:
    """Write one entry; a JSON string is a TOML string too."""
    after = f"  # {remark}" if remark else ""
    lines = [
        f"{key} = {json.dumps(value, ensure_ascii=False)}{after}" for key, value in keys.items()
    ]
    return "\n".join([f"[[{kind}]]", *lines, ""])


def _made_in(folder: str) -> Iterator[str]:
    """Write an entry for each function that gives a loader or a model, by what it returns."""
    for one in worth_offering(factories_in(folder)):
        entry = _table(one.kind, call=one.call)
        needs = "".join(f"# kwargs.{name} = ...\n" for name in one.needs)
        yield textwrap.indent(entry, "# ") + needs if needs else entry
