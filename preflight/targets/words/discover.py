"""Finds the targets of a run: those that words or the settings name, or what lies around."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

from preflight.kinds.rooms import kinds_of
from preflight.kinds.target import PathTarget, Target
from preflight.settings.job import Job
from preflight.targets.caches_apart import apart
from preflight.targets.few_pictures import may_only_show
from preflight.targets.folders import (
    look_around,
)
from preflight.targets.looked_at_once import told_once
from preflight.targets.one_file import UnknownWordError
from preflight.targets.targets import (
    Built,
    CacheFolder,
    Dataset,
    Folder,
    Host,
    Script,
    Shard,
    Source,
)
from preflight.targets.unread import UnreadFolder, unread_in
from preflight.targets.weights_around import weights_around
from preflight.targets.words.code_words import source_of
from preflight.targets.words.data_files import NO_FILES, DataFiles, absent_in, beside
from preflight.targets.words.grouping import by_folder, of_settings, together
from preflight.targets.words.in_settings import (
    as_cache_if_empty,
    as_settings_say,
    entries_by_place,
    from_settings,
    named_caches,
    named_data,
)
from preflight.targets.words.of_entries import as_entries
from preflight.targets.words.passed_over import passed_over
from preflight.targets.words.path_words import but_unread
from preflight.targets.words.scripts import divide, read_script
from preflight.targets.words.word import folder_in, read_word
from preflight.values.code_name import Spec, parse_spec
from preflight.values.names import first_of, name_of

Doubtful: TypeAlias = "Folder | CacheFolder"
"""Few pictures beside code, or a folder of weights."""


class Discovered(NamedTuple):
    """The targets, and what each word was taken for."""

    targets: tuple[Target, ...]
    """Each once, however many words name it."""

    pairs: tuple[tuple[str, Target], ...]
    """Each word with each target that it names."""

    apart: tuple[Target, ...] = ()
    """What nobody names: what belongs together as data, by entries of the settings, by words or by
    folders; and this machine, where the job runs on another one."""

    unread: tuple[UnreadFolder, ...] = ()
    """What lies in each folder that was named, or around, and that no reader reads."""

    is_part: bool = False
    """Whether a trainer's file names data of the job that nobody looks at."""

    doubtful: tuple[Doubtful, ...] = ()
    """What nobody named, and of which nothing says that a job trains on it."""

    @property
    def datasets(self) -> tuple[Dataset, ...]:
        """What belongs together as data."""
        return tuple(one for one in self.apart if isinstance(one, Dataset))


def discover(
    words: Iterable[str], job: Job, folder: str, named: DataFiles = NO_FILES
) -> Discovered:
    """Find the targets that words name; with no word, those of the settings, or what lies around.

    What files of trainers name is among the settings already.

    Raises:
        UnknownWordError: a word that fits no rule, or names nothing.
    """
    words, of_script = divide(tuple(words))
    if words or of_script:
        some = _of_words(words, of_script, job, folder, named)
    elif job.names_targets or any(one.absent or one.data for one in named.files):
        some = _of_settings(job, folder, named)
    else:
        some = _of_around(folder)
    pairs, datasets, doubtful, left = some
    if instead := told_once(target for _, target in pairs):
        pairs = [
            (word, instead.get(target, target) if isinstance(target, CacheFolder) else target)
            for word, target in pairs
        ]
    targets = [target for _, target in pairs]
    if not (words or of_script or job.names_targets):
        doubtful = of_no_use_alone(targets, folder)
    targets += dict.fromkeys(_sources_of(targets))
    apart: list[Target] = list(datasets)
    if not any(isinstance(target, Host) for target in targets):
        (apart if job.launch.elsewhere else targets).append(Host(implied=True))
    unread = list(_unread(words, job, folder, (*targets, *left), is_run=bool(of_script)))
    unread += [passed_over(left, folder, job.root)]
    return Discovered(
        targets=tuple(dict.fromkeys(targets)),
        pairs=tuple(pairs),
        apart=tuple(apart),
        unread=tuple(filter(None, unread)),
        doubtful=doubtful,
        is_part=any(one.is_part for one in named.files),
    )


class _Some(NamedTuple):
    """What was found by words, by settings, or around."""

    pairs: list[tuple[str, Target]]
    datasets: list[Dataset]
    doubtful: tuple[Doubtful, ...] = ()
    left: tuple[Target, ...] = ()
    """What lies around, and settings that name sources alone leave out."""


def _of_words(
    words: tuple[str, ...], of_script: tuple[str, ...], job: Job, folder: str, named: DataFiles
) -> _Some:
    pairs: list[tuple[str, Target]] = []
    by_word: list[tuple[str, Dataset]] = []
    if of_script:
        script = read_script(of_script, folder, job.python)
        pairs.append((script.name_in(folder), script))
    entries = entries_by_place(job)
    for word in (one for one in words if one not in named.words):
        said = as_cache_if_empty(word, job, folder)
        read = read_word(said, folder, python=job.python)
        found = tuple(as_settings_say(one, entries) for one in read)
        pairs += [(word, target) for target in found]
        by_word += ((word, one) for one in by_folder(word, found, folder))
    pairs, datasets = as_entries(pairs, by_word, job, folder)
    datasets = list(together(datasets, folder))
    if named.words:
        new = _data_of(job, named.data)
        datasets += new.datasets
        pairs += [*new.pairs, *named_caches(job, named.cache), *absent_in(named, job.root)]
        if not pairs:
            said = f"{first_of([*named.words], len(named.words))} names nothing that lies here"
            raise UnknownWordError(" ".join([f"{said}.", *named.remarks]))
    return _Some(pairs, datasets)


def _of_settings(job: Job, folder: str, named: DataFiles) -> _Some:
    pairs, datasets, _, _ = _data_of(job)
    pairs += [*from_settings(job), *absent_in(named, job.root)]
    doubtful: tuple[Doubtful, ...] = ()
    left: tuple[Target, ...] = ()
    if named.are_around:
        rest = tuple(
            beside(_around(folder), [target for _, target in pairs], named.unused(job.root))
        )
        doubtful = of_no_use_alone(rest, folder)
        pairs += [(_name_around(one, folder), one) for one in rest]
        datasets += by_folder(None, rest, folder)
    elif not job.names_more_than_sources:
        around = tuple(_around(folder))
        doubtful = of_no_use_alone(around, folder)
        left = tuple(one for one in around if one not in doubtful and not isinstance(one, Source))
        pairs += [(_name_around(one, folder), one) for one in doubtful]
        datasets += by_folder(None, doubtful, folder)
    return _Some(pairs, datasets, doubtful, left)


def of_no_use_alone(targets: Sequence[Target], folder: str) -> tuple[Doubtful, ...]:
    """Give what lies around and is looked at, but makes no GO where there is nothing else."""
    return (*may_only_show(targets, folder), *weights_around(targets))


def _of_around(folder: str) -> _Some:
    around = tuple(_around(folder))
    pairs = [(_name_around(target, folder), target) for target in around]
    if not pairs:
        raise UnknownWordError(
            f"nothing to look at was named, and {folder} holds no shards, images, cache files "
            f"or sources{but_unread(folder)}. Name a target:  "
            "preflight run data/ train:make_loader"
        )
    return _Some(pairs, [*by_folder(None, around, folder)])


def _data_of(job: Job, first: int = 0) -> _Some:
    """Give what the settings name as data, from one of their entries on."""
    every = [
        list(named_data(job, one, f"data.{at}")) if at >= first else []
        for at, one in enumerate(job.data)
    ]
    return _Some([pair for those in every for pair in those], [*of_settings(job, every)])


def _around(folder: str) -> Iterator[Target]:
    """Give what lies in a folder, each cache by itself."""
    found = look_around(folder)
    caches = apart(found)
    for one in found:
        parts = caches.get(one) if isinstance(one, CacheFolder) else None
        if parts is None or parts.beside:
            yield one
        yield from parts.caches if parts is not None else ()


def _unread(
    words: tuple[str, ...], job: Job, folder: str, targets: Iterable[Target], *, is_run: bool
) -> Iterator[UnreadFolder]:
    """Count in each folder that was named, and lies in no other one; or in what is around.

    Of that, nobody has taken anything for data where a script `is_run`. Settings that name files of
    the job's own folder stand for what is around, as `init` does it.
    """
    named = [(place, "=" not in word) for word in words for place in folder_in(word, folder)]
    if not words:
        paths = [one.path for one in job.data if one.path is not None]
        paths += [one.path for one in job.cache]
        paths += [one.path for one in job.source]
        files = (one for one in targets if isinstance(one, (Shard, Folder, CacheFolder)))
        paths += [""] if any(_lies_in(one.path, job.root) for one in files) else []
        named = [(os.path.join(job.root, one), False) for one in paths]
        if not job.names_more_than_sources:
            named = [(folder, not is_run)]
    met: list[str] = []
    for place, of_any_kind in sorted((os.path.normpath(path), kind) for path, kind in named):
        if not any(_lies_in(place, one) for one in met):
            met.append(place)
            yield unread_in(place, targets, job.root, of_any_kind=of_any_kind)


def _lies_in(path: str, folder: str) -> bool:
    below = os.path.join(os.path.normpath(folder), "")
    return os.path.join(os.path.normpath(path), "").startswith(below)


def _sources_of(targets: Iterable[Target]) -> Iterator[Source]:
    """Give the files that hold the loaders and models, since what they read at start-up counts.

    A script that is run is read as if it was named to be read, too.
    """
    holds: dict[str, list[str]] = {}
    for target in targets:
        if isinstance(target, Built) and (spec := parse_spec(target.spec)) is not None:
            path = source_of(spec, target.folder or "")
            if path is not None:
                holds.setdefault(path, []).append(spec.name)
        elif isinstance(target, Script):
            named = Spec(file=target.path, module=target.module, name="")
            path = source_of(named, target.folder or "")
            if path is not None:
                yield Source(path=path, words=target.args)
    for path, names in holds.items():
        yield Source(path=path, implied=True, holds=tuple(names))


def _name_around(target: Target, root: str) -> str:
    if isinstance(target, PathTarget) and any(row.each_file for row in kinds_of(type(target))):
        return name_of(os.path.dirname(target.path), root)
    return target.name_in(root)
