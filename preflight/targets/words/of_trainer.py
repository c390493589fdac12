"""Gives what a trainer's own file names, and what lies beside it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import replace

from preflight.kinds.target import Target
from preflight.settings.job import Job
from preflight.targets.folders import folders_of_images, walk
from preflight.targets.targets import CacheFolder, Dataset, Folder, Shard
from preflight.targets.words.grouping import of_settings
from preflight.targets.words.in_settings import from_settings, named_data

Pairs = list[tuple[str, Target]]

_TAKEN = (Folder, Shard, CacheFolder)


def named_by(job: Job) -> tuple[Pairs, list[Dataset]]:
    """Give what the entries of a job name, each with its name, and the data sets of them."""
    data_sets = [list(named_data(job, one, f"data.{at}")) for at, one in enumerate(job.data)]
    pairs = [pair for named in data_sets for pair in named]
    return [*pairs, *from_settings(job)], list(of_settings(job, data_sets))


def is_of_trainer(word: str, job: Job, folder: str) -> bool:
    """Whether a word is the trainer's file that names the job's data."""
    named = os.path.normpath(os.path.join(folder, word.rpartition("=")[2]))
    file = job.trainer.file if job.trainer is not None else None
    return file is not None and named == os.path.normpath(os.path.join(folder, file))


def beside(around: Iterable[Target], named: Sequence[Target]) -> tuple[list[Target], list[Target]]:
    """Divide what lies around into what is no data, and data that the trainer does not take.

    What is named is in neither.
    """
    paths = [os.path.realpath(one.path) for one in named if isinstance(one, _TAKEN)]
    kept: list[Target] = []
    left: list[Target] = []
    for one in around:
        if not isinstance(one, _TAKEN):
            kept.append(one)
        elif isinstance(one, Shard):
            left += [] if _lies_in(one.path, paths) else [one]
        elif not _holds_one(one.path, paths):
            (kept if isinstance(one, CacheFolder) else left).append(one)
        elif isinstance(one, Folder):
            parts = folders_of_images(one.path)
            left += [replace(one, path=part) for part in parts if not _lies_in(part, paths)]
        elif any(listed.names and not _lies_in(at, paths) for at, listed in walk(one.path)):
            kept.append(one)
    return kept, left


def _holds_one(folder: str, paths: Iterable[str]) -> bool:
    """Whether a path is that of a folder, or lies in it, or holds it."""
    inside = os.path.join(os.path.realpath(folder), "")
    return any(os.path.join(one, "").startswith(inside) for one in paths) or _lies_in(folder, paths)


def _lies_in(path: str, paths: Iterable[str]) -> bool:
    real = os.path.join(os.path.realpath(path), "")
    return any(real.startswith(os.path.join(one, "")) for one in paths)
