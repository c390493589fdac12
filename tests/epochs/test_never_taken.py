"""Which samplers are said to leave out samples in all epochs, and which do so on purpose."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

import numpy as np
import torch

from preflight.epochs.never_taken import NeverTaken, never_taken
from tests.epochs.choosing import (
    NUMBER,
    Budget,
    Endless,
    EndlessPart,
    First,
    GoesOn,
    InOrder,
    Mixed,
    OfFewLabels,
    OfLabels,
    OfLabelsAsTheyCome,
    OfList,
    OfRank,
    Pools,
    Short,
    ShortTexts,
)

FEW = [*range(1, NUMBER, 7)]


def seen(sampler: Any, rows: int | None) -> set[int]:
    """Give what six epochs of a plain loop take."""
    found: set[int] = set()
    for _ in range(6):
        for one in itertools.islice(sampler, rows or 16 * NUMBER):
            found.update(one if isinstance(one, list) else [one])
    return found


def told(sampler: Any, rows: int | None = None) -> NeverTaken | None:
    """Ask for a loader of so many samples in each epoch."""
    own = {"dataset": range(NUMBER), "batch_sampler" if rows is None else "sampler": sampler}
    return never_taken(own, NUMBER, str(Path(__file__).parent), rows)


LEAVING: dict[str, tuple[Callable[[], Any], int | None]] = {
    "tokens": (Budget, None),
    "tokens, many buckets": (lambda: Budget(buckets=12), None),
    "tokens, asked for and too many": (lambda: Budget(buckets=12, drop_last=True), None),
    "pools": (lambda: Pools(drop_last=True), None),
    "labels, in order": (lambda: OfLabels(8), None),
    "labels, in order, as they come": (lambda: OfLabelsAsTheyCome(8), None),
    "endless and cut": (lambda: Endless(lambda: range(NUMBER)), 40),
    "endless and cut, in one order": (
        lambda: Endless(lambda: torch.randperm(NUMBER, generator=torch.Generator()).tolist()),
        40,
    ),
    "endless, of even ones": (lambda: Endless(lambda: range(0, NUMBER, 2)), 300),
    "endless, of the first half": (lambda: Endless(lambda: range(NUMBER // 2), NUMBER), 40),
}

MEANT: dict[str, tuple[Callable[[], Any], int | None]] = {
    "tokens, with what is over": (lambda: Budget(keep=True), None),
    "tokens, few, as asked for": (lambda: Budget(drop_last=True, buckets=1), None),
    "others each time": (Mixed, None),
    "pools, with what is over": (lambda: Pools(drop_last=False), None),
    "labels that fill batches": (lambda: OfLabels(5), None),
    "few labels": (lambda: OfFewLabels(8), None),
    "the first, in batches": (lambda: First(10), None),
    "in order, less than a batch": (lambda: InOrder(16), None),
    "short ones": (Short, None),
    "short texts": (ShortTexts, None),
    "a part of each rank": (OfRank, None),
    "a list": (lambda: OfList(FEW), None),
    "an array": (lambda: OfList(np.array(FEW)), None),
    "endless": (lambda: Endless(lambda: range(NUMBER)), 2 * NUMBER),
    "endless by chance": (lambda: Endless(lambda: torch.randperm(NUMBER).tolist()), 40),
    "endless, of a list": (lambda: EndlessPart(FEW), 40),
    "endless, of an array": (lambda: EndlessPart(np.array(FEW)), 40),
    "endless, of the first": (lambda: Endless(lambda: range(NUMBER // 2)), 300),
    "endless, and goes on": (GoesOn, 40),
}


@pytest.mark.parametrize("name", LEAVING)
def test_what_no_epoch_takes_is_counted_as_a_plain_loop_misses_it(name: str) -> None:
    make, rows = LEAVING[name]
    found = told(make(), rows)

    assert found is not None
    assert found.number == NUMBER - len(seen(make(), rows)) > 0
    assert found.is_rest == (rows is None)
    assert found.cut_at == (rows or 0)


@pytest.mark.parametrize("name", MEANT)
def test_what_is_left_out_on_purpose_or_by_chance_is_left_alone(name: str) -> None:
    make, rows = MEANT[name]

    assert told(make(), rows) is None
