"""Draws shards as a stream of webdataset draws them, with its workers, and opens none."""

from __future__ import annotations

import copy
import itertools
from typing import Any, NamedTuple

from preflight.loaders.workers.starting import parts_of
from preflight.loaders.wrappers import real_loader
from preflight.objects.attributes import own_attributes
from preflight.objects.facts import Definition
from preflight.objects.paths import type_name
from preflight.objects.random_state import kept_random_state
from preflight.pipelines.facts import RESAMPLED
from preflight.pipelines.live import stages_of
from preflight.pipelines.stage_lines import Lines

# Shards of each worker, and workers.
_MOST, _WORKERS = 256, 2

_DEEPEST = 5


class DrawnShards(NamedTuple):
    """What the first workers of a loader draw."""

    by: str
    """The class of what draws them."""

    addresses: list[list[str]]
    """Of each worker."""

    @property
    def are_alike(self) -> bool:
        """Whether two workers draw the same in the same order, and more than one shard."""
        first, *others = self.addresses
        return len({*first}) > 1 and bool(others) and all(one == first for one in others)


def drawn_shards(loader: object, workers: int) -> DrawnShards | None:
    """Draw the first shards of a worker or two; None: none are drawn, or nobody can tell.

    Workers of its own draw them, so that whatever is used up by that is theirs.
    """
    from torch.utils.data import DataLoader

    parts = parts_of(real_loader(loader))
    found = _before_opening(parts.get("dataset"), 0)
    if found is None:
        return None
    shards, first = found
    several = max(1, min(workers, _WORKERS))
    try:
        with kept_random_state():
            again: Any = DataLoader(
                shards,
                batch_size=None,
                num_workers=several,
                collate_fn=_address,
                worker_init_fn=parts.get("worker_init_fn"),
                multiprocessing_context=parts.get("_DataLoader__multiprocessing_context"),
            )
            every = list(itertools.islice(again, _MOST * several))
    except Exception:  # noqa: BLE001  the user's code, which is not asked for this by the job
        return None
    of_each = [every[worker::several] for worker in range(several)]
    draws = type(first).__name__ in RESAMPLED or any(len({*one}) < len(one) for one in of_each)
    is_endless = len(every) == _MOST * several
    return DrawnShards(type_name(type(first)), of_each) if draws and is_endless else None


def _before_opening(dataset: Any, depth: int) -> tuple[Any, object] | None:
    """Copy a pipeline as far as it gives shards, and say what stands first in it."""
    stages = own_attributes(dataset).get("pipeline")
    if type(stages) is not list or not stages or depth > _DEEPEST:
        return None
    opens = next((number for number, one in enumerate(stages) if _opens(one)), 0)
    first = stages[0]
    if not opens:
        return _before_opening(first, depth + 1)
    if type(first) is list or not _may_draw(type(first)):
        return None
    shards = copy.copy(dataset)
    vars(shards).update(pipeline=stages[:opens], repetitions=1, nsamples=-1)
    return shards, first


def _opens(stage: object) -> bool:
    return any(one.kind == "open" for one in stages_of(stage, Lines(Definition(), "")))


def _may_draw(kind: type) -> bool:
    """Whether it draws shards by chance, or is a class of the job's own, which may do so."""
    return kind.__name__ in RESAMPLED or not kind.__module__.startswith("webdataset")


def _address(shard: Any) -> str:
    return str(shard.get("url", shard) if isinstance(shard, dict) else shard)
