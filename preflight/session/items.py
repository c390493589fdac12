"""Single things that processes are asked about, and the questions that are made of them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from preflight.processes.ask import Batch, Several
from preflight.processes.shares import shares
from preflight.processes.start import Question
from preflight.settings.job import Job
from preflight.targets.targets import Built, Target

if TYPE_CHECKING:
    from preflight.cached_files.facts import CachePiece
    from preflight.findings.judge import Look


@dataclass(slots=True, kw_only=True)
class Item:
    """One thing that a process is asked about."""

    plain: Mapping[str, Any]
    """The target as a process is told of it."""

    target: Target
    name: str
    """As reports name it."""

    kinds: tuple[type, ...]
    """The types of facts that are to be had of it."""

    seconds: float = 0.0
    """How long a process is likely to look at it."""

    size: int = 0
    """Bytes of its file."""

    changed: int = 0
    """When its file was last written, before it was read; in ns since the epoch."""

    code_folder: str | None = None
    """The folder in which the user's code is run for it; None: none is, but for what is built."""

    how: str | None = None
    """How its file is read, where what is seen in it may be remembered."""

    @property
    def is_code(self) -> bool:
        """Whether the user's code is run for it."""
        return isinstance(self.target, Built) or self.code_folder is not None

    @property
    def is_data(self) -> bool:
        """Whether it is one file of many, of which some may be left out where time is short."""
        return self.plain["type"] in _OF_MANY


class Cached(Protocol):
    """A folder of cached files."""

    def part_of(self, places: Sequence[int]) -> CachePart:
        """Ask about the files in these places."""

    def heard(self, part: CachePart, piece: CachePiece) -> Iterator[Look]:
        """Take in what was seen of some files, and say what is to be judged of it."""

    def failed(self, place: int, error: str, fix: str | None) -> Look:
        """Say of a file that it could not be looked at."""


@dataclass(slots=True, kw_only=True)
class CachePart(Item, Several):
    """Some of the files of a cache, of which a process is asked together."""

    whole: Cached
    places: Sequence[int]
    """Of the files in its listing."""

    def part(self, begin: int, end: int | None = None) -> CachePart:
        """Give some of them."""
        return self.whole.part_of(self.places[begin:end])

    def __len__(self) -> int:
        """Count them."""
        return len(self.places)


_OF_MANY = frozenset({"Shard", "Image", "CacheFiles", "CaptionTable", "CacheKeys"})


def stamp_of(path: str) -> tuple[int, int]:
    """Give the bytes of a file and when it was last written, in ns; zeros where nobody knows."""
    try:
        status = os.stat(path)
    except OSError:
        return 0, 0
    return status.st_size, status.st_mtime_ns


def size_of(path: str) -> int:
    """Give the bytes of a file; 0 where that cannot be said."""
    return stamp_of(path)[0]


def about_code(items: Iterable[Item], options: Mapping[str, Any], job: Job) -> Iterator[Batch]:
    """Ask about the user's code: all of one folder in one process."""
    folders: dict[str | None, list[Item]] = {}
    for item in items:
        if isinstance(item.target, Built):
            folders.setdefault(item.target.folder, []).append(item)
        elif item.code_folder is not None:
            folders.setdefault(item.code_folder, []).append(item)
    for folder, those in folders.items():
        question = Question(
            items=tuple(one.plain for one in those),
            options=options,
            python=job.python,
            folder=folder,
            starts_others=True,
        )
        may_be_left = all(one.is_data for one in those)
        yield Batch(question=question, keys=tuple(those), may_be_left=may_be_left)


def about_files(
    items: Iterable[Item],
    options: Mapping[str, Any],
    *,
    total: float,
    jobs: int,
    apart: bool = False,
) -> Iterator[Batch]:
    """Ask about files: as many in one process as take their share of the time.

    Args:
        items: taken one by one, as far as the next question needs them.
        options: what a process is told of the job.
        total: seconds that all of them are likely to take.
        jobs: processes that run at the same time, at most.
        apart: whether what may be left out is asked apart from what may not.
    """
    options = {**options, "limited": True}
    for share in shares(items, lambda item: item.seconds, total=total, jobs=jobs):
        data = [one for one in share if one.is_data]
        others = [one for one in share if not one.is_data]
        for part in (data, others) if apart else (share,):
            if part:
                question = Question(items=tuple(one.plain for one in part), options=options)
                may_be_left = all(one.is_data for one in part)
                yield Batch(question=question, keys=tuple(part), may_be_left=may_be_left)
