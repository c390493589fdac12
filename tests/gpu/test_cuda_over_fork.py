"""On a real GPU: what is said of CUDA and forked workers is what happens to them."""

from __future__ import annotations

import functools
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.warming import copies

pytestmark = pytest.mark.gpu

JOB = '''\
"""Holds its pictures on the GPU."""

import json
import sys

import torch
from torch.utils.data import DataLoader, Dataset

from preflight.loaders.sent import Known, walk_loader


class Pictures(Dataset):
    def __init__(self, device):
        self.pictures = torch.zeros(4, 2, device=device)
        self.layer = torch.nn.Linear(2, 2).to(device)

    def __len__(self):
        return 4

    def __getitem__(self, index):
        return self.pictures[index] + 1


if __name__ == "__main__":
    if sys.argv[1] == "started":
        torch.zeros(1, device="cuda")
    loader = DataLoader(Pictures("cuda" if sys.argv[1] == "held" else "cpu"), num_workers=2)
    sent = walk_loader(loader, Known("x", ".", start_method="fork"))
    try:
        outcome = str(len(list(loader)))
    except RuntimeError as error:
        outcome = str(error)
    held = [[one.kind, list(one.paths), one.defined.line] for one in sent.inherited.held]
    print(json.dumps({"held": held, "cuda": sent.inherited.cuda, "outcome": outcome}))
'''


@functools.cache
def sees_a_gpu() -> bool:
    """Ask once, and by a copy: where there is none, it is not worth importing torch for."""
    code = "import sys, torch; sys.exit(torch.cuda.is_available())"
    with copies():
        return bool(subprocess.run([sys.executable, "-c", code], check=False).returncode)


def run(folder: Path, case: str) -> Any:
    if not sees_a_gpu():
        pytest.skip("torch sees no GPU here")
    (folder / "job.py").write_text(JOB, encoding="utf-8")
    words = [sys.executable, "job.py", case]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def test_gpu_memory_in_a_data_set_stops_its_workers(tmp_path: Path) -> None:
    """It is found, and the error is the one that is foretold."""
    said = run(tmp_path, "held")

    assert said["cuda"]
    assert sorted(said["held"]) == [
        ["cuda-tensor", ["dataset.layer"], 15],
        ["cuda-tensor", ["dataset.pictures"], 14],
    ]
    assert "Cannot re-initialize CUDA in forked subprocess" in said["outcome"]


def test_workers_that_leave_the_gpu_alone_run_though_cuda_was_started(tmp_path: Path) -> None:
    """Which is why that is a note."""
    assert run(tmp_path, "started") == {"held": [], "cuda": True, "outcome": "4"}


def test_a_look_does_not_start_cuda(tmp_path: Path) -> None:
    """A data set on the CPU, in a process that has not touched the GPU."""
    assert run(tmp_path, "untouched") == {"held": [], "cuda": False, "outcome": "4"}
