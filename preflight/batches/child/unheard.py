"""Runs in a process of its own: finds workers that do not hear which epoch their data set is told.

Workers that outlive an epoch (`persistent_workers=True`) have a copy of the data set from before.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Mapping
from typing import Any

from preflight.epochs.facts import SameOrder
from preflight.epochs.sample_numbers import digest
from preflight.loaders.workers.starting import configured
from preflight.objects.attributes import classes, own_attributes
from preflight.objects.paths import type_name
from preflight.objects.random_state import seed
from preflight.objects.where import defined

LATE = 7
"""An epoch that no job begins with."""

# Samples that are asked for: the epoch may change some and leave others as they are.
_FEW = 4


class _Numbered:
    """A data set that gives numbers for samples, each made with the same random numbers."""

    def __init__(self, dataset: Any) -> None:
        self._dataset = dataset

    def __getattr__(self, name: str) -> Any:
        return getattr(vars(self)["_dataset"], name)

    def __getitem__(self, index: Any) -> int:
        seed(0)
        return digest(self._dataset[index])


def unheard_epochs(
    loader: Any, parts: Mapping[str, Any], root: str, seconds: float, tell: Callable[..., None]
) -> SameOrder | None:
    """Say that workers which are kept make the samples of another epoch as they made those before.

    Args:
        loader: a DataLoader over a data set that is asked by index.
        parts: its attributes.
        root: the job's folder.
        seconds: how long it may take.
        tell: says that it goes on.
    """
    dataset, until = parts["dataset"], time.monotonic() + seconds
    told = _telling(dataset)
    if told is None or not (parts.get("persistent_workers") is True and parts.get("num_workers")):
        return None
    few = [*itertools.islice(_indices(parts), _FEW)]

    def numbers(asked: Any, epoch: int) -> list[Any]:
        told(epoch)
        tell(beside=epoch)
        return [*asked] if time.monotonic() < until else []

    before, kept = own_attributes(dataset).get("epoch"), _asking(loader, dataset, few)
    try:
        first, again, other = (numbers(kept, epoch) for epoch in (LATE, LATE, LATE + 1))
        if not first == again == other or not all(type(one) is int for one in first):
            return None
        plain = classes("torch.utils.data", "DataLoader")[0]
        first, again, other = (
            numbers(_asking(loader, dataset, few, plain), epoch) for epoch in (LATE, LATE, LATE + 1)
        )
    finally:
        told(before if isinstance(before, int) else 0)
    if not first or first != again or len(other) < len(first) or first == other:
        return None
    at = defined(type(dataset), root, if_own=True).at
    name = type_name(type(dataset))
    return SameOrder(sampler=name, at=at, waits_at="dataset", is_unheard=True, of_samples=True)


def _telling(dataset: Any) -> Callable[[int], object] | None:
    """Give what tells a data set the epoch; None: nothing does."""
    method = getattr(type(dataset), "set_epoch", None)
    if callable(method):
        return lambda epoch: method(dataset, epoch)
    if type(own_attributes(dataset).get("epoch")) is int:
        return lambda epoch: setattr(dataset, "epoch", epoch)
    return None


def _indices(parts: Mapping[str, Any]) -> Any:
    batches = parts.get("batch_sampler")
    return parts["sampler"] if batches is None else itertools.chain.from_iterable(batches)


def _asking(loader: Any, dataset: Any, few: list[Any], kind: type | None = None) -> Any:
    """Have one worker asked for few samples as the loader asks its own, and by another class."""
    other = configured(loader, 1, None)
    own = {"sampler": few, "batch_sampler": None, "batch_size": None, "collate_fn": _as_it_is}
    vars(other).update(own, dataset=_Numbered(dataset))
    if kind is not None:
        other.__class__ = kind
    return other


def _as_it_is(sample: Any) -> Any:
    return sample
