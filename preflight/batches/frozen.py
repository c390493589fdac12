"""Runs a stream as each of two workers would, with the same random numbers for each item."""

from __future__ import annotations

import contextlib
import random
import sys
import time
from collections.abc import Iterator
from typing import Any

from preflight.batches.rows import digest

# Items that are held against each other; of fewer nothing is said.
_MOST, _FEWEST = 256, 8


def give_the_same(dataset: Any, workers: int, seconds: float) -> bool:
    """Whether two workers give the same data in the same order, but for what chance makes of it.

    With the same random numbers for each item, whatever still tells two of them apart is data: no
    two of a worker may be alike, else it draws them by chance. When workers begin, their random
    numbers differ, so that orders and samples that each of them draws for itself are others.

    Args:
        dataset: the stream.
        workers: how many the loader has.
        seconds: how long it may take.
    """
    until = time.monotonic() + seconds
    try:
        one, other = (_items(dataset, workers, worker, until) for worker in (0, 1))
    except Exception:  # noqa: BLE001  the user's code, which is not asked for this by the job
        return False
    return one == other and len(one) >= _FEWEST and len({*one}) == len(one)


def _items(dataset: Any, workers: int, worker: int, until: float) -> list[int]:
    """Give a number for each of a worker's items behind the first one, with which it begins."""
    found = []
    with _as_worker(dataset, workers, worker):
        _seed(worker + 1)
        items = iter(dataset)
        next(items)
        for _ in range(_MOST):
            _seed(0)
            item = next(items, _END)
            if item is _END:
                break
            found.append(digest(item))
            if time.monotonic() > until:
                return []
    return found


_END = object()


@contextlib.contextmanager
def _as_worker(dataset: Any, workers: int, worker: int) -> Iterator[None]:
    """Have `get_worker_info` say that this is a worker."""
    from torch.utils.data._utils import worker as of_torch

    info = of_torch.WorkerInfo(
        id=worker, num_workers=workers, seed=worker + 1, rng=random, dataset=dataset
    )
    before = of_torch._worker_info  # noqa: SLF001
    of_torch._worker_info = info  # noqa: SLF001
    try:
        yield
    finally:
        of_torch._worker_info = before  # noqa: SLF001


def _seed(number: int) -> None:
    import torch

    random.seed(number)
    torch.manual_seed(number)
    numpy: Any = sys.modules.get("numpy.random")
    if numpy is not None:
        numpy.seed(number)
