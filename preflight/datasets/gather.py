"""Puts together what was seen of the parts of each data set."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from preflight.datasets.facts import DatasetFacts, KeyNames
from preflight.findings.check import Facts
from preflight.images.facts import FolderFacts
from preflight.loaders.facts import Sent
from preflight.processes.ask import Batch
from preflight.processes.start import Question
from preflight.shards.facts import ShardFacts, Shared
from preflight.sources.facts import SourceFacts
from preflight.targets.targets import Dataset
from preflight.values.names import name_of

if TYPE_CHECKING:
    from preflight.shards import packed_keys as keys

# Pairs of shards whose common keys are named; there may be as many as shards.
_NAMED = 200


@dataclass(slots=True)
class Collected:
    """One data set, as far as its parts have been looked at."""

    dataset: Dataset
    index: keys.Index | None = None
    """The keys of the samples of shards; None: none was read."""

    read: dict[str, tuple[str, int]] = field(default_factory=dict)
    """By the path of a shard, in the order in which they were read: its name and its samples."""

    pairs: list[keys.Pair] = field(default_factory=list)
    names: dict[int, tuple[str, ...]] = field(default_factory=dict)
    """Keys that the shards of a pair share, by the pair's place."""

    folder: FolderFacts | None = None

    def take(self, path: str, found: ShardFacts) -> None:
        """Take in what was seen of a shard."""
        if path not in self.read:
            self.read[path] = found.file, found.samples
            if self.index is None:
                from preflight.shards import packed_keys as keys

                self.index = keys.Index()
            self.index.add(found.keys)

    def find(self) -> None:
        """Look for keys that stand in two shards, and let go of all others."""
        if self.index is None:
            return
        from preflight.shards import packed_keys as keys

        places = {path: place for place, path in enumerate(self._in_order())}
        self.pairs = keys.pairs(self.index, [places[path] for path in self.read])
        self.index = None

    def _in_order(self) -> list[str]:
        return [path for path in dict.fromkeys(self.dataset.shards) if path in self.read]

    def asked(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Give what is to be asked for the names of keys, of which a few bytes are known."""
        read = self._in_order() if self.pairs else []
        for place, pair in enumerate(self.pairs[:_NAMED]):
            hashes = [f"{one:x}" for one in pair.hashes]
            yield place, {"type": "Keys", "path": read[pair.other], "hashes": hashes}

    def facts(self, root: str, resampled: str | None) -> DatasetFacts:
        """Give what is known of it as a whole."""
        dataset = self.dataset
        if dataset.folder is not None:
            found = self.folder
            heard_or_seen = found.videos or found.sounds if found is not None else 0
            return DatasetFacts(
                name=dataset.name,
                file=name_of(dataset.folder, root),
                entry=dataset.entry,
                is_folder=True,
                samples=found.pairing.images or heard_or_seen if found is not None else 0,
                unread=int(found is None),
            )
        read = self._in_order()
        files = [self.read[path][0] for path in read]
        sizes = [self.read[path][1] for path in read]
        return DatasetFacts(
            name=dataset.name,
            file=name_of(_common(dataset.shards), root),
            entry=dataset.entry,
            shards=tuple(files),
            sizes=tuple(sizes),
            samples=sum(sizes),
            unread=len(set(dataset.shards)) + dataset.more - len(read),
            resampled=resampled,
            shared=tuple(self._shared(files, sizes)),
        )

    def _shared(self, files: list[str], sizes: list[int]) -> Iterator[Shared]:
        from preflight.shards.packed_keys import shared

        for place, pair in enumerate(self.pairs):
            names = self.names.get(place, ())
            if place in self.names and not any(names):
                continue  # the bytes were alike, and the keys are not
            yield shared(pair, files, sizes, [one for one in names if one])


def _common(paths: Iterable[str]) -> str:
    """Give the folder that holds all of these."""
    folders = {os.path.dirname(path) for path in paths}
    try:
        return os.path.commonpath(folders)
    except ValueError:  # on several drives of Windows
        return min(folders)


@dataclass(slots=True)
class Collector:
    """All data sets of a run."""

    datasets: Iterable[Dataset]
    all: list[Collected] = field(init=False)
    resampled: str | None = None
    """What draws the job's shards with replacement."""

    _of: dict[str, tuple[Collected, ...]] = field(default_factory=dict)
    """By the paths of their parts."""

    def __post_init__(self) -> None:
        """Begin with nothing looked at."""
        self.all = [Collected(dataset=one) for one in self.datasets]
        for one in self.all:
            parts = one.dataset.shards if one.dataset.folder is None else (one.dataset.folder,)
            alone = (one,)  # the same for all of its parts, of which there may be very many
            for path in dict.fromkeys(parts):
                self._of[path] = (*self._of[path], one) if path in self._of else alone

    def hear(self, found: Facts) -> None:
        """Take in what sources and loaders say of the data."""
        if isinstance(found, SourceFacts) and found.resampled is not None:
            self.resampled = self.resampled or found.resampled
        elif isinstance(found, Sent) and found.resampled:
            self.resampled = self.resampled or found.name

    def take(self, path: str, found: ShardFacts | FolderFacts) -> None:
        """Take in what was seen of a shard or of a folder of images."""
        for one in self._of.get(path, ()):
            if isinstance(found, ShardFacts):
                one.take(path, found)
            else:
                one.folder = found

    def questions(self, options: Mapping[str, Any]) -> Iterator[Batch]:
        """Look for keys that stand in two shards, and ask for their names."""
        items, places = [], []
        for one in self.all:
            one.find()
            for place, item in one.asked():
                items.append(item)
                places.append((one, place))
        if items:
            question = Question(items=tuple(items), options={**options, "limited": True})
            yield Batch(question=question, keys=tuple(places))

    def named(self, key: tuple[Collected, int], facts: Iterable[KeyNames]) -> None:
        """Take in the names of keys."""
        collected, place = key
        for one in facts:
            collected.names[place] = one.names
