"""Puts together what was seen of the files of each folder of cached files."""

from __future__ import annotations

import os
import re
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from preflight.checkpoints import checkpoints
from preflight.facts import (
    Alike,
    Burst,
    CacheContents,
    CacheFacts,
    CacheFolderFacts,
    Checkpoint,
    CheckpointFacts,
    Content,
)
from preflight.names import name_of
from preflight.readers.cache_listing import CacheListing
from preflight.targets import CacheFolder

# Names of one kind that are told.
_NAMED = 5

# Temporary files and locks that are named.
_MOST_LEFT_OVER = 20

# A name that begins with a hash, as caches of captions have it: MD5 to SHA-512.
_HASHED = re.compile(r"([0-9a-f]{32,128})(?![0-9A-Za-z])(.*)", re.DOTALL)

# Damaged files were most likely left by one crash where so many were written within so many
# seconds of one another.
_FEWEST_OF_BURST = 3
_BURST = 10.0

# Seconds by which a whole file may be older or younger than a burst and still be of its moment.
_NEAR = 2.0


@dataclass(slots=True)
class CacheGathering:
    """A folder of cached files, as far as they have been read."""

    target: CacheFolder
    listing: CacheListing
    root: str
    """The job's folder."""

    same_as: str | None = None
    """Another entry of the settings that names this folder, too."""

    entries: int = 0
    contents: list[Content] = field(default_factory=list)
    """What torch has read in its files, where it was asked to."""

    _whole: dict[str, list[str]] = field(default_factory=dict)
    """By format, the first few names."""

    _formats: Counter[str] = field(default_factory=Counter)
    _unverified: Counter[str] = field(default_factory=Counter)
    _bare: dict[str, list[str]] = field(default_factory=dict)
    _times: array[int] = field(default_factory=lambda: array("Q"))
    """When whole files were last written, in seconds since the epoch."""

    _damaged: dict[str, tuple[str, float]] = field(default_factory=dict)
    """By the path of a damaged file: what is wrong with it, and when it was last written."""

    def take(self, path: str, found: CacheFacts, changed: int) -> None:
        """Take in what was seen of a file, and when it was last written, in ns."""
        self.entries += 1
        if found.damage is not None:
            self._damaged[path] = found.damage.text, changed / 1e9
            return
        self._times.append(max(0, changed) // 10**9)
        self._formats[found.format] += 1
        _note(self._whole, found.format, self._below(path))
        if not found.verified:
            self._unverified[found.format] += 1
            _note(self._bare, found.format, self._below(path))

    def _bursts(self) -> Iterator[Burst]:
        """Find the moments of which mostly damaged files are left.

        Where as many whole ones are of the same moment, all of them were copied or unpacked then.
        """
        for one in _bursts(written for _, written in self._damaged.values()):
            whole = sum(one.begin - _NEAR <= time <= one.end + _NEAR for time in self._times)
            if whole < one.count:
                yield one

    def _below(self, path: str) -> str:
        return name_of(path, self.target.path)

    def appeared(self) -> int:
        """Count the files that were put in since the folder was listed."""
        from preflight.readers.cache_listing import list_cache

        changed = [path for path, then in self.listing.folders if _changed(path) != then]
        if not changed:
            return 0
        try:
            now = list_cache(self.target.path)
        except OSError:
            return 0
        return len(set(now.files) - set(self.listing.files))

    def facts(self) -> CacheFolderFacts:
        """Give what is known of the folder as a whole."""
        left_over = [self._below(path) for path in self.listing.left_over]
        patterns, apart = _patterns(self.listing.files)
        return CacheFolderFacts(
            file=name_of(self.target.path, self.root),
            entries=self.entries,
            damaged=len(self._damaged),
            formats=tuple(_alike(self._formats, self._whole)),
            unverified=tuple(_alike(self._unverified, self._bare)),
            patterns=patterns,
            apart=apart,
            left_over=tuple(left_over[:_MOST_LEFT_OVER]),
            left_over_count=len(left_over),
            same_as=self.same_as,
            bursts=tuple(self._bursts()),
            checkpoints=len(self._checkpoints()),
        )

    def unread(self) -> Mapping[str, int]:
        """Count the files whose numbers were not looked at, by the reason."""
        return Counter(one.skipped for one in self.contents if one.skipped is not None)

    def more_facts(self) -> Iterator[CheckpointFacts | CacheContents]:
        """Give what is known of checkpoints, where it is a folder of such, and of its numbers."""
        file = name_of(self.target.path, self.root)
        found = self._checkpoints()
        if found:
            yield CheckpointFacts(file=file, checkpoints=found)
        if self.contents:
            from preflight.readers.cache_neighbours import contents_of

            yield contents_of(file, self.contents)

    def _checkpoints(self) -> tuple[Checkpoint, ...]:
        if not self.target.checkpoint:
            return ()
        return checkpoints(self.target.path, self.listing.files, self._damaged)


def _note(names: dict[str, list[str]], what: str, name: str) -> None:
    few = names.setdefault(what, [])
    if len(few) < _NAMED:
        few.append(name)


def _alike(counted: Counter[str], names: Mapping[str, list[str]]) -> Iterator[Alike]:
    for what, count in counted.most_common():
        yield Alike(what=what, count=count, names=tuple(names[what]))


def _patterns(paths: Iterable[str]) -> tuple[tuple[Alike, ...], float]:
    """Group names that begin with a hash by what follows it, and see which hashes stand alone."""
    counted: Counter[str] = Counter()
    names: dict[str, list[str]] = {}
    of_hash: dict[str, set[str]] = {}
    for path in paths:
        name = os.path.basename(path)
        match = _HASHED.fullmatch(name)
        if match is not None:
            counted[match[2]] += 1
            _note(names, match[2], name)
            of_hash.setdefault(match[1], set()).add(match[2])
    alone = sum(len(tails) == 1 for tails in of_hash.values())
    return tuple(_alike(counted, names)), alone / len(of_hash) if of_hash else 0.0


def _bursts(times: Iterable[float]) -> Iterator[Burst]:
    """Find the times about which several files were last written."""
    burst: list[float] = []
    for time in [*sorted(times), float("inf")]:
        if burst and time - burst[-1] > _BURST:
            if len(burst) >= _FEWEST_OF_BURST:
                yield Burst(count=len(burst), begin=burst[0], end=burst[-1])
            burst = []
        burst.append(time)


def _changed(path: str) -> int:
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return 0
