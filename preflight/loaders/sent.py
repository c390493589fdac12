"""Looks at what a DataLoader would send to its workers, without starting any."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from preflight.loaders.epoch import epoch_of
from preflight.loaders.facts import Sent
from preflight.loaders.inherited import inherited
from preflight.loaders.refused import described
from preflight.loaders.workers.starting import (
    configured,
    parts_of,
    start_method_of,
    travels_there,
)
from preflight.loaders.wrappers import real_loader
from preflight.objects import where
from preflight.objects.attributes import classes, own_attributes
from preflight.objects.facts import Definition
from preflight.objects.paths import type_name
from preflight.objects.sending import pickling
from preflight.objects.sending.pickle_trial import Roots
from preflight.pipelines.facts import RESAMPLED, Reads
from preflight.pipelines.live import reads, stages_of
from preflight.pipelines.stage_lines import Lines
from preflight.users_code.frames import own_sources

# Pipelines that stand in one another: more is nobody's loader.
_DEEPEST = 5

# Stages that end a stream.
_CUTS = frozenset({"slice", "islice"})

_LISTS = frozenset({"SimpleShardList", "ResampledShards", "ResampledShardList"})
_SHARD_STAGES = frozenset({"split_by_node", "split_by_worker", "check_empty"})

SENT = ("dataset", "collate_fn", "worker_init_fn")
"""What torch hands to each worker. The sampler and the generator stay where they are."""


def is_loader(thing: object) -> bool:
    """Whether it is a DataLoader, or holds its dataset and its workers as one does."""
    return {"dataset", "num_workers", "collate_fn"} <= parts_of(real_loader(thing)).keys()


def is_dataset(thing: object) -> bool:
    """Whether it is a data set that no loader has been made of yet, and not a dict of several."""
    if is_loader(thing) or isinstance(thing, dict):
        return False
    kind = type(thing)
    return issubclass(kind, classes("torch.utils.data", "Dataset")) or any(
        type_name(base).startswith("datasets.") and "Dataset" in base.__name__
        for base in kind.__mro__
    )


class Known(NamedTuple):
    """What is known of a loader beside itself."""

    name: str
    """What the user called it."""

    root: str
    """The job's folder, absolute."""

    factory: object | None = None
    """What made it."""

    num_workers: int | None = None
    """By the job's settings, which count before the loader's own."""

    start_method: str | None = None


def reads_of(thing: object, known: Known) -> tuple[Reads, ...]:
    """Say what a loader reads, where it says so itself."""
    made = where.defined(known.factory, known.root).at
    lines = Lines(made, known.root, lambda: own_sources(known.root))
    return reads(thing, known.name, made, lines)


def sent_by(loader: object, known: Known) -> Mapping[str, Any]:
    """Give what each worker of a loader is sent; empty where it has none."""
    parts = parts_of(configured(real_loader(loader), known.num_workers, known.start_method))
    return _sent(parts) if parts.get("num_workers") else {}


def walk_loader(
    loader: object,
    known: Known,
    walked: Callable[[Roots], pickling.PickleWalk] = pickling.walk,
) -> Sent:
    """Name everything that this loader would send and that cannot travel.

    Nothing is walked where there are no workers: then nothing is sent.
    """
    name, root, factory, num_workers, start_method = known
    real = real_loader(loader)
    method, method_from = start_method_of(own_attributes(real), start_method, root)
    parts = parts_of(configured(real, num_workers, start_method))
    workers = parts.get("num_workers", 0) if num_workers is None else num_workers
    own_workers = parts_of(real).get("num_workers")
    stages = list(_stages(own_attributes(real), 0))
    walk = pickling.PickleWalk()
    if workers:
        walk = walked(list(_sent(parts).items()))
    made = where.defined(factory, root).at if factory is not None else Definition()
    return Sent(
        name=name,
        defined=made,
        num_workers=int(workers),
        start_method=method,
        start_method_from=method_from,
        objects=described(
            (one for one in walk.refused if not travels_there(one.thing, method, method_from)),
            root,
            made,
            {id(one.thing) for one in walk.refused},
        ),
        cut=walk.cut,
        inherited=inherited(_sent(parts), root) if workers else None,
        resampled=resamples(own_attributes(real)),
        endless=never_ends(loader),
        own_workers=own_workers if isinstance(own_workers, int) else None,
        shards=_listed(stages),
        epoch=epoch_of(real),
        shard_stages=tuple(
            one.__name__
            for one in stages
            if type(one) is types.FunctionType and one.__name__ in _SHARD_STAGES
        ),
    )


def _sent(parts: Mapping[str, Any]) -> Mapping[str, Any]:
    return {part: parts[part] for part in SENT if parts.get(part) is not None}


def resamples(parts: Mapping[str, Any]) -> bool:
    """Whether a loader draws shards with replacement, by its own attributes and those in them."""
    return any(type(one).__name__ in RESAMPLED for one in _stages(parts, 0))


def never_ends(loader: object) -> bool:
    """Whether shards are drawn again and again, and nothing in its pipelines ends the stream."""
    parts = own_attributes(loader)
    return resamples(parts) and all(map(_goes_on, (loader, *_stages(parts, 0))))


def _goes_on(stage: object) -> bool:
    """Whether it gives something for as long as it is given something, as far as it is known."""
    parts = own_attributes(stage)
    if parts.keys() & {"pipeline", "dataset"}:
        return (parts.get("nsamples") or 0) <= 0
    if type(stage).__name__ in RESAMPLED:
        return parts.get("nshards") == sys.maxsize
    told = stages_of(stage, Lines(Definition(), ""))
    return all((one.kind != "other" or one.name == "map") and one.name not in _CUTS for one in told)


def _listed(stages: Iterable[object]) -> int | None:
    """Count the shards that a pipeline lists by their addresses."""
    for one in stages:
        urls = own_attributes(one).get("urls")
        if type(one).__name__ in _LISTS and isinstance(urls, list):
            return len(urls)
    return None


def _stages(parts: Mapping[str, Any], depth: int) -> Iterator[object]:
    if depth > _DEEPEST:
        return
    inner = parts.get("pipeline")
    for one in (parts.get("dataset"), *(inner if isinstance(inner, (list, tuple)) else ())):
        if one is not None:
            yield one
            yield from _stages(own_attributes(one), depth + 1)
