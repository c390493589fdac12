"""Says how many batches an epoch of a loader has, before any is drawn."""

from __future__ import annotations

from collections.abc import Mapping

from preflight.loaders.facts import EpochLength
from preflight.objects.attributes import classes, own_attributes
from preflight.objects.paths import type_name


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
