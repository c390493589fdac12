"""A file that is not in memory is known, and read in the way that suits its storage."""

from __future__ import annotations

import io
import os
import tarfile
from pathlib import Path

import pytest

from preflight.file_access.cold import SMALL, bytes_at_a_time, is_cold
from preflight.file_access.opened import reading
from preflight.formats.bytes.blocks import BLOCK
from preflight.shards.read import read_shard
from preflight.targets.targets import Shard
from tests.archives import photo, samples, tarred
from tests.evicting import evicted

MEGABYTE = 1 << 20


def packed(path: Path, size: int, count: int) -> Path:
    """Pack samples of an image of this many bytes, and a caption."""
    with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as archive:
        for number in range(count):
            for suffix, content in (("jpg", bytes(size)), ("txt", b"a dog")):
                member = tarfile.TarInfo(f"{number:06}.{suffix}")
                member.size = len(content)
                archive.addfile(member, io.BytesIO(content))
    return path


def test_a_file_that_was_just_written_is_in_memory(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(bytes(8 * MEGABYTE))

    assert not is_cold(str(tmp_path / "a"))


def test_a_file_that_was_dropped_from_memory_is_cold(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(bytes(8 * MEGABYTE))

    assert is_cold(str(evicted(tmp_path / "a")))


def test_it_may_be_asked_twice(tmp_path: Path) -> None:
    """Though the question brings a little in: once for the number of processes, once to read."""
    (tmp_path / "a").write_bytes(bytes(64 * MEGABYTE))
    path = str(evicted(tmp_path / "a"))

    assert sum(is_cold(path) for _ in range(5)) >= 3


def test_an_empty_file_is_not_cold(tmp_path: Path) -> None:
    (tmp_path / "a").touch()

    assert not is_cold(str(tmp_path / "a"))


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="this system has no such files")
def test_a_file_system_that_does_not_say_counts_as_memory() -> None:
    assert not is_cold("/proc/self/status")


def test_a_file_that_is_gone_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        is_cold(str(tmp_path / "a"))


@pytest.mark.parametrize(
    ("size", "onward"),
    [(2_000, True), (SMALL - 4_096, True), (SMALL + 4_096, False), (2 * MEGABYTE, False)],
)
def test_only_small_samples_are_read_from_end_to_end(
    tmp_path: Path, size: int, *, onward: bool
) -> None:
    path = packed(tmp_path / "a.tar", size, 20)
    with path.open("rb", buffering=0) as stream:
        total = path.stat().st_size
        found = bytes_at_a_time(reading(stream, total), total)

    assert (found == BLOCK) is onward


@pytest.mark.parametrize("content", [b"", b"no archive", bytes(10_240)])
def test_what_has_no_samples_is_read_as_if_it_were_in_memory(
    tmp_path: Path, content: bytes
) -> None:
    path = tmp_path / "a.tar"
    path.write_bytes(content)
    with path.open("rb", buffering=0) as stream:
        assert bytes_at_a_time(reading(stream, len(content)), len(content)) < BLOCK


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
