"""Loops over Lightning's CombinedLoader, some of which stop at its first batch."""

from __future__ import annotations

from typing import Any

import torch
from pytorch_lightning.utilities.combined_loader import CombinedLoader
from torch.utils.data import DataLoader, TensorDataset


def of(number: int) -> Any:
    rows = torch.arange(number)
    return DataLoader(TensorDataset(rows, rows), batch_size=4)


def in_turn() -> Any:
    return CombinedLoader([of(12), of(8)], "sequential")


def by_name() -> Any:
    return CombinedLoader({"a": of(12), "b": of(8)}, "min_size")


def cycled() -> Any:
    return CombinedLoader([of(12), of(8)], "max_size_cycle")


def alone() -> Any:
    return CombinedLoader(of(12))


def in_a_list() -> Any:
    return [by_name()]


def takes_three() -> None:
    for batch, _batch_idx, _dataloader_idx in by_name():
        x, y = batch["a"]
        assert len(x) == len(y)


def takes_three_in_turn() -> None:
    for (x, y), _step, _loader in in_turn():
        assert len(x) == len(y)


def takes_lists() -> None:
    for [(x, y), (_other, _label)], _step, _ in cycled():
        assert len(x) == len(y)


def takes_one() -> None:
    for (x, y), *_ in alone():
        assert len(x) == len(y)


def takes_it_as_it_comes() -> None:
    for given in by_name():
        assert len(given) == 3


def takes_those_of_a_list() -> None:
    (loader,) = in_a_list()
    for batch, _step, _ in loader:
        assert len(batch) == 2


def lacks_the_numbers() -> None:
    for x, y in alone():
        assert len(x) == len(y)


def lacks_the_numbers_of_several() -> None:
    for first, second in cycled():
        assert len(first) == len(second)


def takes_more_than_each_has() -> None:
    for (x, y, _z), _step, _loader in in_turn():
        assert len(x) == len(y)


def takes_another_number_of_loaders() -> None:
    for [(x, y)], _step, _ in cycled():
        assert len(x) == len(y)
