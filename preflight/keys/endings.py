"""Learns from the samples of a cache what stands behind their keys in the names of entries."""

from __future__ import annotations

import itertools
import os
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace

from preflight.keys.index import endings_of, places_of
from preflight.keys.layouts import Finder, Way
from preflight.keys.sample import Sample

# Samples that are asked.
_ASKED = 20_000


def with_endings(way: Way, samples: Iterable[Sample], total: int, finder: Finder) -> Way:
    """Give a way with the endings that stand behind the keys of at least half of the samples."""
    asked = itertools.islice(samples, 0, None, max(1, total // _ASKED))
    keys = {hash(finder.key(one, way)) for one in asked}
    led: defaultdict[str, set[int]] = defaultdict(set)
    for name in finder.entries.names():
        stems = [rest for _, rest in places_of(os.path.splitext(name)[0], way.layout)]
        if not keys.isdisjoint(map(hash, stems)):
            continue
        for key, kind in itertools.chain.from_iterable(map(endings_of, stems)):
            if (hashed := hash(key)) in keys:
                led[kind].add(hashed)
    most = frozenset(kind for kind, those in led.items() if 2 * len(those) >= len(keys))
    return replace(way, endings=most)
