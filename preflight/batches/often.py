"""Runs in a process of its own: has workers draw one sample again and again."""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

from preflight.batches.rows import digest
from preflight.loaders.around import real_loader
from preflight.loaders.starting import parts_of
from preflight.objects.attributes import classes, own_attributes
from preflight.objects.paths import type_name
from preflight.values.own_files import is_our_line, passes_on

# Draws of each worker. A flip of a coin comes out the same in two workers once in 2**11 cases.
_DRAWS = 12

# Fewer tell nothing.
_FEWEST = 4

_DEEPEST, _MOST_HELD = 3, 1_000

ITERABLE = "its data set is a stream, of which nobody asks for one sample"
NO_WORKERS = "it has no workers"


def run(loader: Any, workers: int, seconds: float, tell: Callable[..., None]) -> None:
    """Draw one sample with two workers, and again in another epoch; tell what came."""
    tell(draws={})
    tell(drawn=_drawn(loader, workers, seconds, tell))


def _drawn(loader: Any, workers: int, seconds: float, tell: Callable[..., None]) -> dict[str, Any]:
    parts = parts_of(real_loader(loader))
    dataset = parts["dataset"]
    if not workers:
        return {"why_not": NO_WORKERS}
    iterable = classes("torch.utils.data", "IterableDataset")
    if isinstance(dataset, iterable) or not hasattr(dataset, "__getitem__"):
        return {"why_not": ITERABLE}
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
        "generators": [name for name, _ in _generators("dataset", dataset, 0, [])],
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
    if min(map(len, first)) < _FEWEST:
        return None
    spent = time.monotonic() - begun
    if is_persistent or 2 * spent > seconds:
        return first, None
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


def _generators(
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
            yield from _generators(f"{name}.{key}", held, depth + 1, known)
        if isinstance(thing, (list, tuple)):
            for number, held in enumerate(thing[:10]):
                yield from _generators(f"{name}[{number}]", held, depth + 1, known)


def _kinds() -> tuple[type, ...]:
    numpy: Any = sys.modules.get("numpy.random")
    own = (random.Random, *classes("torch", "Generator"))
    return own if numpy is None else (*own, numpy.Generator, numpy.RandomState)
