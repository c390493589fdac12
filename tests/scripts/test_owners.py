"""What an optimizer keeps of its steps is told from what it keeps of none."""

from __future__ import annotations

import pytest
import torch

from preflight.scripts.saving.states.owners import owner_of


@pytest.mark.parametrize(
    ("kept", "has_state"),
    [
        ({}, False),
        ({"momentum_buffer": None}, False),  # as torch 2.2 has it
        ({"momentum_buffer": torch.zeros(2)}, True),
        ({"step": 0}, True),
    ],
)
def test_a_state_of_nothing_is_none(kept: dict[str, object], *, has_state: bool) -> None:
    weight = torch.nn.Parameter(torch.ones(2))
    optimizer = torch.optim.SGD([weight], lr=0.1)
    optimizer.state[weight] = kept

    assert owner_of(optimizer, None, ()).has_state is has_state
