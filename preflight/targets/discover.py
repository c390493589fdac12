"""Finds the targets of a run: those that words or the settings name, or what lies around."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple

from preflight.kinds.rooms import kinds_of
from preflight.kinds.target import PathTarget, Target
from preflight.settings.job import DataSettings, Factory, Job
from preflight.targets.few_pictures import may_only_show
from preflight.targets.folders import (
    holds_no_cache,
    holds_parts,
    holds_sounds,
    holds_videos,
    look_around,
    may_be_there,
)
from preflight.targets.one_file import NoneOfKindError, UnknownWordError
from preflight.targets.scripts import divide, read_line, read_script
from preflight.targets.targets import (
    Built,
    CacheFolder,
    CaptionRule,
    Dataset,
    Folder,
    Host,
    Missing,
    Script,
    Shard,
    Source,
)
from preflight.targets.told_once import told_once
from preflight.targets.unread import Unread, unread_in
from preflight.targets.word import built_by, but_unread, folder_in, read_data, read_word, source_of
from preflight.values.code_name import Spec, parse_spec
from preflight.values.names import name_of, path_below

_SPLIT = re.compile(
    r"(?<![a-z])(train|val|test|eval|dev)(?:ing|id|idation|uation)?(?![a-z])"
).search


class Discovered(NamedTuple):
    """The targets, and what each word was taken for."""

    targets: tuple[Target, ...]
    """Each once, however many words name it."""

    pairs: tuple[tuple[str, Target], ...]
    """Each word with each target that it names."""

    apart: tuple[Target, ...] = ()
    """What nobody names: what belongs together as data, by entries of the settings, by words or by
    folders; and this machine, where the job runs on another one."""

    unread: tuple[Unread, ...] = ()
    """What lies in each folder that was named, or around, and that no reader reads."""

    may_only_show: tuple[Folder, ...] = ()
    """Pictures beside code that nobody named, and of which nothing says that they are data."""

    @property
    def datasets(self) -> tuple[Dataset, ...]:
        """What belongs together as data."""
        return tuple(one for one in self.apart if isinstance(one, Dataset))


def discover(words: Iterable[str], job: Job, folder: str) -> Discovered:
    """Find the targets that words name; with no word, those of the settings, or what lies around.

    Raises:
        UnknownWordError: a word that fits no rule, or names nothing.
    """
    words, of_script = divide(tuple(words))
    pairs: list[tuple[str, Target]] = []
    datasets: list[Dataset] = []
    if of_script:
        script = read_script(of_script, folder, job.python)
        pairs.append((script.name_in(folder), script))
    if words or of_script:
        for word in words:
            found = read_word(word, folder, python=job.python)
            pairs += [(word, target) for target in found]
            datasets += _by_folder(word, found, folder)
        datasets = list(_together(datasets, folder))
    elif job.names_targets:
        data_sets = [list(_named_data(job, one, f"data.{at}")) for at, one in enumerate(job.data)]
        datasets += _of_settings(job, data_sets)
        pairs += [pair for named in data_sets for pair in named]
        pairs += from_settings(job)
    else:
        around = look_around(folder)
        pairs += [(_name_around(target, folder), target) for target in around]
        datasets += _by_folder(None, around, folder)
        if not pairs:
            raise UnknownWordError(
                f"nothing to look at was named, and {folder} holds no shards, images, cache files "
                f"or sources{but_unread(folder)}. Name a target:  "
                "preflight run data/ train:make_loader"
            )
    if instead := told_once(target for _, target in pairs):
        pairs = [
            (word, instead.get(target, target) if isinstance(target, CacheFolder) else target)
            for word, target in pairs
        ]
    targets = [target for _, target in pairs]
    targets += dict.fromkeys(_sources_of(targets))
    apart: list[Target] = list(datasets)
    if not any(isinstance(target, Host) for target in targets):
        (apart if job.launch.elsewhere else targets).append(Host(implied=True))
    return Discovered(
        targets=tuple(dict.fromkeys(targets)),
        pairs=tuple(pairs),
        apart=tuple(apart),
        unread=tuple(filter(None, _unread(words, job, folder, targets))),
        may_only_show=() if words or job.names_targets else may_only_show(targets, folder),
    )


def _unread(
    words: tuple[str, ...], job: Job, folder: str, targets: Iterable[Target]
) -> Iterator[Unread]:
    """Count in each folder that was named, and lies in no other one; or in what is around."""
    named = [(place, "=" not in word) for word in words for place in folder_in(word, folder)]
    if not words:
        paths = [one.path for one in job.data if one.path is not None]
        paths += [one.path for one in job.cache]
        named = [(os.path.join(job.root, one), False) for one in paths]
        if not (job.data or job.cache or job.loader or job.model or job.script):
            named = [(folder, True)]
    met: list[str] = []
    for place, of_any_kind in sorted((os.path.normpath(path), kind) for path, kind in named):
        if not any(os.path.join(place, "").startswith(os.path.join(one, "")) for one in met):
            met.append(place)
            yield unread_in(place, targets, job.root, of_any_kind=of_any_kind)


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


def _of_settings(job: Job, data_sets: list[list[tuple[str, Target]]]) -> Iterator[Dataset]:
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


def _by_folder(word: str | None, targets: Iterable[Target], root: str) -> Iterator[Dataset]:
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


def _together(datasets: Iterable[Dataset], root: str) -> Iterator[Dataset]:
    """Take shards that a word each names for one data set, as a pattern of them would be.

    Those of another folder are another one, and so are those of another split.
    """
    alone: dict[tuple[str, str], list[str]] = {}
    for one in datasets:
        if len(one.shards) != 1 or one.more:
            yield one
            continue
        place, name = os.path.split(one.shards[0])
        split = _SPLIT(name.lower())
        alone.setdefault((place, split[1] if split else ""), []).append(one.shards[0])
    for (place, _), paths in alone.items():
        shards = tuple(dict.fromkeys(paths))
        name = name_of(place if len(shards) > 1 else shards[0], root)
        yield Dataset(name=name, shards=shards)


def _sources_of(targets: Iterable[Target]) -> Iterator[Source]:
    """Give the files that hold the loaders and models, since what they read at start-up counts.

    A script that is run is read as if it was named to be read, too.
    """
    for target in targets:
        if isinstance(target, Built) and (spec := parse_spec(target.spec)) is not None:
            path = source_of(spec, target.folder or "")
            if path is not None:
                yield Source(path=path, implied=True)
        elif isinstance(target, Script):
            named = Spec(file=target.path, module=target.module, name="")
            path = source_of(named, target.folder or "")
            if path is not None:
                yield Source(path=path)


def _name_around(target: Target, root: str) -> str:
    if isinstance(target, PathTarget) and any(row.each_file for row in kinds_of(type(target))):
        return name_of(os.path.dirname(target.path), root)
    return target.name_in(root)


# --- settings -------------------------------------------------------------------------------------


def from_settings(job: Job) -> Iterator[tuple[str, Target]]:
    """Give the targets that the settings name beside data, each with the name of its entry."""
    for index, cache in enumerate(job.cache):
        path = path_below(job.root, cache.path)
        name = cache.name or cache.path
        absent = _placed(Missing(path=path, kind="cache"), job, f"cache.{index}.path")
        if not may_be_there(path):
            is_to_be = cache.is_written and not os.path.lexists(path)
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
    for kind, factories in (("loader", job.loader), ("model", job.model)):
        for factory in factories:
            yield factory.name or factory.call, _factory(job, kind, factory)
    for index, source in enumerate(job.source):
        path = path_below(job.root, source.path)
        missing = _placed(Missing(path=path, kind="source"), job, f"source.{index}.path")
        yield source.path, Source(path=path) if may_be_there(path) else missing
    for index, script in enumerate(job.script):
        try:
            yield (
                script.name or script.run,
                replace(read_line(script.run, job.root, job.python), name=script.name),
            )
        except UnknownWordError as error:
            raise UnknownWordError(_said_at(job, f"script.{index}.run", str(error))) from error


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
    )


def _named_data(job: Job, data: DataSettings, key: str) -> Iterator[tuple[str, Target]]:
    captions = captions_of(data)
    for field, value in (("path", data.path), ("shards", data.shards)):
        if value is None:
            continue
        name = data.name or value
        try:
            for target in read_data(value, job.root, captions):
                if isinstance(target, Missing):
                    target = _placed(target, job, f"{key}.{field}")  # noqa: PLW2901
                yield name, target
        except NoneOfKindError as error:
            raise NoneOfKindError(_said_at(job, f"{key}.{field}", str(error))) from error
        except UnknownWordError as error:
            path = os.path.join(job.root, value)
            if os.path.isdir(path) and (holds_videos(path) or holds_sounds(path)):
                # They are not read, but the cache that was made of them can be judged.
                yield name, Folder(path=path, captions=captions)
                continue
            holds = "holds no image and no shard" if os.path.isdir(path) else None
            if holds is None and os.path.lexists(path):
                holds = str(error)
            absent = Missing(path=path, kind="data", holds=holds)
            yield name, _placed(absent, job, f"{key}.{field}")


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
