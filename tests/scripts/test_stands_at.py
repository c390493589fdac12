"""What is saved says how far training is, by whichever name, and whether an optimizer is in it."""

from __future__ import annotations

import argparse
import sys
import types

import pytest
import torch

from preflight.scripts.saving.states.stated_counts import COUNTS, counts_in, holds_optimizer
from preflight.scripts.saving.states.weight_samples import is_sample


def _stands_at(state: object) -> tuple[dict[str, int], bool]:
    return counts_in(state), holds_optimizer(state)


@pytest.mark.parametrize("name", COUNTS)
def test_counts_go_by_the_names_that_scripts_have(name: str) -> None:
    assert _stands_at({name: 3, "best": 0.5, "done": True}) == ({name: 3}, False)
    assert _stands_at({name: -1}) == ({}, False)  # as BasicSR names its last one


def test_an_optimizer_is_known_as_itself_and_by_its_state() -> None:
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=0.1)

    for one in (optimizer, optimizer.state_dict(), [optimizer.state_dict()]):
        assert _stands_at({"optimizer": one}) == ({}, True)
    assert _stands_at({"model": {"weight": torch.zeros(1)}}) == ({}, False)


def test_counts_lie_in_parts_of_a_checkpoint_and_in_plain_objects() -> None:
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=0.1)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1)
    state, told = {"epoch": 2, "model": {"weight": torch.zeros(1)}}, {"trainer.epoch": 2}

    assert _stands_at({"trainer": state}) == (told, False)
    assert _stands_at({"trainer": types.SimpleNamespace(**state)}) == (told, False)
    assert _stands_at({"trainer": {"optimizers": [optimizer]}, "loops": {"fit": {"step": 1}}}) == (
        {"loops.fit.step": 1},
        True,
    )
    assert _stands_at({"epoch": 2, "loader": {"epoch": 3}}) == ({"epoch": 2}, False)
    for one in (
        {"args": {"epoch": 90}, "opt": argparse.Namespace(epoch=90)},
        {"training": argparse.Namespace(steps=90)},
        {"optimizer": {**optimizer.state_dict(), "step": 3}},
        {"schedule": {**schedule.state_dict(), "step": 3}},
        {"history": [{"epoch": 3}], "kind": torch.nn.Module, "model": torch.nn.Linear(1, 1)},
    ):
        assert _stands_at(one)[0] == {}


def test_what_a_model_makes_is_told_from_its_weights() -> None:
    model = torch.nn.Linear(4, 2)
    optimizer, pictures = torch.optim.Adam(model.parameters()), torch.ones(3, 1, 8, 8)
    flat = torch.optim.SGD([torch.nn.Parameter(torch.zeros(8))])
    states = (
        *(model.state_dict(), {"model": model, "seen": pictures}, model.weight.detach()),
        *({"epoch": 1}, {"rng": torch.get_rng_state()}, [pictures] * 100),
    )

    assert is_sample(pictures, [optimizer])
    assert is_sample({"images": [pictures], "step": 3}, [optimizer])
    assert not [one for one in states if is_sample(one, [optimizer])]
    assert not is_sample(pictures, [flat])


def test_a_script_without_torch_saves_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("torch", "torch.optim"):
        monkeypatch.delitem(sys.modules, name)

    assert _stands_at({"weights": [1.0], "epoch": 2}) == ({"epoch": 2}, False)
