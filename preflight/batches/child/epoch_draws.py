"""Runs in a process of its own: says whether epochs of a stream draw the same random numbers.

Nobody can ask a stream for one sample: where two of its epochs are alike, its samples are made anew
with other random numbers.
"""

from __future__ import annotations

import contextlib
import itertools
import time
from collections.abc import Iterable
from typing import Any, NamedTuple

from preflight.batches.child.between_workers import Noted, as_worker
from preflight.batches.child.drawing_alike import workers_draw_alike
from preflight.batches.child.repeated_draws import FEWEST, ITERABLE, generators_in
from preflight.batches.child.stream_runs import (
    MOST_SAMPLES,
    WAYS,
    StreamRun,
    made_otherwise,
    parts_of_sample,
)
from preflight.batches.child.unheard import LATE
from preflight.epochs.facts import SameOrder
from preflight.loaders.workers.starting import parts_of
from preflight.loaders.wrappers import real_loader
from preflight.objects.attributes import own_attributes
from preflight.objects.paths import type_name
from preflight.objects.random_state import Generators, kept_random_state, known_generators
from preflight.objects.where import defined
from preflight.values.own_files import is_our_line
from preflight.values.wire import to_wire

# Seconds that there are for this at least: short epochs are over sooner than workers have started.
_LEAST = 3.0

TOLD = "its data set is a stream that is told which epoch it is"
UNKNOWN = "its data set is a stream, and nobody can tell which of its samples are the same"


def of_stream(
    loader: Any,
    epochs: tuple[Noted, Noted],
    alone: Noted | None,
    within: tuple[float, str],
    *,
    is_divided: bool = True,
) -> dict[str, Any]:
    """Say whether epochs of a stream draw the same random numbers.

    They do where the one is as the other, though its samples are made of random numbers: what they
    are when all generators begin otherwise is another thing, and has what no sample had.

    Args:
        loader: it is left behind in any state.
        epochs: what came in two of them.
        alone: what comes without workers; None: nobody knows.
        within: how long it may take, and the job's folder.
        is_divided: whether its workers have parts.
    """
    one, other = epochs
    within = seconds, root = max(within[0], _LEAST), within[1]
    parts = parts_of(real_loader(loader))
    dataset = parts["dataset"]
    held = own_attributes(dataset)
    draws = max((one.counts(name).total() for name in one.parts), default=0)
    found = {
        "persistent": parts.get("persistent_workers") is True,
        "dataset": type_name(type(dataset)),
        "is_stream": True,
        "draws": draws,
        "generators": [name for name, _ in generators_in("dataset", dataset, 0, [])],
    }
    is_told = hasattr(type(dataset), "set_epoch") or any("epoch" in str(name) for name in held)
    differ = one.parts != other.parts or (alone is not None and not _has_others(one, alone))
    if is_told or differ:
        is_random = is_divided and alone is not None and _has_others(one, alone)
        is_alike = is_random and _draw_alike(loader, seconds)
        found |= {"varies": is_alike, "workers_alike": is_alike}
        if not is_told:
            return found
        order = _told_order(loader, one, other, within)
        return {**(found if is_alike else {"why_not": TOLD}), "order": to_wire(order)}
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


def _draw_alike(loader: Any, seconds: float) -> bool:
    with contextlib.suppress(Exception):  # the user's code, which is not asked for this by the job
        return workers_draw_alike(loader, seconds)
    return False


def _told_order(
    loader: Any, one: Noted, other: Noted, within: tuple[float, str]
) -> SameOrder | None:
    """Say what is known of an order that waits for the epoch, and whether workers hear of it."""
    until = time.monotonic() + within[0]
    parts = parts_of(real_loader(loader))
    dataset = parts["dataset"]
    is_kept = parts["num_workers"] and parts.get("persistent_workers") is True
    is_told = hasattr(dataset, "set_epoch")
    if one.parts != other.parts or (is_kept and not is_told):
        return None
    if not _waits(dataset, within[0], told=range(2) if is_told else (None, None)):
        return None
    draws = max((one.counts(name).total() for name in one.parts), default=0)
    order = _order_of(dataset, draws, within[1])
    if not is_told:
        return order._replace(counts_itself=True)
    order = order._replace(waits_at="dataset")
    if not is_kept:
        return order
    return order._replace(is_unheard=_is_unheard(loader, dataset, one, until))


def _is_unheard(loader: Any, dataset: Any, one: Noted, until: float) -> bool:
    """Whether workers that outlive an epoch go on as before when the data set is told another."""
    dataset.set_epoch(LATE)
    noted = Noted(one.workers, one.batch_size)
    for batch in loader:
        noted.take(batch)
        if time.monotonic() > until:
            return False
    return noted.parts == one.parts


def _order_of(dataset: Any, samples: int, root: str) -> SameOrder:
    at = defined(type(dataset), root, if_own=True).at
    return SameOrder(sampler=type_name(type(dataset)), at=at, samples=samples)


def _waits(dataset: Any, seconds: float, told: Iterable[int | None]) -> bool:
    """Whether a stream gives the same samples in another order as soon as it is told the epoch.

    Where it is told none, it may count them itself.
    """
    until = time.monotonic() + seconds
    orders, known = [], known_generators()
    for epoch in told:
        if epoch is not None:
            dataset.set_epoch(epoch)
        run = _run(dataset, known, 0, until)
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
    known = known_generators()
    with kept_random_state(), place:
        if init is not None and workers:
            init(0)
        first = _run(dataset, known, 0, until)
        if first is None or len(first.samples) < FEWEST:
            return None
        if not first.drew:  # each other run would be the same
            is_known = made_otherwise(first, first) is not None
            return _Varies(samples=False, order=False) if is_known else None
        if _run(dataset, known, 0, until) != first:
            return None
        order = False
        for way in range(1, WAYS):
            again = _run(dataset, known, way, until)
            varies = None if again is None else made_otherwise(first, again)
            if again is None or varies is None:
                return None
            order = order or _is_reordered(first, again)
            if varies:
                return _Varies(samples=True, order=order)
    return _Varies(samples=False, order=order)


def _run(dataset: Any, known: Generators, way: int, until: float) -> StreamRun | None:
    """Go through a stream, with the same random numbers for each sample behind the first one."""
    samples: list[dict[Any, int]] = []
    known.begin(0)
    generators, begun, drew = None, {}, False
    for sample in itertools.islice(dataset, MOST_SAMPLES):
        if time.monotonic() > until:
            return None
        if generators is None:
            generators = Generators(known)
            generators.begin(way)
            begun = generators.states()
            continue
        samples.append(parts_of_sample(sample))
        drew = drew or generators.states() != begun
        if drew:
            generators.begin(way)
    return StreamRun(samples, len(samples) < MOST_SAMPLES - 1, drew)


def _is_reordered(one: StreamRun, other: StreamRun) -> bool:
    """Whether most samples come in both, each once, and in another order."""
    first, second = ([tuple(each.values()) for each in run.samples] for run in (one, other))
    both = {*first} & {*second}
    if len({*first}) < len(first) or 2 * len(both) < len(first):
        return False
    return [each for each in first if each in both] != [each for each in second if each in both]
