"""Loops over epochs whose batches are used up in the first of them, as a plain run shows it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.scripts.rehearsing import rehearse, run_plainly

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("copies")]

SCRIPT = """\
import sys

import torch
from torch.utils.data import DataLoader


class Batches:
    def __init__(self, number):
        self.number, self.at = number, 0

    def __iter__(self):
        {begins}
        return self

    def __next__(self):
        if self.at == self.number:
            {ends}
            raise StopIteration
        self.at += 1
        return torch.randn(4, 1)


def generated():
    for x in loader:
        yield x


def finish():
    if {finishes}:
        sys.exit(0)


def one_epoch(batches):
    number = 0
    for x in batches:
        number += 1
        model(x).mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        finish()
    return number


loader = DataLoader(torch.randn(40, 1), batch_size=4, shuffle=True)
model = torch.nn.Linear(1, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-6)
batches = {batches}
for epoch in range({epochs}):
    print(one_epoch(batches))
"""
SOUND = {
    "begins": "pass",
    "ends": "pass",
    "batches": "Batches(6)",
    "epochs": "3",
    "finishes": "False",
}
USED_UP = {
    "a class": {},
    "a generator": {"batches": "generated()"},
    "an iterator of a loader": {"batches": "iter(loader)"},
}
WHOLE = {
    "begins anew": {"begins": "self.at = 0"},
    "is wound back at its end": {"ends": "self.at = 0"},
    "one epoch": {"epochs": "1"},
    "a loader": {"batches": "loader"},
    "ends by itself": {"finishes": "epoch == 0"},
}


def told(folder: Path, **changes: str) -> tuple[list[str], list[str]]:
    """Give what a plain run prints, and what a rehearsal tells."""
    script = folder / "train.py"
    script.write_text(SCRIPT.format(**{**SOUND, **changes}), encoding="utf-8")
    plain = run_plainly(script)
    assert plain.returncode == 0, plain.stderr
    return plain.stdout.split(), rehearse(script, wants=("SavedState", "WholePass")).told


@pytest.mark.parametrize("case", USED_UP)
def test_what_gives_nothing_in_later_epochs_is_told(tmp_path: Path, case: str) -> None:
    printed, found = told(tmp_path, **USED_UP[case])

    assert printed[1:] == ["0", "0"]
    assert [one.split()[1] for one in found] == ["loader-end"]


@pytest.mark.parametrize("case", WHOLE)
def test_what_gives_batches_in_each_epoch_is_left_alone(tmp_path: Path, case: str) -> None:
    printed, found = told(tmp_path, **WHOLE[case])

    assert "0" not in printed
    assert found == []
