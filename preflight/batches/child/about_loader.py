"""What is to be known of a loader before it is run past its end."""

from __future__ import annotations

from typing import Any

from preflight.loaders.epoch import batch_size_of, length_of
from preflight.loaders.sent import resamples
from preflight.loaders.wrappers import as_it_comes, real_loader
from preflight.objects.attributes import classes, own_attributes


def about_loader(loader: Any) -> dict[str, Any]:
    """Give its length, kind, and how many samples it takes in an epoch, as far as that is known."""
    real = real_loader(loader)
    own = own_attributes(real)
    iterable = classes("torch.utils.data", "IterableDataset")
    resumes = _resumes(loader, real)
    return {
        "length": length_of(loader),
        "is_iterable": isinstance(own.get("dataset"), iterable),
        "resampled": resamples(own),
        "persistent": own.get("persistent_workers") is True,
        "batch_size": batch_size_of(own),
        "takes": None if as_it_comes(loader) is None or resumes else _takes(own),
        "resumes": resumes,
    }


def _resumes(loader: object, real: object) -> bool:
    """Whether an epoch begins where another run has left it: torchdata's and accelerate's can."""
    skips = own_attributes(loader).get("skip_batches")
    state = own_attributes(real).get("next_iter_state")
    return state is not None or (isinstance(skips, int) and skips > 0)


def _takes(own: Any) -> int | None:
    """Say how many samples an epoch has, where torch's own samplers take each once."""
    batches = own.get("batch_sampler")
    sampler: Any = getattr(batches, "sampler", None)
    if type(sampler) not in (
        *classes("torch.utils.data", "SequentialSampler"),
        *classes("torch.utils.data", "RandomSampler"),
    ) or type(batches) not in classes("torch.utils.data", "BatchSampler"):
        return None
    if getattr(sampler, "replacement", False):
        return None
    taken = min(len(sampler), len(own["dataset"]))
    return taken - taken % batches.batch_size if batches.drop_last else taken
