"""A cache is held against its samples in little more time than their listing takes, and memory."""

from __future__ import annotations

import hashlib
import os
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from preflight.facts import CacheKeys
from preflight.readers.cache_keys import read_keys
from preflight.targets import CacheOf, CaptionRule, KeyedData

pytestmark = pytest.mark.benchmark

# Samples that are measured, and those that the goal for memory is of: 150 MB, of which a process
# takes fifty before it has seen a sample.
SOME = 10_000
MANY = 100_000
MEMORY = 100 * 10**6


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Images, and their entries by the hash of their path."""
    folder = tmp_path_factory.mktemp("keys")
    for name in ("photos", "cache"):
        (folder / name).mkdir()
    for sample in range(SOME):
        path = f"photos/dog-{sample:06}.jpg"
        key = hashlib.md5(path.encode(), usedforsecurity=False).hexdigest()
        for one in (path, f"cache/{key}-flux.pt"):
            os.close(os.open(folder / one, os.O_CREAT | os.O_WRONLY))
    return folder


def look(job: Path, key: str | None) -> CacheKeys:
    data = KeyedData(folder="photos", spelled="photos", captions=CaptionRule(rule="none"))
    return read_keys(CacheOf(path="cache", of=(data,), key=key), str(job), lambda _: None)


@pytest.mark.parametrize(
    ("key", "goal"),
    [("{md5(path)}-flux.pt", 2.5), (None, 4.0)],
    ids=["said", "guessed"],
)
def test_a_cache_is_compared_in_little_more_time_than_its_listing_takes(
    job: Path, ratio: Callable[..., float], key: str | None, goal: float
) -> None:
    """Both folders, with the age of each file; with the margin that a noisy machine needs."""

    def ours() -> None:
        assert look(job, key).matched == SOME

    def theirs() -> None:
        for name in ("photos", "cache"):
            with os.scandir(job / name) as listing:
                assert all(entry.stat().st_mtime for entry in listing)

    measured = ratio(f"keys of {SOME:,}", ours, theirs, goal=f"{goal:g}", rounds=5)

    assert measured < 2 * goal


def test_a_hundred_thousand_entries_take_little_memory(
    job: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Names and ages are held in a few bytes each."""
    tracemalloc.start()
    try:
        look(job, None)
        taken = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    all_of_them = taken * MANY / SOME
    with capsys.disabled():
        sys.stdout.write(
            f"\n  keys: {taken / SOME:.0f} bytes each, so {MANY:,} take {all_of_them / 1e6:.0f} MB "
            "(goal below 100 MB)\n"
        )
    assert all_of_them < MEMORY
