"""A script that goes on from a copy of its last checkpoint, or a link to it, is started again."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.scripts.rehearsing import dies_at, rehearse

SCRIPT = """
import os
import shutil

import torch
from torch.utils.data import DataLoader, TensorDataset

LATEST = "runs/latest.pt"
os.makedirs("runs", exist_ok=True)
loader = DataLoader(TensorDataset(torch.randn(60, 4), torch.randn(60, 1)), 10)
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.Adam(model.parameters())
start = 0
if os.path.exists(LATEST):
    saved = torch.load(LATEST)
    model.load_state_dict(saved["model"])
    optimizer.load_state_dict(saved["{key}"])
    start = saved["epoch"] + 1
for epoch in range(start, 4 + start):
    for inputs, targets in loader:
        loss = (model(inputs) - targets).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    path = f"runs/epoch_{{epoch}}.pt"
    state = {{"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch}}
    {save}
    if os.path.lexists(LATEST):
        os.remove(LATEST)
    {copy}
"""

AT_ONCE = "torch.save(state, path)"
IN_TWO = 'torch.save(state, path + ".tmp"); os.replace(path + ".tmp", path)'
COPIES = {
    "a copy": (AT_ONCE, "shutil.copyfile(path, LATEST)"),
    "a copy that is renamed": (
        IN_TWO,
        'shutil.copy(path, LATEST + ".new"); os.replace(LATEST + ".new", LATEST)',
    ),
    "a link": (AT_ONCE, "os.symlink(os.path.basename(path), LATEST)"),
    "another name": (AT_ONCE, "os.link(path, LATEST)"),
}
if os.name == "nt":
    del COPIES["a link"]


def write(folder: Path, name: str, key: str) -> Path:
    save, copy = COPIES[name]
    script = folder / "train.py"
    script.write_text(SCRIPT.format(key=key, save=save, copy=copy), "utf-8")
    return script


@pytest.mark.parametrize("name", COPIES)
def test_what_it_lacks_is_told_where_the_plain_script_dies(tmp_path: Path, name: str) -> None:
    script = write(tmp_path, name, "optim")
    runs = [
        subprocess.run(
            [sys.executable, script], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        for _ in range(2)
    ]
    assert runs[0].returncode == 0, runs[0].stderr
    line = dies_at(runs[1], script)
    for one in (tmp_path / "runs").iterdir():
        one.unlink()

    told = rehearse(script, wants=["SavedState", "Resumed"]).told

    assert told == [f"error script-resume train.py:{line}"]


@pytest.mark.parametrize("name", COPIES)
def test_where_all_is_there_it_goes_on(tmp_path: Path, name: str) -> None:
    seen = rehearse(write(tmp_path, name, "optimizer"), wants=["SavedState", "Resumed"])

    assert seen.told == []
    assert not (tmp_path / "runs").exists()
