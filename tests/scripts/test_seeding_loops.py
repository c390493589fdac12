"""Loops over epochs that seed in each: what a plain run shuffles alike is told, and no other."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.scripts.rehearsing import rehearse, run_plainly

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("copies")]

SCRIPT = """\
import random

import torch
from torch.utils.data import DataLoader


def everywhere(seed):
    random.seed(seed)
    torch.manual_seed(seed)


def main():
    generator = torch.Generator()
    data = torch.arange(64.0)[:, None]
    loader = DataLoader(data, batch_size=4, {how})
    model = torch.nn.Linear(1, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-6)
    for epoch in range(3):
        {seed}
        seen = []
        for x in loader:
            seen += x.flatten().tolist()
            model(x).mean().backward()
            optimizer.step()
        print(seen)


main()
"""
SHUFFLED, OWN = "shuffle=True", "shuffle=True, generator=generator"
ANEW = "model = torch.nn.Linear(1, 1); optimizer = torch.optim.SGD(model.parameters(), lr=1e-6); "
ALIKE = {
    "torch": (SHUFFLED, "torch.manual_seed(0)"),
    "by a function": (SHUFFLED, "everywhere(0)"),
    "its generator": (OWN, "generator.manual_seed(0)"),
    "a loader of each epoch": (
        SHUFFLED,
        "torch.manual_seed(0); loader = DataLoader(data, batch_size=4, shuffle=True)",
    ),
}
OTHERS = {
    "nothing": (SHUFFLED, "pass"),
    "by the epoch": (SHUFFLED, "torch.manual_seed(epoch)"),
    "of others": (OWN, "torch.manual_seed(0)"),
    "python alone": (SHUFFLED, "random.seed(0)"),
}
MEANT = {
    "in order": ("shuffle=False", "torch.manual_seed(0)"),
    "a run of its own": (SHUFFLED, f"torch.manual_seed(0); {ANEW}"),
}


def told(folder: Path, how: str, seed: str) -> tuple[bool, bool]:
    """Say whether epochs of a plain run are alike, and whether the rehearsal says so."""
    script = folder / "train.py"
    script.write_text(SCRIPT.format(how=how, seed=seed), encoding="utf-8")
    plain = run_plainly(script)
    assert plain.returncode == 0, plain.stderr
    orders = {*plain.stdout.split("\n")[:3]}
    found = rehearse(script, wants=("SavedState", "RandomDraws")).found
    return len(orders) == 1, any(one.check == "loader-random" for one in found)


@pytest.mark.parametrize("case", [*ALIKE, *OTHERS])
def test_epochs_that_are_alike_are_told(tmp_path: Path, case: str) -> None:
    assert told(tmp_path, *{**ALIKE, **OTHERS}[case]) == (case in ALIKE,) * 2


@pytest.mark.parametrize("case", MEANT)
def test_what_is_alike_on_purpose_is_left_alone(tmp_path: Path, case: str) -> None:
    assert told(tmp_path, *MEANT[case]) == (True, False)
