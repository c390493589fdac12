"""Runs in a process of its own: says whether epochs of a stream draw the same random numbers.

Nobody can ask a stream for one sample: where two of its epochs are alike, its samples are made anew
with other random numbers.
"""

from __future__ import annotations

import contextlib
import itertools
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

from preflight.batches.child.between_workers import Noted, agree, as_worker
from preflight.batches.child.repeated_draws import FEWEST, ITERABLE, generators_in
from preflight.epochs.facts import SameOrder
from preflight.epochs.sample_numbers import digest
from preflight.loaders.workers.starting import parts_of
from preflight.loaders.wrappers import real_loader
from preflight.objects.attributes import own_attributes
from preflight.objects.paths import type_name
from preflight.objects.random_state import Generators, kept_random_state
from preflight.objects.where import defined
from preflight.values.own_files import is_our_line
from preflight.values.wire import to_wire

# Samples of a stream that are held against each other, and ways in which all generators begin: of
# a flip of a coin, two are the same in one case of two.
_MOST_SAMPLES, _WAYS = 1_000, 4

TOLD = "its data set is a stream that is told which epoch it is"
UNKNOWN = "its data set is a stream, and nobody can tell which of its samples are the same"


class _Run(NamedTuple):
    """What a stream gave, each sample as numbers by its parts."""

    samples: list[dict[Any, int]]
    is_whole: bool


def of_stream(
    loader: Any, epochs: tuple[Noted, Noted], alone: Noted | None, within: tuple[float, str]
) -> dict[str, Any]:
    """Say whether epochs of a stream draw the same random numbers.

    They do where the one is as the other, though its samples are made of random numbers: what they
    are when all generators begin otherwise is another thing, and has what no sample had.

    Args:
        loader: it is left behind in any state.
        epochs: what came in two of them.
        alone: what comes without workers; None: nobody knows.
        within: how long it may take, and the job's folder.
    """
    one, other = epochs
    seconds, root = within
    parts = parts_of(real_loader(loader))
    dataset = parts["dataset"]
    held = own_attributes(dataset)
    draws = max((one.counts(name).total() for name in one.parts), default=0)
    if hasattr(type(dataset), "set_epoch") or any("epoch" in str(name) for name in held):
        waits = one.parts == other.parts and _waits(dataset, seconds)
        order = _order_of(dataset, draws, root)._replace(waits_at="dataset") if waits else None
        return {"why_not": TOLD, "order": to_wire(order)}
    found = {
        "persistent": parts.get("persistent_workers") is True,
        "dataset": type_name(type(dataset)),
        "is_stream": True,
        "draws": draws,
        "generators": [name for name, _ in generators_in("dataset", dataset, 0, [])],
    }
    if one.parts != other.parts or (alone is not None and not _has_others(one, alone)):
        return found
    try:
        varies = _varies(dataset, parts["num_workers"], parts.get("worker_init_fn"), seconds)
    except Exception as error:  # the user's code, which is not asked for this by the job
        if is_our_line(error):
            raise
        return {"why_not": ITERABLE}
    if varies is None:
        return {"why_not": UNKNOWN}
    if varies.order and not varies.samples:
        return {**found, "order": to_wire(_order_of(dataset, draws, root))}
    return {**found, "varies": varies.samples, "epochs_alike": True}


def _order_of(dataset: Any, samples: int, root: str) -> SameOrder:
    at = defined(type(dataset), root, if_own=True).at
    return SameOrder(sampler=type_name(type(dataset)), at=at, samples=samples)


def _waits(dataset: Any, seconds: float) -> bool:
    """Whether a stream gives the same samples in another order as soon as it is told the epoch."""
    until = time.monotonic() + seconds
    orders = []
    for epoch in range(2):
        dataset.set_epoch(epoch)
        run = _run(dataset, 0, until)
        if run is None:
            return False
        orders.append(run)
    return _is_reordered(*orders)


def _has_others(one: Noted, alone: Noted) -> bool:
    """Whether a part of samples is another one without workers."""
    return any(one.counts(name).keys() != alone.counts(name).keys() for name in one.parts)


class _Varies(NamedTuple):
    """What is another one when random numbers are."""

    samples: bool
    order: bool


def _varies(dataset: Any, workers: int, init: Any, seconds: float) -> _Varies | None:
    """Say what is otherwise when random numbers are; None where nobody can tell."""
    until = time.monotonic() + seconds
    place = as_worker(dataset, workers, 0) if workers else contextlib.nullcontext()
    with kept_random_state(), place:
        if init is not None and workers:
            init(0)
        first = _run(dataset, 0, until)
        if first is None or len(first.samples) < FEWEST or _run(dataset, 0, until) != first:
            return None
        order = False
        for way in range(1, _WAYS):
            again = _run(dataset, way, until)
            varies = None if again is None else _made_otherwise(first, again)
            if again is None or varies is None:
                return None
            order = order or _is_reordered(first, again)
            if varies:
                return _Varies(samples=True, order=order)
    return _Varies(samples=False, order=order)


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


def _is_reordered(one: _Run, other: _Run) -> bool:
    """Whether most samples come in both, each once, and in another order."""
    first, second = ([tuple(each.values()) for each in run.samples] for run in (one, other))
    both = {*first} & {*second}
    if len({*first}) < len(first) or 2 * len(both) < len(first):
        return False
    return [each for each in first if each in both] != [each for each in second if each in both]


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
        if len(mine) == len(one) and len(others) == len(other) and len(both) >= FEWEST:
            return [(mine[name], others[name]) for name in both]
    for key in one[0]:
        if agree([each.get(key, 0) for each in one], [each.get(key, 0) for each in other]):
            return list(zip(one, other, strict=False))
    return None
