"""A cache is held against its samples in little more time than their listing takes."""

from __future__ import annotations

import hashlib
import os
import tracemalloc
from pathlib import Path

import pytest

from preflight.keys.facts import CacheKeys
from preflight.keys.read import read_keys
from preflight.targets.targets import CacheOf, CaptionRule, KeyedData
from tests.benchmarks.measuring import compare, seen

pytestmark = pytest.mark.benchmark

SAMPLES = 10_000


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Images, and their entries by the hash of their path."""
    folder = tmp_path_factory.mktemp("keys")
    for name in ("photos", "cache"):
        (folder / name).mkdir()
    for sample in range(SAMPLES):
        path = f"photos/dog-{sample:06}.jpg"
        key = hashlib.md5(path.encode(), usedforsecurity=False).hexdigest()
        (folder / path).touch()
        (folder / f"cache/{key}-flux.pt").touch()
    return folder


def look(job: Path, key: str | None) -> CacheKeys:
    data = KeyedData(folder="photos", spelled="photos", captions=CaptionRule(rule="none"))
    return read_keys(CacheOf(path="cache", of=(data,), key=key), str(job), lambda _: None)


@pytest.mark.parametrize(("way", "key"), [("said", "{md5(path)}-flux.pt"), ("guessed", None)])
def test_keys_against_listing_both_folders(job: Path, way: str, key: str | None) -> None:
    """With the age of each file."""

    def ours() -> None:
        assert look(job, key).matched == SAMPLES

    def theirs() -> None:
        for name in ("photos", "cache"):
            with os.scandir(job / name) as listing:
                assert all(entry.stat().st_mtime for entry in listing)

    compare(f"keys that are {way} / listing both folders", ours, theirs)


def test_memory_of_a_hundred_thousand_keys(job: Path) -> None:
    """What some take more, for as many."""
    tracemalloc.start()
    try:
        look(job, None)
        taken = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    seen("memory of 100,000 keys", taken / SAMPLES * 100_000 / 1e6)
