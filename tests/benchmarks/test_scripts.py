"""Watching a script costs it little: what is wrapped is called seldom, and looks at few things."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from preflight.scripts.met import steps as steps_met
from preflight.scripts.process import start
from preflight.settings.job import Job
from preflight.settings.to_child import told_of
from tests.benchmarks.measuring import best_of, compare, process, seen
from tests.scripts.rehearsing import installed

pytestmark = pytest.mark.benchmark

# Up to its first step, and nothing more.
SCRIPT = """
import sys
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

model = nn.Sequential(*(nn.Linear(64, 64) for _ in range(20)))
optimizer = torch.optim.AdamW(model.parameters())
for (x,) in DataLoader(TensorDataset(torch.ones(4, 64)), batch_size=4):
    model(x).sum().backward()
    optimizer.step()
"""


def test_starting_under_watch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of loaders and models nothing is asked, which have figures of their own."""
    import sys

    (tmp_path / "train.py").write_text(SCRIPT, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    wire = {"path": "train.py", "module": None, "args": [], "folder": None, "name": None}

    def watched() -> None:
        with tempfile.TemporaryDirectory() as scratch:
            options = {**told_of(Job(root=str(tmp_path))), "wants": []}
            running = start({**wire, "scratch": scratch}, options)
            assert running.popen.wait() == 0

    compare(
        "start-up of a script under watch / python train.py",
        watched,
        process(sys.executable, "train.py", folder=tmp_path),
        rounds=9,
    )


@contextmanager
def _watching(folder: Path, optimizer: Any) -> Iterator[None]:
    """Wrap what steps of training go through, in this process, and watch an optimizer."""
    with installed(steps_met.POINTS, folder) as watch:
        seen = steps_met._of(watch)
        seen.listen()
        seen.trained.given(optimizer)
        yield
    seen.tell()


def test_a_step_under_watch(tmp_path: Path) -> None:
    """Each of these is looked at: losses, weights and gradients of the first ones are."""
    import torch
    from torch import nn

    torch.set_num_threads(1)
    layers = [layer for _ in range(8) for layer in (nn.Linear(512, 512), nn.ReLU())]
    model, x = nn.Sequential(*layers), torch.randn(64, 512)
    optimizer = torch.optim.AdamW(model.parameters())

    def step() -> None:
        optimizer.zero_grad()
        model(x).square().mean().backward()
        optimizer.step()

    def steps() -> None:
        for _ in range(15):
            step()

    best = []
    for _ in range(12):
        with _watching(tmp_path, optimizer):
            step()  # which looks for all models; that is of the start
            (under,) = best_of([steps], rounds=1)
        (alone,) = best_of([steps], rounds=1)
        best.append((under, alone))
    under, alone = (min(took.processor for took in each) for each in zip(*best, strict=True))
    how = f"of a processor {under / 15e-3:,.2f} ms against {alone / 15e-3:,.2f} ms"
    seen("a step of 8 layers of 512 under watch / a step", under / alone, how)
