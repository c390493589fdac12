"""Loops that begin a loader again and again and get nothing of it, as a plain run shows it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.scripts.rehearsing import line_of, rehearse, run_plainly

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("copies")]

SCRIPT = """\
import threading
import time

import torch
from torch.utils.data import DataLoader, IterableDataset

made = []


class Stream(IterableDataset):
    def __init__(self, number):
        self.number = number

    def __iter__(self):
        yield from torch.randn(self.number, 1)


class Made(IterableDataset):
    def __iter__(self):
        while made:
            yield made.pop()


def make():
    time.sleep(7.0)
    made.extend(torch.randn(4, 1))


def cycle(batches):
    while True:
        for batch in batches:
            yield batch


model = torch.nn.Linear(1, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-6)


def step(batch):
    model(batch).mean().backward()
    optimizer.step()
    optimizer.zero_grad()


"""

HANGS = {
    "an empty stream to validate with": """\
loader = DataLoader(torch.randn(40, 1), batch_size=4)
val = cycle(DataLoader(Stream(0), batch_size=4))
for number, batch in enumerate(loader):
    step(batch)
    with torch.no_grad():
        model(next(val))
""",
    "the same in the mode of evaluation": """\
loader = DataLoader(torch.randn(40, 1), batch_size=4)
val = cycle(DataLoader(Stream(0), batch_size=4))
for number, batch in enumerate(loader):
    step(batch)
    model.eval()
    model(next(val))
    model.train()
""",
    "steps that are counted over an empty stream": """\
val = DataLoader(Stream(0), batch_size=4)
steps = 0
while steps < 100:
    for batch in val:
        step(batch)
        steps += 1
""",
}

ENDS = {
    "many parts of which few hold anything": """\
parts = [DataLoader(Stream(4 * (n == 90)), batch_size=4) for n in range(200)]
for _ in range(2):
    for part in parts:
        for batch in part:
            step(batch)
""",
    "a stream that a thread fills": """\
threading.Thread(target=make, daemon=True).start()
loader, steps = DataLoader(Made(), batch_size=4), 0
while not steps:
    for batch in loader:
        step(batch)
        steps += 1
    time.sleep(0.02)
""",
    "an empty one in each epoch": """\
loader, val = DataLoader(torch.randn(40, 1), batch_size=4), DataLoader(Stream(0), batch_size=4)
for _ in range(100):
    for batch in loader:
        step(batch)
    with torch.no_grad():
        for batch in val:
            model(batch)
""",
}


@pytest.mark.parametrize("case", HANGS)
def test_a_loop_that_gets_nothing_is_told_where_the_plain_script_never_ends(
    tmp_path: Path, case: str
) -> None:
    path = tmp_path / "job" / "train.py"
    path.parent.mkdir()
    path.write_text(SCRIPT + HANGS[case])
    place = "for batch in val:" if "for batch in val:" in HANGS[case] else "for batch in batches:"
    told = rehearse(path).told
    assert told == [f"error script-stuck train.py:{line_of(path, place)}"]
    with pytest.raises(subprocess.TimeoutExpired):
        run_plainly(path, limit=5.0)


@pytest.mark.parametrize("case", ENDS)
def test_a_loop_that_gets_something_at_last_is_not_told(tmp_path: Path, case: str) -> None:
    path = tmp_path / "job" / "train.py"
    path.parent.mkdir()
    path.write_text(SCRIPT + ENDS[case])
    assert not rehearse(path).told
    assert run_plainly(path).returncode == 0


def test_a_loader_that_is_known_to_be_empty_is_told_by_its_length(tmp_path: Path) -> None:
    path = tmp_path / "job" / "train.py"
    path.parent.mkdir()
    path.write_text(
        SCRIPT + HANGS["an empty stream to validate with"].replace("Stream(0)", "range(0)")
    )
    told = rehearse(path, wants=("SavedState", "Sent")).told
    assert told == [f"error loader-end train.py:{line_of(path, 'for batch in batches:')}"]
