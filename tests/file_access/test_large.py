"""A large file is read once, by two threads, in flat memory; its checksums are those of zlib."""

from __future__ import annotations

import os
import random
import time
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from preflight.file_access.checksums import divided
from preflight.file_access.large import WINDOW, Large
from preflight.formats.bytes.blocks import BLOCK, LongRead, checksum, pass_over
from preflight.formats.bytes.crc import combined


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of 40 MB in which no two pieces are alike."""
    path = tmp_path_factory.mktemp("large") / "file"
    path.write_bytes(random.Random(5).randbytes(40_000_007))
    return path


Opener = Callable[..., Large]


@pytest.mark.parametrize("sizes", [(0, 0), (0, 9), (9, 0), (1, 1), (1000, 3), (77, 1 << 20)])
def test_checksums_of_two_pieces_make_that_of_both(sizes: tuple[int, int]) -> None:
    chance = random.Random(sum(sizes))
    one, other = (chance.randbytes(size) for size in sizes)

    assert combined(zlib.crc32(one), zlib.crc32(other), len(other)) == zlib.crc32(one + other)


@pytest.mark.parametrize(
    ("begin", "size"),
    [
        (0, 40_000_007),
        (5, 0),
        (5, 1),
        (3, BLOCK),
        (3, BLOCK + 1),
        (123, 8_388_608),
        (123, 8_388_609),
        (4096, 30_000_000),
    ],
)
def test_the_checksum_of_any_stretch_is_that_of_its_bytes(
    large: Opener, path: Path, begin: int, size: int
) -> None:
    """However it is divided."""
    expected = zlib.crc32(path.read_bytes()[begin : begin + size])

    assert isinstance(large(path), LongRead)
    assert checksum(large(path), begin, size) == expected
    assert checksum(lambda at, count: path.read_bytes()[at : at + count], begin, size) == expected


def test_any_piece_can_be_had_in_between(large: Opener, path: Path) -> None:
    content = path.read_bytes()
    read = large(path)

    for at in (0, 39_999_000, 7, 20_000_000, 20_000_001):
        assert bytes(read(at, 5000)) == content[at : at + 5000]
        pass_over(read, at, 1_000)


@pytest.mark.parametrize("kept", [39_999_999, 20_000_000, 12])
def test_a_file_that_became_shorter_is_an_error_of_reading(
    large: Opener, tmp_path: Path, path: Path, kept: int
) -> None:
    """It is neither damage nor a pass, whichever thread meets it."""
    copy = tmp_path / "copy"
    copy.write_bytes(path.read_bytes())
    read = large(copy)
    os.truncate(copy, kept)

    for look in (read.checksum, read.pass_over):
        with pytest.raises(OSError, match="became shorter"):
            look(0, 40_000_007)


def rest(_block: memoryview, _at: int) -> None:
    """Let the other thread go on: where one goes through all in no time, the other does nothing."""
    time.sleep(0.01)


def test_whoever_waits_hears_that_it_goes_on(large: Opener, path: Path) -> None:
    """Also where each piece takes a moment, and the other thread is the quicker one."""
    told: list[int] = []
    large(path, lambda: told.append(1)).pass_over(0, 40_000_007, rest)

    assert len(told) >= 8


def test_where_no_thread_can_read_from_a_place_of_its_own_one_reads_all(
    large: Opener, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on Windows."""
    monkeypatch.delattr(os, "preadv", raising=False)

    assert large(path).checksum(1, 40_000_000) == zlib.crc32(path.read_bytes()[1:40_000_001])


def test_what_goes_wrong_here_ends_the_other_thread_too(large: Opener, path: Path) -> None:
    def stop() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        large(path, stop).pass_over(0, 40_000_007, rest)


@pytest.mark.parametrize("size", [0, 1, 8_388_608, 8_388_609, 20_000_003, 100_000_000, 1 << 31])
def test_a_stretch_is_divided_without_gap_or_overlap(size: int) -> None:
    """In shares that become no larger, so that two threads end at about the same time."""
    shares = list(divided(7, 7 + size))

    assert [begin for begin, _ in shares] == [7, *(end for _, end in shares)][: len(shares)]
    assert (shares[-1][1] if shares else 7) == 7 + size
    lengths = [end - begin for begin, end in shares]
    assert lengths == sorted(lengths, reverse=True)
    assert (len(shares) > 1) == (size > 8_388_608)  # a thread takes longer to start than a little
    assert len(shares) < 2 or lengths[-1] <= 2_097_152


def test_what_is_far_away_is_read_alone_and_what_follows_with_more(
    large: Opener, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of an archive with large records little is read twice; of small ones much at once."""
    content = path.read_bytes()
    give = large(path)
    read: list[int] = []
    read_at = give._read

    def noted(offset: int, size: int) -> bytes:
        read.append(size)
        return read_at(offset, size)

    monkeypatch.setattr(give, "_read", noted)
    for at in (8_000_000, 100, 12_000_000):
        assert bytes(give(at, 30)) == content[at : at + 30]
    assert read == [65_536] * 3
    read.clear()
    for at in range(0, 8_000_000, 1_000):
        assert bytes(give(at, 1_000)) == content[at : at + 1_000]
    assert max(read) == WINDOW
    assert len(read) < 12
