"""Runs in a process of its own: says whether two workers of a stream draw the same random numbers.

Their generators stand alike behind the first sample, go on with each, and begun otherwise make
other samples. What decides on an order, or on where the next sample comes from, makes none.
"""

from __future__ import annotations

import functools
import gc
import multiprocessing
import sys
import time
import warnings
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

from preflight.batches.child.between_workers import as_worker
from preflight.batches.child.stream_runs import (
    MOST_SAMPLES,
    WAYS,
    StreamRun,
    made_otherwise,
    parts_of_sample,
)
from preflight.loaders.workers.starting import parts_of
from preflight.loaders.wrappers import real_loader
from preflight.objects.attributes import classes
from preflight.objects.random_state import Generators, known_generators, seed

# Samples behind the first one, by which a generator has gone on that makes them.
_FEW = 3

# Seconds after which copies of the process are given up.
_PATIENCE = 20
_END = object()


class _Calls:
    """A data set whose samples are what these functions give, each in a copy of the process."""

    def __init__(self, calls: Sequence[Callable[[], Any]]) -> None:
        self.calls = calls

    def __len__(self) -> int:
        return len(self.calls)

    def __getitem__(self, number: int) -> Any:
        return self.calls[number]()


def workers_draw_alike(loader: Any, seconds: float) -> bool:
    """Whether two workers make their samples by the same random numbers, as far as can be told."""
    until = time.monotonic() + seconds
    parts = parts_of(real_loader(loader))
    torch: Any = sys.modules["torch"]
    may_copy = "fork" in multiprocessing.get_all_start_methods()
    if parts.get("num_workers", 0) < 2 or not may_copy or torch.cuda.is_initialized():
        return False
    known = known_generators()
    one, other = _in_copies([functools.partial(_used, parts, known, worker) for worker in (0, 1)])
    alike = one & other
    if not alike or time.monotonic() > until:
        return False
    runs = [functools.partial(_run, parts, known, alike, way, until) for way in (0, *range(WAYS))]
    first, again, *others = _in_copies(runs)
    if first is None or first != again:
        return False
    return any(run is not None and made_otherwise(first, run) for run in others)


def _in_copies(calls: Sequence[Callable[[], Any]]) -> list[Any]:
    loader: Any = classes("torch.utils.data", "DataLoader")[0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of more workers than there are processors
        asked = loader(
            _Calls(calls),
            batch_size=1,
            num_workers=len(calls),
            collate_fn=list,
            multiprocessing_context="fork",
            timeout=_PATIENCE,
        )
        return [one for (one,) in asked]


def _samples(parts: Any, worker: int) -> Iterator[Any]:
    """Give the samples of a worker, with numbers of its own."""
    with as_worker(parts["dataset"], parts["num_workers"], worker):
        seed(worker + 1)
        if parts.get("worker_init_fn") is not None:
            parts["worker_init_fn"](worker)
        yield from parts["dataset"]


def _used(parts: Any, known: Generators, worker: int) -> set[int]:
    """Give where generators stand behind the first sample which then go on."""
    gc.freeze()
    samples = _samples(parts, worker)
    next(samples)
    generators = Generators(known)
    before = generators.states()
    for _ in range(_FEW):
        next(samples, _END)
    after = generators.states()
    return {state for one, state in before.items() if after[one] != state}


def _run(
    parts: Any, known: Generators, alike: Collection[int], way: int, until: float
) -> StreamRun | None:
    """Go through a stream with the same random numbers for each sample.

    Those that workers have alike go on from where they begin behind the first.
    """
    gc.freeze()
    samples = _samples(parts, 0)
    next(samples)
    generators, found = Generators(known), list[dict[Any, int]]()
    states = generators.states()
    chosen = {one for one, state in states.items() if state in alike}
    generators.begin_those(chosen, way)
    while len(found) < MOST_SAMPLES:
        generators.begin_those(states.keys() - chosen, 0)
        sample = next(samples, _END)
        if sample is _END or time.monotonic() > until:
            return StreamRun(found, is_whole=True) if sample is _END else None
        found.append(parts_of_sample(sample))
    return StreamRun(found, is_whole=False)
