"""A data set that seeds alike for each sample is told by its line; one that seeds well is not."""

# ruff: noqa: D102, NPY002  (jobs are written so)

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, Dataset

from preflight.epochs.constant_seeds import seeded_alike
from preflight.facts import RandomDraws, SeededAlike
from preflight.loaders.workers.starting import parts_of
from preflight.testing import ask
from tests.asking import reason

HERE = Path(__file__)
CONFIG = 7


class Drawn(Dataset[Any]):
    """Samples that are made by chance."""

    def __init__(self, draw: Callable[[int], object]) -> None:
        self.draw = draw

    def __len__(self) -> int:
        return 12

    def __getitem__(self, index: int) -> Any:
        return index, self.draw(index)


class Told(Drawn):
    """One that seeds by the epoch, which is the same for all samples."""

    epoch = 0

    def set_epoch(self, epoch: int) -> None:
        self.epoch = epoch


def by_random(_index: int) -> float:
    random.seed(0)
    return random.random()


def by_setting(_index: int) -> Any:
    np.random.seed(CONFIG)
    return np.random.rand()


def by_torch(_index: int) -> float:
    torch.manual_seed(1)
    return float(torch.rand(1))


def by_own(_index: int) -> float:
    rng = np.random.default_rng(3)
    return float(rng.random())


def by_index(index: int) -> float:
    random.seed(index)
    return random.random()


def by_worker(_index: int) -> float:
    random.seed(torch.initial_seed() % 2**32)
    return random.random()


def in_pairs(_index: int) -> tuple[float, float]:
    number = random.randrange(2**32)
    random.seed(number)
    image = random.random()
    random.seed(number)
    return image, random.random()


def beside(_index: int) -> float:
    """Seed what nothing is drawn from."""
    np.random.seed(0)
    return random.random()


def anew(_index: int) -> float:
    random.seed()
    return random.random()


def not_at_all(index: int) -> float:
    random.seed(0)
    return index / 2


def chosen(index: int) -> float:
    """Seed for few of them."""
    if index == 3:
        random.seed(0)
    return random.random()


def found(draw: Callable[[int], object], kind: type[Drawn] = Drawn, **given: Any) -> Any:
    loader = DataLoader(kind(draw), **{"shuffle": True, **given})
    return seeded_alike(parts_of(loader), str(HERE.parent), 60.0, lambda **_: None)


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize(
    ("draw", "code"),
    [
        (by_random, "random.seed(0)"),
        (by_setting, "np.random.seed(CONFIG)"),
        (by_torch, "torch.manual_seed(1)"),
        (by_own, "rng = np.random.default_rng(3)"),
    ],
)
def test_a_seed_that_is_the_same_for_all_samples_is_told(
    draw: Callable[[int], object], code: str, workers: int
) -> None:
    before = random.getstate()
    seen = found(draw, num_workers=workers)

    assert (seen.dataset.endswith("Drawn"), seen.code) == (True, code)
    assert HERE.read_text("utf-8").splitlines()[seen.at.line - 1].strip() == code
    assert random.getstate() == before


@pytest.mark.parametrize("draw", [by_index, by_worker, in_pairs, beside, anew, not_at_all, chosen])
def test_what_seeds_otherwise_is_left_alone(draw: Callable[[int], object]) -> None:
    assert found(draw) is None


def test_what_is_not_shuffled_or_is_told_the_epoch_is_not_asked() -> None:
    assert found(by_random, shuffle=False) is None
    assert found(by_random, Told) is None


def test_it_is_told_without_workers_and_not_of_an_evaluation() -> None:
    seeded = SeededAlike(dataset="job.Rows", code="random.seed(0)")
    drawn = RandomDraws(name="job:make", why_not="it has no workers", seeded=seeded)
    (one,) = ask("loader-random", drawn)

    assert "`random.seed(0)` whichever sample it is asked for" in one.message
    assert reason("loader-random", drawn) is None
    assert ask("loader-random", RandomDraws(name="job:make_val", seeded=seeded)) == []
