"""Runs in a process of its own: finds out whether workers, or epochs, draw the same random numbers.

Workers draw one sample of a data set again and again. Nobody can ask a stream for one: where two of
its epochs are alike, its samples are made anew with other random numbers.
"""

from __future__ import annotations

import contextlib
import random
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

from preflight.batches.child.unheard import unheard_epochs
from preflight.epochs.changing import changing
from preflight.epochs.constant_seeds import seeded_alike
from preflight.epochs.facts import Changing
from preflight.epochs.order import same_order, tells_its_sampler
from preflight.epochs.sample_numbers import digest
from preflight.loaders.drawn_shards import drawn_shards
from preflight.loaders.workers.starting import parts_of
from preflight.loaders.wrappers import real_loader
from preflight.objects.attributes import classes, own_attributes
from preflight.objects.paths import type_name
from preflight.values.own_files import is_our_line, passes_on
from preflight.values.wire import to_wire

# Draws of each worker. A flip of a coin comes out the same in two workers once in 2**11 cases.
_DRAWS = 12

FEWEST = 4
"""Of fewer samples nothing is told."""

_DEEPEST, _MOST_HELD = 3, 1_000

_OF_SHARDS = {"varies": True, "workers_alike": True, "is_stream": True, "of_shards": True}

ITERABLE = "its data set is a stream, of which no two epochs were seen"
NO_WORKERS = "it has no workers"


def run(
    loader: Any, workers: int, seconds: float, tell: Callable[..., None], root: str
) -> dict[str, Any]:
    """Draw one sample with two workers, and again in another epoch; tell what came."""
    tell(draws={})
    parts = parts_of(real_loader(loader))
    iterable = classes("torch.utils.data", "IterableDataset")
    if isinstance(parts["dataset"], iterable) or not hasattr(parts["dataset"], "__getitem__"):
        drawn: dict[str, Any] = {"why_not": ITERABLE if workers else NO_WORKERS}
        shards = drawn_shards(loader, workers) if workers > 1 else None
        if shards is not None and shards.are_alike:
            drawn = {**_OF_SHARDS, "dataset": shards.by, "draws": len(shards.addresses[0])}
    else:
        drawn = _of_epochs(loader, parts, root, seconds, tell)
        drawn |= _drawn(parts, workers, seconds, tell) if workers else {"why_not": NO_WORKERS}
        alike = drawn.get("workers_alike") or drawn.get("epochs_alike")
        if drawn.get("varies") and alike and _changing(parts, root, seconds, tell) is not None:
            drawn["varies"] = False  # not by chance: it works on what it keeps
    tell(drawn=drawn)
    return drawn


def _of_epochs(
    loader: Any, parts: Any, root: str, seconds: float, tell: Callable[..., None]
) -> dict[str, Any]:
    """Say whether each epoch has the same order, and other samples, though none is to be so."""
    order = changes = seeded = None
    with contextlib.suppress(Exception):  # the user's code, which no job asks for this way
        is_bare = real_loader(loader) is loader and not tells_its_sampler(type(loader))
        order = same_order(parts, root) if is_bare else None
    with contextlib.suppress(Exception):  # as above
        order = unheard_epochs(real_loader(loader), parts, root, seconds, tell) or order
    if not parts.get("num_workers") or parts.get("persistent_workers") is True:
        changes = _changing(parts, root, seconds, tell)
    with contextlib.suppress(Exception):  # as above
        seeded = seeded_alike(parts, root, seconds, tell)
    found = {"order": order, "changing": changes, "seeded": seeded}
    return {name: to_wire(one) for name, one in found.items()}


def _changing(parts: Any, root: str, seconds: float, tell: Callable[..., None]) -> Changing | None:
    with contextlib.suppress(Exception):  # the user's code, which no job asks for this way
        return changing(parts, root, seconds, tell)
    return None


def _drawn(parts: Any, workers: int, seconds: float, tell: Callable[..., None]) -> dict[str, Any]:
    dataset = parts["dataset"]
    try:
        seen = _sequences(parts, min(workers, 2), seconds, tell)
    except Exception as error:  # the user's code, which no job asks for this way
        if is_our_line(error):
            raise
        return {"reason": f"one sample alone cannot be drawn from it ({type(error).__name__})"}
    if seen is None:
        return {"reason": "a sample takes too long to draw it again and again"}
    first, again = seen
    return {
        "persistent": parts.get("persistent_workers") is True,
        "dataset": type_name(type(dataset)),
        "draws": min(map(len, first)),
        "varies": any(len({*one}) > 1 for one in first),
        "workers_alike": len(first) > 1 and first[0] == first[1],
        "epochs_alike": again is not None and first[0] == again[0],
        "generators": [name for name, _ in generators_in("dataset", dataset, 0, [])],
    }


def _sequences(
    parts: Any, workers: int, seconds: float, tell: Callable[..., None]
) -> tuple[list[list[int]], list[list[int]] | None] | None:
    """Give what each worker drew, in an epoch and in the next; None where that takes too long."""
    from torch.utils.data import DataLoader

    is_persistent = parts.get("persistent_workers") is True
    again: Any = DataLoader(
        parts["dataset"],
        batch_size=1,
        sampler=[_an_index(parts)] * (_DRAWS * workers),
        num_workers=workers,
        collate_fn=list,
        worker_init_fn=parts.get("worker_init_fn"),
        multiprocessing_context=parts.get("_DataLoader__multiprocessing_context"),
        generator=parts.get("generator"),
        prefetch_factor=1,
    )
    begun = time.monotonic()
    first = _epoch(again, workers, begun + seconds, tell)
    if min(map(len, first)) < FEWEST:
        return None
    spent = time.monotonic() - begun
    if is_persistent or 2 * spent > seconds:
        return first, None
    if hasattr(type(parts["dataset"]), "set_epoch"):
        parts["dataset"].set_epoch(1)  # as the job is likely to
    second = _epoch(again, workers, begun + seconds, tell)
    return first, second if len(second[0]) == len(first[0]) else None


@passes_on
def _an_index(parts: Any) -> Any:
    """Give an index that the loader itself would ask for."""
    batches = parts.get("batch_sampler")
    if batches is not None:
        return next(iter(next(iter(batches))))
    return next(iter(parts["sampler"]))


def _epoch(loader: Any, workers: int, until: float, tell: Callable[..., None]) -> list[list[int]]:
    seen: list[list[int]] = [[] for _ in range(workers)]
    for number, batch in enumerate(loader):
        seen[number % workers].append(digest(batch))
        tell(beside=number)
        if time.monotonic() > until and number % workers == workers - 1:
            break
    return seen


def generators_in(
    name: str, thing: Any, depth: int, known: list[int]
) -> Iterator[tuple[str, object]]:
    """Give the random number generators that a thing holds, with the way to them."""
    if id(thing) in known or len(known) > _MOST_HELD:
        return
    known.append(id(thing))
    if isinstance(thing, _kinds()):
        yield name, thing
    elif depth <= _DEEPEST:
        for key, held in own_attributes(thing).items():
            yield from generators_in(f"{name}.{key}", held, depth + 1, known)
        if isinstance(thing, (list, tuple)):
            for number, held in enumerate(thing[:10]):
                yield from generators_in(f"{name}[{number}]", held, depth + 1, known)


def _kinds() -> tuple[type, ...]:
    numpy: Any = sys.modules.get("numpy.random")
    own = (random.Random, *classes("torch", "Generator"))
    return own if numpy is None else (*own, numpy.Generator, numpy.RandomState)
