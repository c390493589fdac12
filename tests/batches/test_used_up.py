"""A loop over epochs that goes over one iterator is told where the plain script trains once."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import preflight

pytestmark = pytest.mark.slow

HEALTHY = ("rewinds", "plain", "around", "anew", "once", "steps", "waits", "iter_around")
USED_UP = ("generator", "own", "mapped", "iter_plain")

DATA = """
import itertools, time
import torch
from torch.utils.data import DataLoader

class Own:
    at = 0
    def __iter__(self):
        return self
    def __next__(self):
        if self.at == 3:
            raise StopIteration
        self.at += 1
        return torch.zeros(2, 4), torch.zeros(2)

class Rewinds(Own):
    def __iter__(self):
        self.at = 0
        return self

class Waits(Own):
    def __next__(self):
        if self.at == 4:
            time.sleep(1000)
        try:
            return super().__next__()
        except StopIteration:
            self.at = 4
            raise

class Around:
    def __init__(self):
        self.loader = plain()
    def __iter__(self):
        self.batches = iter(self.loader)
        return self
    def __next__(self):
        return next(self.batches)

def plain():
    return DataLoader(torch.zeros(6, 2, 4), batch_size=2, collate_fn=torch.stack)

def generator():
    for _ in range(3):
        yield torch.zeros(2, 4), torch.zeros(2)

def mapped():
    return map(lambda batch: batch, plain())

own, rewinds, waits, around, iter_around = Own, Rewinds, Waits, Around, Around
anew = once = steps = generator
iter_plain = plain
"""

# Each in a file of its own: what another loop says of a loader holds as well.
TRAIN = {
    "": "for epoch in range(2):\n        for batch in loader: seen[-1] += 1\n"
    "        seen.append(0)",
    "anew": "for epoch in range(2):\n        for batch in anew(): seen[-1] += 1\n"
    "        seen.append(0)",
    "once": "for batch in loader: seen[-1] += 1\n    seen = seen * 2",
    "waits": "for batch in loader: seen[-1] += 1\n    seen = seen * 2",
    "steps": "for epoch in range(2):\n        for batch in loader:\n            seen[-1] += 1\n"
    "            if seen[-1]: break\n        seen.append(0)",
}


def script(name: str) -> str:
    made = f"iter({name}())" if name.startswith("iter_") else f"{name}()"
    loop = TRAIN.get(name, TRAIN[""])
    return (
        f"from data import {name}\n\ndef main():\n    seen = [0]\n    loader = {made}\n"
        f"    {loop}\n    return seen[:2]\n"
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("used-up")
    (folder / "data.py").write_text(DATA, encoding="utf-8")
    for name in HEALTHY + USED_UP:
        (folder / f"train_{name}.py").write_text(script(name), encoding="utf-8")
    return folder


def trained(folder: Path) -> dict[str, list[int]]:
    """Say how many batches two epochs of each script have, as Python has it."""
    code = "import importlib, json\nprint(json.dumps({one: importlib.import_module("
    code += f"f'train_{{one}}').main() for one in {HEALTHY + USED_UP}}}))"
    ran = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, check=True, timeout=60
    )
    return json.loads(ran.stdout)  # type: ignore[no-any-return]


def test_what_trains_in_the_first_epoch_alone_is_told(copies: None, folder: Path) -> None:
    counts = trained(folder)
    words = [f"data:{name}" for name in HEALTHY + USED_UP]
    sources = [f"source=train_{name}.py" for name in HEALTHY + USED_UP]
    report = preflight.run(*words, *sources, folder=str(folder), select=["loader-end"])

    assert {name for name, (_, second) in counts.items() if not second} == {*USED_UP}
    assert len(report.findings) == len(USED_UP)
    assert {one.at.file for one in report.findings} == {f"train_{name}.py" for name in USED_UP}
    assert {one.severity.name.lower() for one in report.findings} == {"error"}
    first = report.findings[0]
    assert (first.at.line, first.message) == (
        7,
        (
            "goes over one iterator of data:generator in each round of the loop in line 6: the "
            "first round takes its 3 batches, and each other has none"
        ),
    )


@pytest.mark.usefixtures("at_hand")
def test_a_generator_that_is_named_itself_is_counted_from_its_beginning(tmp_path: Path) -> None:
    """It cannot be made anew: what runs it to its end goes on behind the first batches."""
    text = "import torch\ndef gen():\n    for _ in range(7):\n        yield torch.ones(4, 3)\n"
    (tmp_path / "data.py").write_text(f"{text}batches = gen()\n", encoding="utf-8")

    report = preflight.run("data:batches", "data:gen", folder=str(tmp_path), no_ledger=True)

    page = " ".join(str(report).split())
    assert "data:batches a generator of batches, 7 batches, past the end" in page
    assert "data:gen a generator of batches, 28 samples in 7 batches, past the end" in page
