"""Runs in a process of its own: finds out whether workers, or epochs, draw the same random numbers.

Workers draw one sample of a data set again and again. Nobody can ask a stream for one: where two of
its epochs are alike, its samples are made anew with other random numbers.
"""

from __future__ import annotations

import itertools
import random
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from preflight.batches.among import Noted, agree, as_worker
from preflight.batches.rows import digest
from preflight.loaders.around import real_loader
from preflight.loaders.starting import parts_of
from preflight.objects.attributes import classes, own_attributes
from preflight.objects.paths import type_name
from preflight.objects.random_state import Generators, kept_random_state
from preflight.values.own_files import is_our_line, passes_on

# Draws of each worker. A flip of a coin comes out the same in two workers once in 2**11 cases.
_DRAWS = 12

# Fewer tell nothing.
_FEWEST = 4

_DEEPEST, _MOST_HELD = 3, 1_000

# Samples of a stream that are held against each other, and ways in which all generators begin: of
# a flip of a coin, two are the same in one case of two.
_MOST_SAMPLES, _WAYS = 1_000, 4

ITERABLE = "its data set is a stream, of which no two epochs were seen"
TOLD = "its data set is a stream that is told which epoch it is"
UNKNOWN = "its data set is a stream, and nobody can tell which of its samples are the same"
NO_WORKERS = "it has no workers"


def run(loader: Any, workers: int, seconds: float, tell: Callable[..., None]) -> dict[str, Any]:
    """Draw one sample with two workers, and again in another epoch; tell what came."""
    tell(draws={})
    drawn = _drawn(loader, workers, seconds, tell)
    tell(drawn=drawn)
    return drawn


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


# --- streams --------------------------------------------------------------------------------------


class _Run(NamedTuple):
    """What a stream gave, each sample as numbers by its parts."""

    samples: list[dict[Any, int]]
    is_whole: bool


def of_stream(
    loader: Any, epochs: tuple[Noted, Noted], alone: Noted | None, seconds: float
) -> dict[str, Any]:
    """Say whether epochs of a stream draw the same random numbers.

    They do where the one is as the other, though its samples are made of random numbers: what they
    are when all generators begin otherwise is another thing, and has what no sample had.

    Args:
        loader: it is left behind in any state.
        epochs: what came in two of them.
        alone: what comes without workers; None: nobody knows.
        seconds: how long it may take.
    """
    one, other = epochs
    parts = parts_of(real_loader(loader))
    dataset = parts["dataset"]
    held = own_attributes(dataset)
    if hasattr(type(dataset), "set_epoch") or any("epoch" in str(name) for name in held):
        return {"why_not": TOLD}
    found = {
        "persistent": parts.get("persistent_workers") is True,
        "dataset": type_name(type(dataset)),
        "is_stream": True,
        "draws": max((one.counts(name).total() for name in one.parts), default=0),
        "generators": [name for name, _ in _generators("dataset", dataset, 0, [])],
    }
    if one.parts != other.parts or (alone is not None and not _has_others(one, alone)):
        return found
    try:
        varies = _varies(dataset, one.workers, parts.get("worker_init_fn"), seconds)
    except Exception as error:  # the user's code, which is not asked for this by the job
        if is_our_line(error):
            raise
        return {"why_not": ITERABLE}
    if varies is None:
        return {"why_not": UNKNOWN}
    return {**found, "varies": varies, "epochs_alike": True}


def _has_others(one: Noted, alone: Noted) -> bool:
    """Whether a part of samples is another one without workers."""
    return any(one.counts(name).keys() != alone.counts(name).keys() for name in one.parts)


def _varies(dataset: Any, workers: int, init: Any, seconds: float) -> bool | None:
    """Whether samples are others when random numbers are; None where nobody can tell."""
    until = time.monotonic() + seconds
    with kept_random_state(), as_worker(dataset, workers, 0):
        if init is not None:
            init(0)
        first = _run(dataset, 0, until)
        if first is None or len(first.samples) < _FEWEST or _run(dataset, 0, until) != first:
            return None
        for way in range(1, _WAYS):
            again = _run(dataset, way, until)
            varies = None if again is None else _made_otherwise(first, again)
            if varies is not False:
                return varies
    return False


def _run(dataset: Any, way: int, until: float) -> _Run | None:
    """Go through a stream, with the same random numbers for each sample behind the first one."""
    samples: list[dict[Any, int]] = []
    Generators().begin(0)
    generators = None
    for sample in itertools.islice(dataset, _MOST_SAMPLES):
        if generators is not None:
            samples.append(_parts_of(sample))
        if time.monotonic() > until:
            return None
        generators = generators or Generators()
        generators.begin(way)
    return _Run(samples, len(samples) < _MOST_SAMPLES - 1)


def _parts_of(sample: Any) -> dict[Any, int]:
    if isinstance(sample, dict):
        return {key: digest(value) for key, value in sample.items()}
    if isinstance(sample, (list, tuple)):
        return {number: digest(value) for number, value in enumerate(sample)}
    return {0: digest(sample)}


def _made_otherwise(one: _Run, other: _Run) -> bool | None:
    """Whether samples have what the same ones have not in another run, and are more than chance."""
    pairs = _pairs(one.samples, other.samples)
    if pairs is None:
        if not (one.is_whole and other.is_whole):
            return None
        first, second = ([tuple(each.values()) for each in run.samples] for run in (one, other))
        return len({*first}) == len(first) and not {*second} <= {*first}
    changed = {key for mine, others in pairs for key in mine if mine[key] != others.get(key)}
    return any(
        2 * max(len({each.get(key) for each in run.samples}) for run in (one, other)) > len(pairs)
        for key in changed
    )


def _pairs(
    one: Sequence[dict[Any, int]], other: Sequence[dict[Any, int]]
) -> list[tuple[dict[Any, int], dict[Any, int]]] | None:
    """Give what each sample is in both runs: by a part that names it, or by its place."""
    for key in one[0]:
        mine, others = ({each.get(key): each for each in run} for run in (one, other))
        both = mine.keys() & others.keys()
        if len(mine) == len(one) and len(others) == len(other) and len(both) >= _FEWEST:
            return [(mine[name], others[name]) for name in both]
    for key in one[0]:
        if agree([each.get(key, 0) for each in one], [each.get(key, 0) for each in other]):
            return list(zip(one, other, strict=False))
    return None
