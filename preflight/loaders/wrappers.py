"""Knows what stands around a DataLoader: webdataset's WebLoader, accelerate's and Fabric's.

And what stands in its place: a generator, or a function that gives one batch each time.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from typing import Any

from preflight.objects.attributes import classes, own_attributes
from preflight.values.own_files import passes_on

# Where they keep the DataLoader: accelerate's of all versions since 1.0, and Lightning Fabric's.
_KEEPING = ("base_dataloader", "_dataloader")


def real_loader(thing: object) -> object:
    """Give a loader itself; of what stands around a DataLoader, that one."""
    stages = own_attributes(thing).get("pipeline")
    if type(stages) is list and stages:
        return stages[0]
    kept = _kept(thing)
    return own_attributes(thing)[kept] if kept else thing


def as_it_comes(thing: object) -> object | None:
    """Give the DataLoader whose batches a loader gives as they are; None: it makes others."""
    inner = real_loader(thing)
    return inner if inner is thing or _kept(thing) else None


def with_real(thing: Any, inner: object) -> object:
    """Give a loader with another DataLoader in it; the user's own stays as it is."""
    if real_loader(thing) is thing:
        return inner
    kept = _kept(thing)
    if not kept:
        other = copy.copy(thing)
        other.pipeline = [inner, *thing.pipeline[1:]]
        return other
    other = object.__new__(type(thing))  # accelerate's own way to copy makes another loader
    vars(other).update(own_attributes(thing), **{kept: inner})
    return other


def _kept(thing: object) -> str:
    if not hasattr(type(thing), "__iter__"):  # it gives no batches by itself
        return ""
    own = own_attributes(thing)
    loader = classes("torch.utils.data", "DataLoader")
    return next((name for name in _KEEPING if issubclass(type(own.get(name)), loader)), "")


class BatchSource:
    """What gives batches and is no DataLoader, with the attributes of one that has no workers."""

    def __init__(self, batches: Iterable[Any], what: str, *, once: bool) -> None:
        self.dataset = batches
        self.what = what
        """For people: `a generator of batches`."""

        self.once = once
        """Whether what was drawn does not come again."""

        self.num_workers = 0
        self.collate_fn = None

    @passes_on
    def __iter__(self) -> Iterator[Any]:
        return iter(self.dataset)
