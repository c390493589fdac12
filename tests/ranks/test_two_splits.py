"""A loader that accelerate divides, and whose sampler divides already."""

from __future__ import annotations

from typing import Any

import pytest

from preflight.objects.facts import Definition
from preflight.ranks.compare import order_of
from preflight.ranks.epoch_items import Wanted, told_of_epoch
from preflight.ranks.made_facts import OtherItems

RANKS = 4
NAMES = [f"{number:02}.png" for number in range(16)]


def _told(rank: int, *, replicas: int | None) -> dict[str, Any]:
    """What a rank tells of it, as `prepare` makes it of a loader with such a sampler."""
    shards = pytest.importorskip("accelerate.data_loader")
    from torch.utils.data import BatchSampler, DataLoader, DistributedSampler, SequentialSampler

    sampler: Any = SequentialSampler(NAMES)
    if replicas is not None:
        place = rank % replicas
        sampler = DistributedSampler(NAMES, replicas, place)  # type: ignore[arg-type, var-annotated]
    batches = shards.BatchSamplerShard(BatchSampler(sampler, 2, drop_last=False), RANKS, rank)
    loader = DataLoader(NAMES, batch_sampler=batches)  # type: ignore[arg-type, var-annotated]
    return told_of_epoch(loader, Wanted(items=True), lambda: None)


@pytest.mark.parametrize(
    ("replicas", "left"),
    [(None, ()), (1, ()), (RANKS, (OtherItems("twice", 2, 4),))],
    ids=["no other", "of one rank", "of all ranks"],
)
def test_samples_of_a_part_of_a_part_are_counted(
    replicas: int | None, left: tuple[OtherItems, ...]
) -> None:
    """Four real ranks had 8 of the 16."""
    tellings = _told(0, replicas=replicas), _told(RANKS - 1, replicas=replicas)

    assert order_of("it", Definition(), (RANKS, 1), tellings, {}).found == left
