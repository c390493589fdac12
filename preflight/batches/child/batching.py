"""Says whether what a loader gives was put together of samples, by torch or by webdataset."""

from __future__ import annotations

from typing import Any

from preflight.batches.child.one_epoch import Batching
from preflight.loaders.epoch import batch_size_of
from preflight.loaders.workers.starting import is_data_loader
from preflight.loaders.wrappers import as_it_comes, real_loader
from preflight.objects.attributes import classes, own_attributes
from preflight.pipelines.facts import Stage
from preflight.pipelines.handlers import named
from preflight.pipelines.live import applied
from preflight.pipelines.stages import stage_of

# Pipelines that stand in one another: more is nobody's loader.
_DEEPEST = 5

_TAKES_APART = ("unbatched", "unlisted")
_READS_SAMPLES = ("tarfile_samples", "tarfile_to_samples", "group_by_keys")


_BY_ITSELF, _UNKNOWN = Batching(is_done=False), Batching(is_done=None)


def batching_of(loader: object) -> Batching:
    """Say how samples are put together in what it gives, as far as that is known.

    What is no DataLoader, and stands around none, was named for the batches that it gives.
    """
    real, stages = real_loader(loader), own_attributes(loader).get("pipeline")
    if not is_data_loader(real):
        return Batching()
    found = _of_data_loader(real)
    if type(stages) is list and stages:  # webdataset's WebLoader
        return _of_stages(stages[1:], 0, before=found)
    if as_it_comes(loader) is not None:
        return found
    return Batching() if found.is_done else _UNKNOWN


def _of_data_loader(real: object) -> Batching:
    parts = own_attributes(real)
    batched = parts.get("batch_size") is not None or parts.get("batch_sampler") is not None
    if batched or isinstance(parts.get("sampler"), classes("torch.utils.data", "BatchSampler")):
        return Batching(size=batch_size_of(parts))
    return _of_data(parts.get("dataset"), 0)


def _of_data(thing: object, depth: int) -> Batching:
    parts = own_attributes(thing)
    stages, several = parts.get("pipeline"), parts.get("datasets")
    if depth > _DEEPEST:
        return _UNKNOWN
    if type(stages) is list:
        return _of_stages(stages, depth + 1, before=_UNKNOWN)
    if isinstance(several, (list, tuple)) and type(thing).__module__.startswith("webdataset."):
        found = {_of_data(one, depth + 1) for one in several}
        return found.pop() if len(found) == 1 else _UNKNOWN
    return _UNKNOWN


def _of_stages(stages: list[Any], depth: int, *, before: Batching) -> Batching:
    """Go back from the last stage to the one that says it; `before` is what comes to the first."""
    as_made = True
    for stage in reversed(stages):
        parts = own_attributes(stage)
        found = None
        if "pipeline" in parts or "datasets" in parts:
            found = _of_data(stage, depth)
        else:
            function, args, given = applied(stage, parts)
            name = named(function if function is not None else type(stage)).lstrip("_")
            made = stage_of(Stage(kind="other"), name, args, given)
            if name in _TAKES_APART or name.startswith(_READS_SAMPLES):
                found = _BY_ITSELF
            elif made.kind == "batched":
                found = Batching(size=made.size or None)
            elif made.kind == "other" and name != "map":  # it may give one for several
                found = _UNKNOWN
            as_made = as_made and made.kind in ("pass", "split", "batched")
        if found is not None:
            return found if as_made or found.size is None else found._replace(size=None)
    return before if as_made else before._replace(size=None)
