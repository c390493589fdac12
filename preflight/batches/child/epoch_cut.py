"""Runs in a process of its own: finds streams of which each epoch is the same beginning.

As `with_epoch` ends a pipeline of webdataset that shuffles nothing: the next epoch begins anew, and
what lies behind is never read.
"""

from __future__ import annotations

import copy
import itertools
import time
from collections.abc import Iterator
from typing import Any

from preflight.batches.child.between_workers import Noted
from preflight.loaders.workers.starting import configured, is_data_loader
from preflight.loaders.wrappers import real_loader
from preflight.objects.attributes import own_attributes


def always_first(loader: Any, epochs: tuple[Noted, Noted], seconds: float) -> int:
    """Give the items after which each epoch is ended, where there are more; 0: nobody knows any.

    Args:
        loader: it is left behind as it was.
        epochs: what came in two of them.
        seconds: how long it may take.
    """
    one, other = epochs
    if not (one.is_whole and other.is_whole and one.parts) or one.parts != other.parts:
        return 0
    until = time.monotonic() + seconds
    for items, whole, there in _bounded(loader, one.workers):
        more = itertools.islice(whole, there, None)
        in_time = itertools.takewhile(lambda _: time.monotonic() < until, more)
        if next(in_time, None) is not None:
            return items
    return 0


def is_bounded(thing: object) -> bool:
    """Whether a pipeline of webdataset is ended by `with_epoch`."""
    own = own_attributes(thing)
    items, stages = own.get("nsamples"), own.get("pipeline")
    if type(items) is not int or type(stages) is not list or not stages:
        return False
    return items > 0 and own.get("repetitions") != 1  # else it asks for no number


def _bounded(loader: Any, workers: int) -> Iterator[tuple[int, Any, int]]:
    """Give what `with_epoch` says of a pipeline, that without it, and what comes in an epoch."""
    dataset = own_attributes(real_loader(loader)).get("dataset")
    for thing, times in ((loader, 1), (dataset, workers)):
        if not is_bounded(thing):
            continue
        items, stages = (own_attributes(thing)[one] for one in ("nsamples", "pipeline"))
        whole: Any = copy.copy(thing)
        first = configured(stages[0], 0, None) if is_data_loader(stages[0]) else stages[0]
        vars(whole).update(repetitions=1, nsamples=-1, pipeline=[first, *stages[1:]])
        yield items, whole, items * times
