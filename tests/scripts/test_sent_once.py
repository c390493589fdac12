"""What fresh workers have loaded once for a line is not sent to others in each epoch."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils.data import DataLoader, TensorDataset, default_collate

from preflight.scripts.met.loader_look import Travelled
from preflight.scripts.met.loaders import POINTS
from preflight.users_code.facts import Frame
from tests.scripts.rehearsing import installed

FIRST = Frame(file="train.py", line=9, function="train", text="for batch in loader:")
OTHER = Frame(file="train.py", line=19, function="evaluate", text="for batch in loader:")


class Whole:
    """Collates by a method, which is another object each time that it is asked for."""

    def collate(self, batch: Any) -> Any:  # noqa: D102
        return default_collate(batch)


def numbers() -> TensorDataset:
    return TensorDataset(torch.arange(8.0))


def test_the_very_same_is_asked_for_once_at_a_line() -> None:
    travelled, whole, dataset = Travelled(), Whole(), numbers()

    new = [
        travelled.is_new({"dataset": dataset, "collate_fn": whole.collate}, at)
        for at in (FIRST, FIRST, OTHER, FIRST, OTHER)
    ]

    assert new == [True, False, True, False, False]


def test_what_differs_at_the_same_line_is_asked_for() -> None:
    travelled, dataset, listed = Travelled(), numbers(), [1.0]
    parts = [
        {"dataset": dataset},
        {"dataset": numbers()},
        {"dataset": dataset, "collate_fn": Whole().collate},
        {"dataset": dataset, "collate_fn": Whole().collate},
        {"dataset": dataset, "collate_fn": default_collate},
        {"dataset": dataset, "worker_init_fn": partial(print, 1)},
        *({"dataset": listed}, {"dataset": listed}),  # no list can be known again
    ]

    assert all(travelled.is_new(one, FIRST) for one in parts)
    assert not travelled.is_new(parts[0], FIRST)


def test_what_is_gone_is_not_taken_for_what_stands_in_its_place() -> None:
    travelled = Travelled()

    assert all(travelled.is_new({"dataset": numbers()}, FIRST) for _ in range(20))


@pytest.mark.slow
def test_a_loader_that_is_made_anew_in_each_epoch_is_sent_once(tmp_path: Path) -> None:
    first, second = numbers(), numbers()
    with installed(POINTS, tmp_path) as watch:
        watch.options = {**watch.options, "wants": ["Loaded", "Sent"]}
        for dataset in (first, first, second, first):
            for _ in DataLoader(dataset, batch_size=2, num_workers=1):
                pass

    lines = map(json.loads, (tmp_path / "told.jsonl").read_text().splitlines())
    facts = [one["facts"] for one in lines if "gave" in one]
    assert [one["type"] for one in facts].count("Sent") == 4
    assert sum(bool(one.get("trips")) for one in facts) == 2
