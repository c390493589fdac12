"""Packs the keys of samples into a few bytes each, and finds those that two shards share.

Eight bytes tell one key from another, four its sample's size from another's, so that the keys of
a hundred million samples are held in what one process may well take.
"""

from __future__ import annotations

import base64
import itertools
import zlib
from array import array
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from preflight.shards.facts import Shared

# Samples from which on numpy is worth its import.
_MANY = 50_000

# Of fewer, those that are counted at once.
_COUNTED = 5_000

# Samples that are sorted at once; what sorting takes is taken beside the index.
_AT_ONCE = 1_000_000

# Keys that are held as bytes at once, to be hashed.
_HASHED = 1 << 14

# Types of arrays; both processes are of one machine, so that the order of bytes is nobody's matter.
_KEYS, _HALF = "Q", "I"
_EACH = 8 + 4


def hash_of(key: str) -> int:
    """Give 64 bits that tell a key from most others. Where two are alike, names have to decide."""
    (found,) = _hashes([key])
    return found


def _hashes(keys: Sequence[str]) -> array[int]:
    # Many at once, in C: this is done for each sample of a data set.
    hashes = array(_KEYS)
    for begin in range(0, len(keys), _HASHED):
        names = [key.encode("utf-8", "surrogatepass") for key in keys[begin : begin + _HASHED]]
        halves = array(_HALF, bytes(8 * len(names)))
        halves[0::2] = array(_HALF, map(zlib.crc32, names))
        halves[1::2] = array(_HALF, map(zlib.adler32, names))
        hashes.frombytes(halves.tobytes())
    return hashes


def pack(keys: Sequence[str], sizes: Iterable[int]) -> str:
    """Pack the keys of samples and their sizes in bytes, in their order, as text for JSON."""
    hashes = _hashes(keys)
    small = array(_HALF, (size & 0xFFFFFFFF for size in sizes))
    return base64.b64encode(hashes.tobytes() + small.tobytes()).decode()


@dataclass(slots=True)
class SampleIndex:
    """The samples of a data set, shard behind shard in the order in which they were read."""

    hashes: array[int] = field(default_factory=lambda: array(_KEYS))
    sizes: array[int] = field(default_factory=lambda: array(_HALF))
    starts: list[int] = field(default_factory=list)
    """Where each shard begins."""

    def add(self, packed: str) -> None:
        """Add the samples of a shard, as `pack` gave them."""
        data = base64.b64decode(packed)
        number = len(data) // _EACH
        self.starts.append(len(self.hashes))
        hashes, sizes = array(_KEYS), array(_HALF)
        hashes.frombytes(data[: number * 8])
        sizes.frombytes(data[number * 8 :])
        self.hashes.extend(hashes)
        self.sizes.extend(sizes)

    def again(self) -> list[int]:
        """Give the hashes that are there more than once."""
        if len(self.hashes) < _MANY:
            return list(self._few_again())
        import numpy as np

        every = np.frombuffer(self.hashes, dtype=np.uint64)
        parts = 1 + len(every) // _AT_ONCE
        found: list[int] = []
        edges = [2**64 * part // parts for part in range(parts + 1)]
        for low, high in itertools.pairwise(edges):
            mine = every[(every >= np.uint64(low)) & (every <= np.uint64(high - 1))]
            mine.sort()
            found += np.unique(mine[1:][mine[1:] == mine[:-1]]).tolist()
        return found

    def _few_again(self) -> Iterator[int]:
        """Count them by parts: a count takes ten times the room of what is counted."""
        parts = 1 + len(self.hashes) // _COUNTED
        for part in range(parts):
            counted = Counter(one for one in self.hashes if one % parts == part)
            yield from (one for one, number in counted.items() if number > 1)

    def places(self, hashes: Iterable[int]) -> dict[int, list[int]]:
        """Give where each of these stands, in order."""
        wanted: dict[int, list[int]] = {one: [] for one in hashes}
        if len(self.hashes) < _MANY:
            places: Iterable[int] = range(len(self.hashes))
        else:
            import numpy as np

            every = np.frombuffer(self.hashes, dtype=np.uint64)
            places = np.flatnonzero(
                np.isin(every, np.array(list(wanted), dtype=np.uint64))
            ).tolist()
        for place in places:
            if (one := self.hashes[place]) in wanted:
                wanted[one].append(place)
        return wanted

    def shard_at(self, place: int) -> int:
        """Give the number of the shard that a sample stands in."""
        return bisect_right(self.starts, place) - 1


@dataclass(slots=True)
class Pair:
    """Two shards that have samples of the same keys."""

    first: int
    """The number of a shard in the order in which the job would take them."""

    other: int
    samples: int = 0
    alike: int = 0
    hashes: list[int] = field(default_factory=list)
    """Of the first few."""


# Keys of a pair of shards that are named.
_NAMED = 5


def pairs(index: SampleIndex, order: Sequence[int]) -> list[Pair]:
    """Find the shards that have samples of the same keys, each with the first that has them.

    `order` gives the number of a shard as the job would take them, by its number in the index.
    """
    found: dict[tuple[int, int], Pair] = {}
    for one, places in index.places(index.again()).items():
        homes: dict[int, int] = {}
        for place in places:  # twice in one shard is told of that shard
            homes.setdefault(order[index.shard_at(place)], place)
        home = min(homes)
        first = homes.pop(home)
        for other, place in sorted(homes.items()):
            pair = found.setdefault((home, other), Pair(home, other))
            pair.samples += 1
            pair.alike += index.sizes[first] == index.sizes[place]
            if len(pair.hashes) < _NAMED:
                pair.hashes.append(one)
    return sorted(found.values(), key=lambda pair: (pair.first, pair.other))


def shared(found: Pair, files: Sequence[str], sizes: Sequence[int], keys: Sequence[str]) -> Shared:
    """Say as a fact what two shards share."""
    return Shared(
        file=files[found.other],
        first=files[found.first],
        samples=found.samples,
        alike=found.alike,
        of=max(sizes[found.other], found.samples),  # one that was cut has a key, too
        keys=tuple(keys),
    )
