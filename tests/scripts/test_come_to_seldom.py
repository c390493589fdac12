"""What comes once in many steps is come to where these are quick, however long the first takes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.scripts.rehearsing import dies_at, rehearse

SCRIPT = """
import time

import torch
from torch.utils.data import DataLoader, IterableDataset, TensorDataset


class Stream(IterableDataset):
    def __iter__(self):
        while True:
            yield torch.randn(8), torch.randn(1)


def main():
    loader = {loader}
    model = torch.nn.Linear(8, 1)
    optimizer = torch.optim.SGD(model.parameters(), 0.05)
    for number, (inputs, targets) in enumerate(loader):
        time.sleep(0.8 * (not number))  # compiles, as it were
        loss = (model(inputs) - targets).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if (number + 1) % 60 == 0:
            torch.save(model.state_dict(), {path!r})
        if number >= 90:
            break


if __name__ == "__main__":
    main()
"""

LOADERS = {
    "counted": "DataLoader(TensorDataset(torch.randn(1600, 8), torch.randn(1600, 1)), 16)",
    "without an end": "DataLoader(Stream(), 16)",
}


def write(folder: Path, loader: str, path: str) -> Path:
    script = folder / "train.py"
    script.write_text(SCRIPT.format(loader=loader, path=path), "utf-8")
    return script


@pytest.mark.parametrize("loader", LOADERS.values(), ids=LOADERS)
def test_a_save_that_fails_there_is_told_at_its_line(tmp_path: Path, loader: str) -> None:
    script = write(tmp_path, loader, "missing/model.pt")
    plain = subprocess.run(
        [sys.executable, script], cwd=tmp_path, capture_output=True, text=True, check=False
    )

    told = rehearse(script).told

    assert told == [f"error script-save train.py:{dies_at(plain, script)}"]


@pytest.mark.parametrize("loader", LOADERS.values(), ids=LOADERS)
def test_one_that_does_not_is_seen(tmp_path: Path, loader: str) -> None:
    seen = rehearse(write(tmp_path, loader, str(tmp_path / "model.pt")))

    assert seen.told == []
    assert seen.rehearsal.times("save") == 1


def test_a_stream_that_ends_before_is_not_waited_for(tmp_path: Path) -> None:
    script = write(tmp_path, LOADERS["without an end"], str(tmp_path / "model.pt"))
    text = script.read_text("utf-8").replace("while True:", "for _ in range(16 * 20):")
    script.write_text(text, "utf-8")

    seen = rehearse(script)

    assert seen.told == []
    assert seen.rehearsal.ended.how == "returned"
    assert seen.rehearsal.times("save") == 0
