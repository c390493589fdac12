"""Finds the file in which a trainer keeps what it trains on, and gives what it names to the job."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

from preflight.settings.config_values import toml_reader
from preflight.settings.job import CacheSettings, DataSettings, Job, Trainer
from preflight.targets.folders import folders_of_images
from preflight.trainers import kohya, simpletuner
from preflight.trainers.trainer_entries import TrainerEntry
from preflight.values.names import name_of, path_below
from preflight.values.small_files import OddFileError, read_small

_SUFFIXES = (".toml", ".json")

# Where trainers have it, below the folder that they are started in.
_FOLDERS = ("", "config", "configs")

# Of these the trainer reads none.
_SHOWS = ("example", "sample", "template")

# Of a folder with more files, nobody keeps settings in it.
_MOST_FILES = 1_000

# Bytes; such a file is written by hand.
_LARGEST = 1 << 20

Entry = TypeVar("Entry", DataSettings, CacheSettings)


class DataFile(NamedTuple):
    """What such a file names."""

    path: str
    trainer: Trainer
    data: tuple[TrainerEntry[DataSettings], ...]
    caches: tuple[TrainerEntry[CacheSettings], ...] = ()


def with_trainer(job: Job, words: tuple[str, ...], folder: str) -> tuple[Job, str | None]:
    """Give the job with the data that a trainer's file names: one that is a word, or lies around.

    An argument of a script is a word, too.

    Where settings name data, or words something else, none is looked for; where several lie around,
    nobody knows which is meant, and a sentence says so.
    """
    for word in words:
        value = word.rpartition("=")[2]  # `data=dataset.toml`, or an option of a script
        is_one = value.lower().endswith(_SUFFIXES)
        found = read(os.path.join(folder, value), folder) if is_one else None
        if found is not None:
            return _given(job, found, folder), None
    if words or job.data:
        return job, None
    around = list(_around(folder))
    if len(around) > 1:
        names = ", ".join(name_of(one.path, folder) for one in around)
        return (
            job,
            f"{len(around)} files name data of a trainer ({names}): name the one that is used",
        )
    return (_given(job, around[0], folder), None) if around else (job, None)


def read(path: str, folder: str) -> DataFile | None:
    """Read a file as the trainer whose it is; None: it is of none of them."""
    try:
        if os.path.getsize(path) > _LARGEST:
            return None
        content = read_small(path).decode("utf-8-sig")
        tree: Any = (
            json.loads(content) if path.lower().endswith(".json") else toml_reader().loads(content)
        )
    except (OSError, OddFileError, ValueError, RecursionError):
        return None  # of another program, or one that the trainer itself will refuse
    if kohya.is_of_kohya(tree):
        return DataFile(path, kohya.TRAINER, tuple(kohya.data_of(tree, content)))
    if simpletuner.is_of_simpletuner(tree):
        data = tuple(simpletuner.data_of(tree, content))
        caches = tuple(simpletuner.caches_of(tree, content, folder))
        return DataFile(path, simpletuner.TRAINER, data, caches)
    return None


def _around(folder: str) -> Iterator[DataFile]:
    for place in _FOLDERS:
        try:
            with os.scandir(os.path.join(folder, place)) as listed:
                names = sorted(one.name for one in listed)
        except OSError:
            continue
        for name in names if len(names) <= _MOST_FILES else ():
            low = name.lower()
            if low.endswith(_SUFFIXES) and not any(one in low for one in _SHOWS):
                found = read(os.path.join(folder, place, name), folder)
                if found is not None and (found.data or found.caches):
                    yield found


def _given(job: Job, found: DataFile, folder: str) -> Job:
    shown, said = name_of(found.path, folder), {path_below(job.root, one.path) for one in job.cache}
    data = [_placed(one.settings, job, folder) for one in found.data]
    caches = [
        (row.line, one)
        for row in found.caches
        for one in [_placed(row.settings, job, folder)]
        if path_below(job.root, one.path) not in said
    ]
    origins = {key: at for key, at in job.origins.items() if not key.startswith("data")}
    for at, row in enumerate(found.data):
        origins[f"data.{at}.path"] = f"{shown}:{row.line}"
    for at, (line, _) in enumerate(caches, len(job.cache)):
        origins[f"cache.{at}.path"] = f"{shown}:{line}"
    holds = {
        one.path or "": why
        for one, row in zip(data, found.data, strict=True)
        if (why := _holds(row, folder)) is not None
    }
    return replace(
        job,
        data=tuple(data),
        cache=(*job.cache, *(one for _, one in caches)),
        origins=origins,
        trainer=replace(found.trainer, file=shown, holds=holds),
    )


def _placed(entry: Entry, job: Job, folder: str) -> Entry:
    """Name its path from the job's folder, and not from that in which the trainer is started."""
    path = entry.path or ""
    if folder == job.root or "://" in path:
        return entry
    return replace(entry, path=os.path.join(folder, path))


def _holds(row: TrainerEntry[DataSettings], folder: str) -> str | None:
    """Say why a trainer that looks into no folder below finds no image in this one."""
    path = os.path.join(folder, row.settings.path or "")
    if not (row.flat and os.path.isdir(path)):
        return None
    places = [os.path.relpath(one, path) for one in folders_of_images(path)]
    if not places or "." in places:
        return None
    return f"holds no image itself, but in {places[0]}, where the trainer does not look"
