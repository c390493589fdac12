"""What is saved says how far training is, by whichever name, and whether an optimizer is in it."""

from __future__ import annotations

import sys

import pytest
import torch

from preflight.scripts.saving.weight_samples import COUNTS, stands_at


@pytest.mark.parametrize("name", COUNTS)
def test_counts_go_by_the_names_that_scripts_have(name: str) -> None:
    assert stands_at({name: 3, "best": 0.5, "done": True}) == ({name: 3}, False)


def test_an_optimizer_is_known_as_itself_and_by_its_state() -> None:
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=0.1)

    for one in (optimizer, optimizer.state_dict(), [optimizer.state_dict()]):
        assert stands_at({"optimizer": one}) == ({}, True)
    assert stands_at({"model": {"weight": torch.zeros(1)}}) == ({}, False)


def test_a_script_without_torch_saves_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("torch", "torch.optim"):
        monkeypatch.delitem(sys.modules, name)

    assert stands_at({"weights": [1.0], "epoch": 2}) == ({"epoch": 2}, False)
