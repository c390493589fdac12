"""Divides the items of a cache, a data set or a loader as the job's ranks do, and counts them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from preflight.kinds.asked import Asked
from preflight.ranks import divide, hash_seeds
from preflight.ranks.divide import Division, Splitter, owned, shared_entries
from preflight.ranks.facts import OneEntry, WorldFacts
from preflight.ranks.items import Items, items_of
from preflight.ranks.named_splits import Items as Numbers
from preflight.ranks.rank_trials import RankTrials
from preflight.ranks.real_splits import splitter_of
from preflight.settings.split import DROPPED, PADDED, Steps
from preflight.sources.work.evened import joined
from preflight.values.code_name import is_code_name

# Items and ranks that are shown one by one.
_FEW_ITEMS, _FEW_RANKS = 16, 8

# Items that are named of each sort.
_NAMED = 5

# Seconds that may be spent on other numbers of ranks.
_SECONDS = 3.0


def look(asked: Asked) -> Iterator[WorldFacts]:
    """Divide the items that are asked about."""
    wire = asked.wire
    items = items_of(asked)
    steps: Steps = tuple(map(tuple, wire["steps"]))
    shards = items.noun == "shard"
    ranks = wire["ranks"]
    with contextlib.ExitStack() as stack:
        elsewhere = None
        if ranks > 1 and any(is_code_name(word) for step in steps for word in step):
            given = steps, items.told, asked.options
            other = hash_seeds.meanwhile(*given, ranks=ranks, shards=shards)
            elsewhere = stack.enter_context(other)
        splitter, versions = splitter_of(
            steps, items.told, asked.options, asked.step, shards=shards
        )
        asked.alive()
        found, parts, unstable = _divided(splitter, items, asked, elsewhere)
    asked.alive()
    limits = RankTrials(splitter, len(items.names), wire["workers"], _SECONDS)
    if not unstable:
        limits.knows(found.world)
    worlds, bad, tried = limits.find(ranks)
    words = {word for step in steps for word in step}
    yield WorldFacts(
        name=wire["name"],
        file=wire["file"],
        part=wire["part"],
        noun=items.noun,
        split=tuple(wire["split"]),
        versions=versions,
        items=len(items.names),
        ranks=ranks,
        workers=found.workers,
        each=tuple(found.each),
        samples=() if unstable else tuple(_samples(parts, wire.get("sizes"))),
        pads=not words.isdisjoint(PADDED),
        drops=not words.isdisjoint(DROPPED),
        by_samples=bool(splitter.streams),
        kept=found.world.kept,
        unstable=unstable,
        atomic=wire["atomic"],
        missing=items.missing,
        batch_size=wire["batch_size"],
        drop_last=wire["drop_last"],
        joined=joined((), asked.root, wire["scripts"]) if len({*found.each}) > 1 else "",
        bare_workers=found.bare_workers,
        worlds=worlds,
        first_bad=bad,
        tried=tried,
        **_owners(found, parts, items),
    )


def _divided(
    splitter: Splitter,
    items: Items,
    asked: Asked,
    elsewhere: Callable[[], list[list[int]]] | None,
) -> tuple[Division, list[Numbers], bool]:
    """Divide them among the ranks of the job; also among processes, where the user's code does."""
    count, ranks, workers = len(items.names), asked.wire["ranks"], asked.wire["workers"]
    some = hash_seeds.some_of(ranks) if elsewhere is not None else ()
    here = hash_seeds.parts_of(splitter, count, some, ranks)
    found = Division(count, ranks, workers if splitter.by_worker else 1, bytearray(count))
    parts: list[Numbers] = []
    for rank in range(ranks):
        of_workers = [*splitter.of_rank(count, rank, ranks, workers)]
        asked.alive()
        found.take(of_workers, splitter.one_of(count, rank, ranks))
        parts.append(_joined(of_workers))
    if elsewhere is None:
        return found, parts, False
    with asked.step("divide the items in fresh interpreters"):
        if elsewhere() == here:
            return found, parts, False
        # Unless it is that this process is none too fresh.
        other = hash_seeds.by_processes(
            tuple(map(tuple, asked.wire["steps"])),
            items.told,
            asked.options,
            ranks=ranks,
            shards=items.noun == "shard",
        )
    if other is None:
        return found, parts, False
    found = Division(count, ranks, 1, bytearray(count))
    for part in other:
        found.take([part])
    return found, list(other), True


def _joined(parts: Sequence[Numbers]) -> Numbers:
    return parts[0] if len(parts) == 1 else [one for own in parts for one in own]


def _samples(parts: Sequence[Numbers], sizes: Sequence[int] | None) -> Iterator[int]:
    """Count the samples in the shards of each rank."""
    for own in parts if sizes else ():
        yield sum(sizes[one] for one in dict.fromkeys(own)) if sizes else 0


def _owners(found: Division, parts: Sequence[Numbers], items: Items) -> dict[str, Any]:
    """Say who has what: of a few items all, else the first few that are not as they should be."""
    world, names = found.world, items.names
    is_small = len(names) <= _FEW_ITEMS and found.ranks <= _FEW_RANKS
    shared = [] if items.entries is None else [*shared_entries(parts, items.entries)]
    return {
        "nobody": world.nobody,
        "nobody_names": tuple(names[one] for one in found.numbers(divide.NOBODY, _NAMED)),
        "several": world.several,
        "several_names": owned(found.numbers(divide.SEVERAL, _NAMED), parts, names),
        "entries_shared": len(shared),
        "shared_names": tuple(OneEntry(names[a], names[b]) for _, a, b in shared[:_NAMED]),
        "by_caption": items.by_caption,
        "owners": tuple(tuple(own) for own in parts) if is_small else (),
        "names": tuple(names) if is_small else (),
    }
