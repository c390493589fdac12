"""Which samplers of a job are said to shuffle alike in each epoch."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("torch")

import torch
from torch.utils.data import Sampler

from preflight.epochs.order import same_order

NUMBER = 50


class Seeded(Sampler):
    """Shuffles by one seed each time."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __len__(self) -> int:
        return self.number

    def __iter__(self) -> Iterator[int]:
        generator = torch.Generator()
        generator.manual_seed(7)
        yield from torch.randperm(self.number, generator=generator).tolist()


class SeededForEver(Seeded):
    """Does so, and goes round and round."""

    def __iter__(self) -> Iterator[int]:
        generator = torch.Generator()
        generator.manual_seed(7)
        return itertools.cycle(torch.randperm(self.number, generator=generator).tolist())


class OwnLength(Seeded):
    """Says less than it gives."""

    def __len__(self) -> int:
        return self.number - 5


@pytest.mark.parametrize("kind", [Seeded, OwnLength])
def test_the_samples_of_an_order_that_stays_are_counted(kind: type[Seeded]) -> None:
    found = same_order({"sampler": kind(NUMBER)}, str(Path(__file__).parent))

    assert found is not None
    assert found.samples == NUMBER


def test_one_without_end_has_no_order_that_is_the_same_in_each_epoch() -> None:
    assert same_order({"sampler": SeededForEver(NUMBER)}, str(Path(__file__).parent)) is None
