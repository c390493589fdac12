"""Gives the targets that the settings name."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import replace

from preflight.formats.suffixes.recordings import is_sound, is_video
from preflight.kinds.target import Target
from preflight.settings.job import DataSettings, Factory, Job
from preflight.targets.folders import (
    folders_of_images,
    holds_parts,
    holds_some,
    look_around,
    may_be_there,
)
from preflight.targets.near_paths import near_path
from preflight.targets.one_file import NoneOfKindError, UnknownWordError, source_at
from preflight.targets.targets import (
    Built,
    CacheFolder,
    CaptionRule,
    Folder,
    Missing,
    Shard,
    Source,
)
from preflight.targets.words.code_words import built_by
from preflight.targets.words.patterns import read_data
from preflight.targets.words.scripts import read_line
from preflight.targets.words.unfilled import holds_no_cache, holds_nothing
from preflight.values.code_name import parse_spec
from preflight.values.names import path_below

_BELOW = "holds no image itself, and what lies in the folders below it is not read"


def from_settings(job: Job) -> Iterator[tuple[str, Target]]:
    """Give the targets that the settings name beside data, each with the name of its entry."""
    yield from named_caches(job)
    for kind, factories in (("loader", job.loader), ("model", job.model)):
        for factory in factories:
            yield factory.name or factory.call, _factory(job, kind, factory)
    for index, source in enumerate(job.source):
        yield source.path, _source(job, source.path, f"source.{index}.path")
    for index, script in enumerate(job.script):
        try:
            yield (
                script.name or script.run,
                replace(read_line(script.run, job.root, job.python), name=script.name),
            )
        except UnknownWordError as error:
            raise UnknownWordError(_said_at(job, f"script.{index}.run", str(error))) from error


def named_caches(job: Job, first: int = 0) -> Iterator[tuple[str, Target]]:
    """Give the caches that the settings name, from one of their entries on."""
    for index, cache in enumerate(job.cache):
        if index < first:
            continue
        path = path_below(job.root, cache.path)
        name = cache.name or cache.path
        absent = _placed(Missing(path=path, kind="cache"), job, f"cache.{index}.path")
        if not may_be_there(path):
            # Of the work of filling it; beside one of nearly that name, it may be misspelled.
            is_divided = cache.split is not None and near_path(path) is None
            is_to_be = (cache.is_written or is_divided) and not os.path.lexists(path)
            to_be = CacheFolder(path=path, entry=index, is_to_be=True)
            yield name, to_be if is_to_be else absent
        else:
            empty = holds_no_cache(path)
            if empty is not None and os.path.isfile(path):
                said = f"cache={cache.path} {empty}"
                raise NoneOfKindError(_said_at(job, f"cache.{index}.path", said))
            there = CacheFolder(
                path=path, entry=index, checkpoint=cache.checkpoints or holds_parts(path)
            )
            is_one = empty is None or _may_be_filled(path, job)
            yield name, there if is_one else replace(absent, holds=empty)


def as_cache_if_empty(word: str, job: Job, folder: str) -> str:
    """Write a word as that of a cache where its folder is empty and settings name it as one."""
    path = os.path.join(folder, word)
    if not (job.cache and os.path.isdir(path) and holds_nothing(path)):
        return word
    caches = {os.path.realpath(path_below(job.root, one.path)) for one in job.cache}
    return f"cache={word}" if os.path.realpath(path) in caches else word


def _source(job: Job, named: str, key: str) -> Source | Missing:
    path = path_below(job.root, named)
    if not may_be_there(path):
        return _placed(Missing(path=path, kind="source"), job, key)
    if os.path.isdir(path):
        return Source(path=path)  # without a source in it, nothing of it counts as looked at
    try:
        return source_at(path, named)
    except NoneOfKindError as error:
        raise NoneOfKindError(_said_at(job, key, str(error))) from error


def _may_be_filled(path: str, job: Job) -> bool:
    """Whether this is a folder in which the job may still put its entries.

    Nothing else is in it, or the images beside which some trainers put them.
    """
    if not os.path.isdir(path):
        return False
    if not any(isinstance(one, (Shard, Folder, Source)) for one in look_around(path, whole=True)):
        return True
    data = [os.path.join(job.root, one.path) for one in job.data if one.path is not None]
    return any(os.path.realpath(path) == os.path.realpath(one) for one in data)


def captions_of(data: DataSettings) -> CaptionRule:
    """Give the rule by which captions of a data set are found.

    Whoever names the extension of captions wants them, though they do not say more.
    """
    named = data.captions == "auto" and (data.caption_extension or "").strip(".")
    return CaptionRule(
        rule="textfile" if named else data.captions,
        extension=(data.caption_extension or "").lstrip(".") or None,
        images=tuple(extension.lstrip(".").lower() for extension in data.images),
        subfolders=data.subfolders,
    )


def entries_by_place(job: Job) -> dict[str, DataSettings]:
    """Give each entry for data by the folders and shards that it names."""
    rules = {path_below(job.root, one.path): one for one in job.data if one.path is not None}
    for one in job.data:
        with contextlib.suppress(UnknownWordError):  # it is told where the settings alone count
            every = read_data(one.shards, job.root, CaptionRule()) if one.shards else ()
            rules |= {shard.path: one for shard in every if isinstance(shard, Shard)}
    return {os.path.join(os.path.realpath(at), ""): one for at, one in rules.items()}


def as_settings_say(target: Target, entries: Mapping[str, DataSettings]) -> Target:
    """Give a folder of images or a shard the rule for captions of the entry in which it lies."""
    if not isinstance(target, (Folder, Shard)):
        return target
    path = os.path.join(os.path.realpath(target.path), "")
    above = (path[: at + 1] for at, sign in enumerate(path) if sign == os.sep)
    within = max(entries.keys() & set(above), key=len, default="")
    return replace(target, captions=captions_of(entries[within])) if within else target


def named_data(job: Job, data: DataSettings, key: str) -> Iterator[tuple[str, Target]]:
    """Give what an entry for data names, which stands in the settings under that key."""
    captions = captions_of(data)
    for field, value in (("path", data.path), ("shards", data.shards)):
        if value is None:
            continue
        name = data.name or value
        if not data.subfolders and _lies_below(path_below(job.root, value)):
            absent = Missing(path=path_below(job.root, value), kind="data", holds=_BELOW)
            yield name, _placed(absent, job, f"{key}.{field}")
            continue
        try:
            for target in read_data(value, job.root, captions):
                if isinstance(target, Missing):
                    target = _placed(target, job, f"{key}.{field}")  # noqa: PLW2901
                yield name, target
        except NoneOfKindError as error:
            raise NoneOfKindError(_said_at(job, f"{key}.{field}", str(error))) from error
        except UnknownWordError as error:
            path = os.path.join(job.root, value)
            if os.path.isdir(path) and (holds_some(path, is_video) or holds_some(path, is_sound)):
                # They are not read, but the cache that was made of them can be judged.
                yield name, Folder(path=path, captions=captions)
                continue
            holds = "holds no image and no shard" if os.path.isdir(path) else None
            if holds is None and os.path.lexists(path):
                holds = str(error)
            absent = Missing(path=path, kind="data", holds=holds)
            yield name, _placed(absent, job, f"{key}.{field}")


def _lies_below(folder: str) -> bool:
    """Whether there are images in a folder, and all of them in folders below it."""
    places = [os.path.realpath(one) for one in folders_of_images(folder)]
    return bool(places) and os.path.realpath(folder) not in places


def _said_at(job: Job, key: str, said: str) -> str:
    file, line = job.origin(key)
    at = ":".join(str(one) for one in (file, line) if one is not None)
    return f"{at}: {said}" if at else said


def _placed(missing: Missing, job: Job, key: str) -> Missing:
    file, line = job.origin(key)
    return replace(missing, named_in=file, named_at=line)


def _factory(job: Job, kind: str, factory: Factory) -> Built:
    spec = parse_spec(factory.call)
    if spec is None:
        raise UnknownWordError(f"{kind}.call: {factory.call!r} is no module:name or file.py:name")
    return replace(
        built_by(spec, factory.call, job.root, job.python, kind=kind),
        name=factory.name,
        args=tuple(factory.args),
        kwargs=dict(factory.kwargs),
        pick=factory.pick,
    )
