"""Checksums that will be asked for are worked out by two threads, and are those of the bytes."""

from __future__ import annotations

import contextlib
import io
import os
import random
import threading
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from preflight.file_access.checksums import Checksums
from preflight.file_access.large import Large
from preflight.file_access.opened import reading
from preflight.formats.bytes.blocks import LEAST_EXPECTED, Read, checksum, expecting
from preflight.formats.stored import StoredFile, look
from tests.archives import flipped, zeroed
from tests.contents import archive as zipped

pytestmark = pytest.mark.skipif(not hasattr(os, "preadv"), reason="one thread reads all there")

SIZE = 40_000_007


@pytest.fixture(scope="module")
def content() -> bytes:
    """Bytes in which no two pieces are alike."""
    return random.Random(5).randbytes(SIZE)


@pytest.fixture
def large(tmp_path: Path, content: bytes) -> Iterator[Large]:
    """Open a file of these bytes."""
    (tmp_path / "file").write_bytes(content)
    with io.FileIO(tmp_path / "file") as file:
        yield Large(file, lambda: None)


def places(_: Read) -> Iterator[tuple[int, int]]:
    return iter(PLACES)


def threads() -> int:
    return sum(one.name.startswith("checksums") for one in threading.enumerate())


PLACES = [(9, 300_000), (300_000, 1_400_000), (1_400_007, 30_000_000), (31_000_000, SIZE)]


@pytest.mark.parametrize(
    "asked",
    [PLACES, PLACES[::-1], PLACES[::2], [(5, 900_000)], [(9, 300_001), *PLACES], PLACES + PLACES],
    ids=["in order", "backwards", "some", "another", "a longer one first", "twice"],
)
def test_whatever_is_asked_for_is_answered(
    large: Large, content: bytes, asked: list[tuple[int, int]]
) -> None:
    """Also what nobody has said would be."""
    with expecting(large, places, SIZE):
        found = [checksum(large, begin, end - begin) for begin, end in asked]
        piece = bytes(large(20_000_000, 5_000))

    assert found == [zlib.crc32(content[begin:end]) for begin, end in asked]
    assert piece == content[20_000_000:20_005_000]
    assert threads() == 0


def test_two_pieces_are_read_at_once() -> None:
    """None of these is done before another one is begun."""
    pair = threading.Barrier(2, timeout=60)

    def work_out(begin: int, _: int) -> int:
        pair.wait()
        return begin

    short = [(number, number + 1) for number in range(1, 21)]
    with (two := Checksums(iter(short), work_out)):
        assert [two.of(begin, end, lambda: None) for begin, end in short] == list(range(1, 21))


def test_no_thread_is_left_where_something_goes_wrong(large: Large) -> None:
    with pytest.raises(ZeroDivisionError), expecting(large, places, SIZE):
        raise ZeroDivisionError

    assert threads() == 0


def test_a_file_that_became_shorter_is_told_to_whoever_asks(large: Large, tmp_path: Path) -> None:
    """And to nobody else."""
    os.truncate(tmp_path / "file", 20_000_000)

    with expecting(large, places, SIZE):
        checksum(large, 9, 299_991)
        with pytest.raises(OSError, match="became shorter while it was read"):
            checksum(large, 1_400_007, 28_599_993)


def test_a_place_that_cannot_be_read_ends_what_is_done_ahead(large: Large, content: bytes) -> None:
    def give(_: Read) -> Iterator[tuple[int, int]]:
        yield PLACES[0]
        raise OSError("gone")

    with expecting(large, give, SIZE):
        found = [checksum(large, begin, end - begin) for begin, end in PLACES]

    assert found == [zlib.crc32(content[begin:end]) for begin, end in PLACES]


def test_little_and_files_with_holes_take_no_thread(tmp_path: Path, large: Large) -> None:
    with expecting(large, places, 1_000_000):
        assert threads() == 0
    with (tmp_path / "sparse").open("wb") as file:
        file.truncate(SIZE)
    if os.stat(tmp_path / "sparse").st_blocks * 512 >= SIZE:
        pytest.skip("this file system keeps no holes")
    with (
        io.FileIO(tmp_path / "sparse") as sparse,
        expecting(Large(sparse, lambda: None), places, SIZE),
    ):
        assert threads() == 0


@pytest.fixture(scope="module")
def archive() -> bytes:
    """Long and short records of an archive that is large enough for two threads."""
    chance = random.Random(11)
    sizes = [9, LEAST_EXPECTED - 1, LEAST_EXPECTED, 9_000_001, *(chance.sample(range(1 << 20), 30))]
    noise = chance.randbytes(max(sizes))
    records = [(f"a/{number}.bin", noise[:size]) for number, size in enumerate(sizes)]
    return zipped(*records, method=zipfile.ZIP_STORED)


def both(folder: Path, content: bytes) -> tuple[StoredFile, StoredFile]:
    """Look at an archive by two threads, and by one that reads it record by record."""
    path = folder / "file.zip"
    path.write_bytes(content)
    with contextlib.ExitStack() as opened:
        one = reading(opened.enter_context(io.FileIO(path)))
        two = Large(opened.enter_context(io.FileIO(path)), lambda: None)
        return look(two, len(content), ".zip"), look(one, len(content), ".zip")


def test_an_archive_is_judged_as_by_one_thread(tmp_path: Path, archive: bytes) -> None:
    """With wrong bytes anywhere, in records and in headers, and cut anywhere."""
    chance = random.Random(12)
    kinds = []
    headers = [one.header_offset for one in zipfile.ZipFile(io.BytesIO(archive)).infolist()]
    for number in range(36):
        match number % 3:
            case 0:
                wrong = flipped(archive, chance.randrange(len(archive)), 1 << chance.randrange(8))
            case 1:
                at = chance.choice(headers) + chance.randrange(30)
                wrong = flipped(archive, at, 1 << chance.randrange(8))
            case _:
                begin = chance.randrange(len(archive))
                wrong = zeroed(archive, begin, min(begin + 4096, len(archive)))
        two, one = both(tmp_path, wrong)
        assert two == one
        kinds.append(two.flaw.kind if two.flaw is not None else "none")

    assert both(tmp_path, archive)[0].flaw is None
    assert {"checksum", "structure", "none"} <= set(kinds)
