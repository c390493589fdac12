"""Many ranks are told apart in little more time than one of them needs for its own items."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.benchmarks.measuring import best_of, compared, peak, preflight, python, seen

pytestmark = pytest.mark.benchmark

ITEMS, RANKS, WORKERS = 100_000, 64, 8

# What one rank does with its DistributedSampler, in a process of its own.
SAMPLER = """
import sys
from torch.utils.data.distributed import DistributedSampler
count, ranks = map(int, sys.argv[1:])
assert len(list(DistributedSampler(range(count), ranks, 0))) == -(-count // ranks)
"""

SETTINGS = """
[launch]
world_size = {ranks}
num_workers = {workers}

{more}
"""

DIVIDED = """
[[data]]
name = "photos"
path = "photos"
split = {split}
"""

# What ranks really make.
CODE = """
from torch.utils.data import DataLoader, DistributedSampler

def split(items, rank, world_size):
    return items[rank::world_size]

def loader():
    names = [f"photos/{number:06}.jpg" for number in range(100_000)]
    return DataLoader(names, batch_size=8, num_workers=8, sampler=DistributedSampler(names))
"""


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A job of a hundred thousand images, all of one content; how they are divided comes later."""
    folder = tmp_path_factory.mktemp("ranks")
    (folder / "photos").mkdir()
    for number in range(ITEMS):
        (folder / f"photos/{number:06}.jpg").touch()
    (folder / "mine.py").write_text(CODE, "utf-8")
    return folder


@pytest.mark.parametrize(
    ("way", "more"),
    [
        ("by_worker", DIVIDED.format(split='["strided", "split_by_worker"]')),
        ("stacked", DIVIDED.format(split='["strided", "contiguous"]')),
        ("function", DIVIDED.format(split='"mine:split"')),
        ("loader", '[[loader]]\ncall = "mine:loader"'),
    ],
)
def test_64_ranks_of_8_workers_against_one_sampler(job: Path, way: str, more: str) -> None:
    """The whole command, which lists the images, too."""
    text = SETTINGS.format(ranks=RANKS, workers=WORKERS, more=more)
    (job / "preflight.toml").write_text(text, "utf-8")
    words = ("--select", "world", "--fail-on", "never", "--no-ledger", "--elsewhere")
    ours = preflight(*words, folder=job)
    theirs = python(SAMPLER, str(ITEMS), str(RANKS), folder=job)
    one, other = best_of([ours, theirs], rounds=3)
    compared(f"64 ranks x 8 workers, 100,000 items, {way} / one DistributedSampler", one, other)
    seen(f"seconds of 64 ranks x 8 workers, 100,000 items, {way}", one.seconds)
    seen(
        f"memory of 64 ranks x 8 workers, 100,000 items, {way}",
        peak(job, "--select", "world", "--fail-on", "never") / 1e6,
    )
