"""What was seen of one data set, as far as its parts have been looked at."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from preflight.datasets.facts import DatasetFacts
from preflight.datasets.uncaptioned import Undecided, has_no_texts
from preflight.images.facts import FolderFacts
from preflight.shards import packed_keys as keys
from preflight.shards.facts import ShardFacts, Shared
from preflight.shards.fields import FieldCounts, FieldsOf, made_of
from preflight.targets.targets import CaptionRule, Dataset
from preflight.values.names import name_of

# Pairs of shards whose common keys are named; there may be as many as shards.
_NAMED = 200


@dataclass(slots=True)
class Collected:
    """One data set, as far as its parts have been looked at."""

    dataset: Dataset
    index: keys.SampleIndex | None = None
    """The keys of the samples of shards; None: none was read."""

    read: dict[str, tuple[str, int]] = field(default_factory=dict)
    """By the path of a shard, in the order in which they were read: its name and its samples."""

    fields: FieldCounts = field(default_factory=FieldCounts)
    pairs: list[keys.Pair] = field(default_factory=list)
    names: dict[int, tuple[str, ...]] = field(default_factory=dict)
    """Keys that the shards of a pair share, by the pair's place."""

    folder: FolderFacts | None = None
    damaged: int = 0
    """Shards that cannot be read to their end."""

    empty: set[str] = field(default_factory=set)
    """By their paths, shards that can, and that hold no sample."""

    made: dict[str, FieldsOf | None] = field(default_factory=dict)
    """By the path of a shard that holds samples, the fields of these."""

    undecided: dict[str, Undecided] = field(default_factory=dict)
    """By their paths, shards that do not say by themselves what their captions are."""

    def take(self, path: str, found: ShardFacts, captions: CaptionRule) -> None:
        """Take in what was seen of a shard."""
        if path not in self.read:
            pairing = found.pairing
            decided = found.taken_by or (found.decided_by and found.all_came)
            is_open = captions.rule == "auto" and not decided
            if is_open and pairing is not None and pairing.images and has_no_texts(found.arrived):
                self.undecided[path] = Undecided(
                    found.file,
                    found.arrived,
                    captions,
                    found.decided_by,
                    found.given_whole_by,
                )
            self.read[path] = found.file, found.samples
            if found.samples and not found.damage:
                self.made[path] = made_of(found.file, found.fields)
            self.damaged += bool(found.damage)
            if not (found.damage or found.samples):
                self.empty.add(path)
            nameless = tuple(
                one._replace(smallest_names=(), largest_names=()) for one in found.fields.fields
            )
            self.fields.add(found.fields._replace(fields=nameless))
            if self.index is None:
                self.index = keys.SampleIndex()
            self.index.add(found.keys)

    def find(self) -> None:
        """Look for keys that stand in two shards, and let go of all others."""
        if self.index is None:
            return
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
            yield place, {"path": read[pair.other], "hashes": hashes}

    def facts(self, root: str) -> DatasetFacts:
        """Give what is known of it as a whole."""
        dataset, found = self.dataset, self.folder
        place = _common(dataset.shards) if dataset.folder is None else dataset.folder
        whole = DatasetFacts(name=dataset.name, file=name_of(place, root), entry=dataset.entry)
        if dataset.folder is not None and found is None:
            return replace(whole, is_folder=True, unread=1)
        if found is not None:
            samples = found.pairing.images or found.videos or found.sounds
            return replace(whole, is_folder=True, samples=samples)
        read = self._in_order()
        files = [self.read[path][0] for path in read]
        sizes = [self.read[path][1] for path in read]
        return replace(
            whole,
            shards=tuple(files),
            sizes=tuple(sizes),
            samples=sum(sizes),
            unread=len(set(dataset.shards)) + dataset.more - len(read),
            fields=self.fields.told(),
            damaged=self.damaged,
            empty=tuple(self.read[path][0] for path in read if path in self.empty),
            shared=tuple(self._shared(files, sizes)),
        )

    def _shared(self, files: list[str], sizes: list[int]) -> Iterator[Shared]:
        for place, pair in enumerate(self.pairs):
            names = self.names.get(place, ())
            if place in self.names and not any(names):
                continue  # the bytes were alike, and the keys are not
            yield keys.shared(pair, files, sizes, [one for one in names if one])


def _common(paths: Iterable[str]) -> str:
    folders = {os.path.dirname(path) for path in paths}
    try:
        return os.path.commonpath(folders)
    except ValueError:  # on several drives of Windows
        return min(folders)
