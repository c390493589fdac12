"""Takes what trainers' own files name for settings of the job: data sets, caches, what is gone."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from preflight.cached_files.cache_listing import list_cache
from preflight.formats.suffixes.images import is_image
from preflight.kinds.target import PathTarget, Target
from preflight.settings.job import CacheSettings, DataSettings, Job
from preflight.targets.folders import look_around
from preflight.targets.near_paths import near_path
from preflight.targets.targets import CacheFolder, CaptionRule, Folder, Missing, Shard
from preflight.targets.words.scripts import divide
from preflight.trainers.around import file_at, look_for_files
from preflight.trainers.data_file import DataFile
from preflight.values.names import first_of, name_of, path_below


@dataclass(frozen=True, slots=True, kw_only=True)
class DataFiles:
    """The files that were read for a run, and what the job's settings have of them."""

    files: tuple[DataFile, ...] = ()
    words: frozenset[str] = frozenset()
    """Those of the command line that named them; empty: they lie around."""

    data: int = 0
    """Their first data set among those of the job."""

    cache: int = 0
    """Their first cache."""

    remarks: tuple[str, ...] = ()
    """What a page says of files that were not read, and of what is not looked at."""

    def unused(self, root: str) -> list[str]:
        """Give the folders that they name, and that the job does not use."""
        return [path_below(root, path) for one in self.files for path in one.unused]

    @property
    def are_around(self) -> bool:
        """Whether nobody named them."""
        return bool(self.files) and not self.words


NO_FILES = DataFiles()


def with_data_files(words: Iterable[str], job: Job, folder: str) -> tuple[Job, DataFiles]:
    """Add to a job what the files of trainers name, by words or around, as started in a folder.

    Where the settings name what there is to look at, no file is looked for.
    """
    is_root = os.path.realpath(folder) == os.path.realpath(job.root)

    def place(value: str) -> str:
        return value if is_root else os.path.join(folder, value)

    plain, of_script = divide(tuple(words))
    remarks: tuple[str, ...] = ()
    named: dict[str, DataFile] = {}
    if plain or of_script:
        read = ((word, file_at(os.path.join(folder, word), place, folder)) for word in plain)
        named = {word: one for word, one in read if one is not None}
        files = tuple({one.path: one for one in named.values()}.values())
    elif job.names_more_than_sources:
        files = ()
    else:
        files, remarks = look_for_files(folder, place)
    first = DataFiles(
        files=files,
        words=frozenset(named),
        data=len(job.data),
        cache=len(job.cache),
        remarks=(*remarks, *_not_looked_at(files, job)),
    )
    return _merged(job, files), first


def _not_looked_at(files: Iterable[DataFile], job: Job) -> Iterator[str]:
    for one in files:
        if one.left:
            name = name_of(one.path, job.root)
            yield f"Not looked at, of {name}: {first_of(one.left, len(one.left), most=8)}."


def _merged(job: Job, files: tuple[DataFile, ...]) -> Job:
    data, cache = list(job.data), list(job.cache)
    origins, spelled = dict(job.origins), dict(job.spelled)
    for file in files:
        shown = name_of(file.path, job.root)
        for table, those, into in (("data", file.data, data), ("cache", file.cache, cache)):
            for one in those:
                if isinstance(one.settings, CacheSettings) and _is_to_be(one.settings, file, job):
                    continue
                if _is_no_folder(one.settings, job.root):
                    continue
                key = f"{table}.{len(into)}"
                into.append(one.settings)  # type: ignore[arg-type]  # each has its own
                origins |= {f"{key}.{name}": f"{shown}:{line}" for name, line in one.lines.items()}
                spelled |= {f"{key}.{name}": said for name, said in one.spelled.items()}
        if file.named_in is not None:
            origins["data_files"] = f"{name_of(file.named_in, job.root)}:{file.named_at}"
    return replace(
        job,
        data=tuple(data),
        cache=tuple(cache),
        data_files=tuple(name_of(one.path, job.root) for one in files),
        origins=origins,
        spelled=spelled,
    )


def _is_to_be(cache: CacheSettings, file: DataFile, job: Job) -> bool:
    """Whether a cache is not there yet, as before a first run, and no name says that it should."""
    path = path_below(job.root, cache.path)
    if os.path.lexists(path):
        return False
    others = {os.path.basename(os.path.normpath(one.settings.path or "")) for one in file.cache}
    near = near_path(path)
    return near is None or near in others


def _is_no_folder(one: DataSettings | CacheSettings, root: str) -> bool:
    """Whether a data set is a file: the trainers read folders, and take this one for empty."""
    return isinstance(one, DataSettings) and os.path.isfile(path_below(root, one.path or "."))


def absent_in(named: DataFiles, root: str) -> Iterator[tuple[str, Missing]]:
    """Give what the files name, or are themselves, and without which no trainer starts."""
    for file in named.files:
        for one in file.absent:
            by = None if one.file is None else name_of(one.file, root)
            absent = Missing(path=one.path, kind="data", holds=one.holds)
            yield name_of(file.path, root), replace(absent, named_in=by, named_at=one.line)
        for entry in (one for one in file.data if _is_no_folder(one.settings, root)):
            path = path_below(root, entry.settings.path or ".")
            absent = Missing(path=path, kind="data", holds="is a file, and no folder")
            by, line = name_of(file.path, root), entry.lines.get("path")
            yield name_of(path, root), replace(absent, named_in=by, named_at=line)


def beside(
    around: Iterable[Target], named: Iterable[Target], unused: Iterable[str] = ()
) -> Iterator[Target]:
    """Leave out of what lies around what is named: by itself, above or below, or of a cache.

    Of a folder of images in which some are named, its other folders are given, but for those that
    the job does not use.
    """
    paths: dict[type, set[str]] = {Folder: set(map(_whole, unused)), CacheFolder: set()}
    for one in named:
        if isinstance(one, (Folder, CacheFolder)):
            paths[type(one)].add(_whole(one.path))
    for one in around:
        if not isinstance(one, PathTarget):
            yield one
            continue
        path = _whole(one.path)
        of_data = isinstance(one, (Folder, Shard))
        those = paths[Folder] if of_data else paths.get(type(one), set())
        below = [other for other in those if other.startswith(path)]
        if any(path.startswith(other) for other in those):
            continue
        if not below or (not of_data and _holds_more(one.path, below)):
            yield one
        elif isinstance(one, Folder):
            yield from _others_in(one.path, below)


def _others_in(folder: str, named: list[str]) -> Iterator[Target]:
    """Give its own images, and the folders in it that hold some, and none of which is named."""
    try:
        with os.scandir(folder) as listed:
            those = [one for one in listed if not one.name.startswith(".")]
            places = sorted(one.path for one in those if one.is_dir(follow_symlinks=False))
    except OSError:
        return  # the look around has said so
    if any(is_image(one.name) for one in those if one.path not in places):
        yield Folder(path=folder, captions=CaptionRule(subfolders=False))
    for place in places:
        below = [one for one in named if one.startswith(_whole(place))]
        if not below:
            yield from (one for one in look_around(place, whole=True) if isinstance(one, Folder))
        elif _whole(place) not in below:
            yield from _others_in(place, below)


def _holds_more(cache: str, below: list[str]) -> bool:
    """Whether some cached files lie in none of the caches below."""
    try:
        folders = {os.path.dirname(one) for one in list_cache(cache).files}
    except OSError:
        return True
    return any(not _whole(one).startswith(tuple(below)) for one in folders)


def _whole(path: str) -> str:
    return os.path.join(os.path.realpath(path), "")
