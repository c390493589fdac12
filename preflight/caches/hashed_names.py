"""Names that begin with a hash, as caches of captions have them, and what follows it."""

from __future__ import annotations

import os
import re
from collections import Counter, defaultdict
from collections.abc import Iterable

from preflight.caches.facts import Alike

NAMED = 5
"""Names of one kind that are told."""

# A name that begins with a hash: MD5 to SHA-512.
_SHORTEST_HASH = 32
_HASHED = re.compile(r"([0-9a-f]{32,128})(?![0-9A-Za-z])(.*)", re.DOTALL)


def grouped(paths: Iterable[str]) -> tuple[tuple[Alike, ...], float]:
    """Group names that begin with a hash by what follows it, and see which hashes stand alone.

    Of folders in which all are of one kind nothing is said: each may be a cache of its own.
    """
    of_place: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for path in paths:
        if len(path) < _SHORTEST_HASH:
            continue
        place, name = os.path.split(path)
        match = _HASHED.fullmatch(name)
        if match is not None:
            of_place[place][match[2]].add(match[1])
    counted: Counter[str] = Counter()
    names: dict[str, list[str]] = defaultdict(list)
    kinds_of: Counter[tuple[str, str]] = Counter()
    for place, kinds in of_place.items():
        for kind, hashes in kinds.items() if len(kinds) > 1 else ():
            counted[kind] += len(hashes)
            names[kind] += [one + kind for one in sorted(hashes)[:NAMED]]
            kinds_of.update((place, one) for one in hashes)
    alone = sum(count == 1 for count in kinds_of.values())
    told = tuple(
        Alike(what=kind, count=count, names=tuple(names[kind][:NAMED]))
        for kind, count in counted.most_common()
    )
    return told, alone / len(kinds_of) if kinds_of else 0.0
