"""How many batches an epoch of a loader has, and of what."""

from __future__ import annotations

import itertools
import time
from collections.abc import Mapping
from typing import Any

from preflight.loaders.epoch_length import EpochLength
from preflight.objects.attributes import classes, own_attributes
from preflight.objects.paths import type_name

# Samples of a larger data set are not counted one by one.
_MOST = 1_000_000

_SECONDS = 2.0


def epoch_of(loader: object) -> EpochLength | None:
    """Ask what torch asks: the lengths of the sampler and of the data set.

    A sampler of the user's own may have its length only once it is drawn from.
    """
    if not issubclass(type(loader), classes("torch.utils.data", "DataLoader")):
        return None
    parts = own_attributes(loader)
    dataset, sampler, batches = (parts.get(k) for k in ("dataset", "sampler", "batch_sampler"))
    drawing = [sampler] if batches is None else [sampler, batches]
    if issubclass(type(dataset), classes("torch.utils.data", "IterableDataset")):
        return None
    if not all(type_name(type(one)).startswith("torch.utils.data.") for one in drawing):
        return None
    try:
        return EpochLength(
            samples=len(dataset),  # type: ignore[arg-type]
            drawn=len(sampler),  # type: ignore[arg-type]
            batches=len(drawing[-1]),  # type: ignore[arg-type]
            batch_size=batch_size_of(parts),
            drop_last=bool(getattr(batches, "drop_last", parts.get("drop_last"))),
        )
    except Exception:  # noqa: BLE001  a data set's length is the user's own code
        return None


def batch_size_of(parts: Mapping[str, object]) -> int | None:
    """Give the batch size of a DataLoader, also where torch's own batch sampler alone has it."""
    size, batches = parts.get("batch_size"), parts.get("batch_sampler")
    if size is None and type(batches) in classes("torch.utils.data", "BatchSampler"):
        size = getattr(batches, "batch_size", None)
    return size if isinstance(size, int) else None


def divided_by(parts: Mapping[str, Any]) -> dict[str, Any]:
    """Say among how many ranks its sampler divides: torch's, one made like it, or accelerate's.

    Of torch's, also how many samples, and with which seed it shuffles them.
    """
    batches = own_attributes(parts.get("batch_sampler"))
    samplers = (parts.get("sampler"), batches.get("sampler"))
    holders = (*map(own_attributes, samplers), batches)
    names = ("num_replicas", "num_processes", "world_size", "num_ranks")
    found = (one.get(name) for one in holders for name in names)
    told = {"replicas": next((one for one in found if isinstance(one, int)), None)}
    torchs = classes("torch.utils.data", "DistributedSampler")
    drawing = [getattr(kind, "__iter__", None) for kind in torchs]
    for one in samplers:
        if isinstance(one, torchs) and getattr(type(one), "__iter__", None) in drawing:
            own = own_attributes(one)
            seed = own.get("seed") if own.get("shuffle") else None
            return {**told, "divided": length_of(own.get("dataset")), "seed": seed}
    return told


def gives_none(own: Mapping[str, Any]) -> bool:
    """Whether a data set gives None in place of some of its samples, as far as a few tell."""
    dataset: Any = own.get("dataset")
    size, until = length_of(dataset), time.monotonic() + _SECONDS
    if not size or size > _MOST:
        return False
    some = range(0, size, size // 256 | 1)  # odd: what is lacking may be every second one
    in_time = itertools.takewhile(lambda _: time.monotonic() < until, some)
    return any(dataset[index] is None for index in in_time)


def length_of(thing: Any) -> int | None:
    """Give the `len()` of a loader, or of a data set; None where it has none."""
    try:
        return len(thing)
    except Exception:  # noqa: BLE001  of a stream it is a TypeError, or whatever its author chose
        return None
