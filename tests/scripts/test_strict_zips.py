"""Loaders that are taken side by side, strictly: unequal epochs raise, as they do in the job."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.scripts.rehearsing import dies_at, rehearse, run_plainly

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("copies")]

SCRIPT = """\
import torch
from torch.utils.data import DataLoader, IterableDataset


class Stream(IterableDataset):
    def __init__(self, number):
        self.number = number

    def __iter__(self):
        for _ in range(self.number):
            yield torch.randn(4)


data = torch.randn(40, 4)
loader = DataLoader(data, batch_size=4, shuffle=True)
other = {other}
model = torch.nn.Linear(4, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(2):
    for step, (x, y) in enumerate(zip(loader, other, strict=True)):
        model(x).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad(){more}
"""
UNEQUAL = "DataLoader(torch.randn(48, 4), batch_size=4)"
LEAVES = "\n        if step == 5:\n            break"
DIES = {
    "the longer one behind": (UNEQUAL, ""),
    "the shorter one behind": ("DataLoader(data[:36], batch_size=4)", ""),
    "a stream that goes on": ("DataLoader(Stream(48), batch_size=4)", ""),
    "a stream that ends": ("DataLoader(Stream(36), batch_size=4)", ""),
    "a list": ("[1, 2, 3]", ""),
}
GOES_ON = {
    "as long as each other": ("DataLoader(data, batch_size=4)", ""),
    "a range": ("range(len(loader))", ""),
    "a stream": ("DataLoader(Stream(40), batch_size=4)", ""),
    "a loop that ends before": (UNEQUAL, LEAVES),
    "saved once in many steps": (
        "DataLoader(data, batch_size=4)",
        '\n        if step % 7 == 6:\n            torch.save(model.state_dict(), "m.pt")',
    ),
}


def written(folder: Path, other: str, more: str) -> Path:
    path = folder / "train.py"
    path.write_text(SCRIPT.format(other=other, more=more), encoding="utf-8")
    return path


@pytest.mark.parametrize("case", DIES)
def test_a_strict_zip_of_unequal_epochs_raises_at_its_own_line(tmp_path: Path, case: str) -> None:
    script = written(tmp_path, *DIES[case])

    plain, seen = run_plainly(script), rehearse(script)

    line = dies_at(plain, script)
    assert line is not None
    assert seen.told == [f"error script-stopped train.py:{line}"]


@pytest.mark.parametrize("case", GOES_ON)
def test_a_strict_zip_that_goes_on_in_the_job_goes_on(tmp_path: Path, case: str) -> None:
    script = written(tmp_path, *GOES_ON[case])

    plain, seen = run_plainly(script), rehearse(script)

    assert plain.returncode == 0, plain.stderr
    assert seen.told == []
