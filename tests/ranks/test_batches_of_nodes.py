"""What gives batches and is no DataLoader, such as nodes of torchdata, may be divided by rank."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

import preflight

SOURCE = """
import os

import torch
from torch.utils.data import DistributedSampler, RandomSampler

RANK, WORLD = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
ALL = range(48)
ROWS = [torch.tensor([at, 7]) for at in range(49)]


def nodes(sampler, *, collate=True):
    import torchdata.nodes as tn

    node = tn.Batcher(tn.Mapper(tn.SamplerWrapper(sampler), ROWS.__getitem__), 4)
    return tn.Loader(tn.Mapper(node, torch.stack) if collate else node)


def seeded(): return RandomSampler(ALL, generator=torch.Generator().manual_seed(0))
def undivided(): return nodes(seeded())
def divided(): return nodes(DistributedSampler(ALL, shuffle=False))
def listed(): return nodes(DistributedSampler(ALL, shuffle=False), collate=False)
def by_itself(): return nodes(RandomSampler(ALL))
def from_one(): return nodes(range(RANK + 1, 49, WORLD))


class Batches:
    def __init__(self, own): self.own = own

    def __iter__(self):
        for at in self.own[::4]:
            yield {"rows": torch.arange(at, at + 4), "labels": torch.zeros(4)}


def own(): return Batches(ALL[RANK * 12:][:12])
def own_undivided(): return Batches(ALL)
"""

# In words of the page.
FOUND = {
    "undivided": "gives each of 4 ranks all of its 48 samples, in the same order",
    "own_undivided": "gives each of 4 ranks all of its 48 samples, in the same order",
    "from_one": "leaves 1 of 49 samples to none of 4 ranks",
}


@pytest.mark.skipif(importlib.util.find_spec("torchdata") is None, reason="needs torchdata")
def test_nodes_that_every_rank_reads_as_a_whole_are_told(tmp_path: Path, copies: None) -> None:
    """Not those that ranks divide, or shuffle each by itself."""
    (tmp_path / "train.py").write_text(SOURCE, encoding="utf-8")
    names = (*FOUND, "divided", "listed", "by_itself", "own")

    report = preflight.run(
        *(f"loader=train.py:{one}" for one in names),
        folder=str(tmp_path),
        world_size=4,
        select=["world-order", "world-steps"],
    )

    said = {(one.at.name or "").rpartition(":")[2]: one for one in report.findings}
    assert {name: one.message for name, one in said.items()} == FOUND
    assert said["undivided"].severity.word == "note"  # a sampler that divides is in the source
