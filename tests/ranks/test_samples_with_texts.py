"""Samples with texts, which several may share, are told apart by all that they hold."""

from __future__ import annotations

from pathlib import Path

import pytest

import preflight

pytestmark = pytest.mark.usefixtures("at_hand")

JOB = """
import os

import torch
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

RANK, WORLD = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))

class Stream(IterableDataset):
    def __iter__(self):
        worker = get_worker_info()
        number, workers = (worker.id, worker.num_workers) if worker else (0, 1)
        for one in range({first}, 128, WORLD * workers):
            yield {{{sample}}}

def make():
    return DataLoader(Stream(), batch_size=4, num_workers=2)
"""

WRONG, RIGHT = "RANK + number", "RANK * workers + number"
SAMPLES = {
    "a name": '"name": f"img_{one:04d}", "x": torch.full((4,), float(one))',
    "a caption of several": '"text": f"a photo of {one % 8}", "x": torch.full((4,), float(one))',
    "no text": '"x": torch.full((4,), float(one))',
}


def told(folder: Path, first: str, sample: str) -> list[str]:
    (folder / "job.py").write_text(JOB.format(first=first, sample=sample), "utf-8")
    report = preflight.run(
        "job:make", folder=str(folder), no_ledger=True, elsewhere=True, world_size=4
    )
    return [one.message for one in report.findings if one.check.startswith("world-order")]


@pytest.mark.parametrize("sample", SAMPLES.values(), ids=SAMPLES)
def test_what_is_of_no_rank_is_counted(tmp_path: Path, sample: str) -> None:
    """Really: ranks 0 to 3 and workers 0 and 1 begin at 0 to 4, and take each eighth."""
    of_some = {one for begin in range(5) for one in range(begin, 128, 8)}

    assert told(tmp_path, WRONG, sample) == [
        f"leaves {128 - len(of_some)} of 128 samples to none of 4 ranks"
    ]


@pytest.mark.parametrize("sample", SAMPLES.values(), ids=SAMPLES)
def test_where_all_are_of_one_rank_nothing_is_said(tmp_path: Path, sample: str) -> None:
    assert told(tmp_path, RIGHT, sample) == []


@pytest.mark.parametrize("first", [WRONG, RIGHT])
def test_samples_that_are_drawn_by_chance_are_not_counted(tmp_path: Path, first: str) -> None:
    """No two are alike, so that nobody can say which rank has which."""
    sample = '"text": f"a photo of {one % 8}", "x": torch.rand(4)'

    assert told(tmp_path, first, sample) == []
