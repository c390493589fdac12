"""Names the keys of a shard that were told from others by a few bytes only."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from preflight.datasets.facts import KeyNames
from preflight.formats.bytes.flaw import Flaw
from preflight.formats.tar.walk import walk
from preflight.keys.samples.in_shards import opened
from preflight.kinds.asked import Asked
from preflight.shards.packed_keys import hash_of
from preflight.shards.samples import key_of
from preflight.values.names import name_of


def look(asked: Asked) -> Iterator[KeyNames]:
    """Name the keys that are asked for."""
    hashes = [int(one, 16) for one in asked.wire["hashes"]]
    yield name_keys(asked.wire["path"], asked.root, hashes, asked.alive)


def name_keys(path: str, root: str, hashes: Iterable[int], tell: Callable[[str], None]) -> KeyNames:
    """Look for keys by what `hash_of` gives of them; stops when all are found."""
    wanted = dict.fromkeys(hashes, "")
    missing = len(wanted)
    with open(path, "rb", buffering=0) as stream:
        for one in walk(*opened(stream, tell)):
            if isinstance(one, Flaw) or not missing:
                break
            split = key_of(one.name)
            known = hash_of(split[0]) if split is not None else None
            if split is not None and known in wanted and not wanted[known]:
                wanted[known] = split[0]
                missing -= 1
                tell(one.name)
    return KeyNames(file=name_of(path, root), names=tuple(wanted.values()))
