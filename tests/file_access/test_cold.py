"""A file that is not in memory is known, and says the same."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from preflight.file_access.cold import is_cold
from preflight.shards.read import read_shard
from preflight.targets.targets import Shard
from tests.archives import photo, samples, tarred
from tests.evicting import evicted

MEGABYTE = 1 << 20


@pytest.mark.parametrize("size", [0, 8 * MEGABYTE], ids=["empty", "just written"])
def test_a_file_that_is_in_memory_is_not_cold(tmp_path: Path, size: int) -> None:
    (tmp_path / "a").write_bytes(bytes(size))

    assert not is_cold(str(tmp_path / "a"))


def test_a_file_that_was_dropped_from_memory_is_cold(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(bytes(8 * MEGABYTE))

    assert is_cold(str(evicted(tmp_path / "a")))


def test_it_may_be_asked_twice(tmp_path: Path) -> None:
    """Though the question brings a little in: once for the number of processes, once to read."""
    (tmp_path / "a").write_bytes(bytes(64 * MEGABYTE))
    path = str(evicted(tmp_path / "a"))

    assert sum(is_cold(path) for _ in range(5)) >= 3


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="this system has no such files")
def test_a_file_system_that_does_not_say_counts_as_memory() -> None:
    assert not is_cold("/proc/self/status")


def test_a_file_that_is_gone_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        is_cold(str(tmp_path / "a"))


@pytest.mark.parametrize("depth", ["index", "bytes", "decode"])
def test_a_cold_shard_gives_the_same_facts(tmp_path: Path, depth: str) -> None:
    """Its damage too."""
    whole = tarred(samples(40, image=photo()))
    for name, content in (("a.tar", whole), ("b.tar", whole[: len(whole) * 2 // 3])):
        path = tmp_path / name
        path.write_bytes(content)
        shard = Shard(path=name)
        warm = read_shard(shard, str(tmp_path), lambda _: None, depth)
        evicted(path)

        assert read_shard(shard, str(tmp_path), lambda _: None, depth) == warm
