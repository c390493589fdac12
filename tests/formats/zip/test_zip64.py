"""Archives of more than 4 GiB, as torch writes them: sizes and places of 64 bits, told piecemeal.

Each record is followed by a descriptor; its own header says no size at all, and the directory gives
in 64 bits only what does not fit in 32. Nobody holds the zeros that these archives consist of.
"""

from __future__ import annotations

import pickle
import struct
import sys
import time
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from preflight.cached_files.facts import CacheFacts
from preflight.cached_files.read import read_cache
from preflight.formats.bytes.blocks import Block, Hole, LongRead, Look
from preflight.formats.bytes.crc import with_zeros
from preflight.formats.bytes.damaged import DamagedError
from preflight.formats.torch import torchfile
from preflight.formats.zip import archive
from preflight.formats.zip.directory import read_archive
from tests.archives import flipped, sparse

with_holes = pytest.mark.skipif(
    sys.platform != "linux", reason="a file with holes may take its size"
)

GIB = 1 << 30
NARROW = 0xFFFFFFFF


def test_the_checksum_of_zeros_is_theirs() -> None:
    assert with_zeros(0, 1_234_567) == zlib.crc32(bytes(1_234_567))


@dataclass
class Sparse(LongRead):
    """A large file of which only what is not zero is held."""

    pieces: dict[int, bytes] = field(default_factory=dict)
    size: int = 0

    def put(self, content: bytes) -> None:
        """Add bytes at its end."""
        self.pieces[self.size] = content
        self.size += len(content)

    def __call__(self, offset: int, size: int) -> Block:
        """Give a piece."""
        found = bytearray(max(0, min(size, self.size - offset)))
        for begin, piece in self.pieces.items():
            at = begin - offset
            if -len(piece) < at < len(found):
                part = piece[max(0, -at) : len(found) - at]
                found[max(0, at) : max(0, at) + len(part)] = part
        return bytes(found)

    def checksum(self, offset: int, size: int) -> int:
        """Put it together from those of the pieces, and of the zeros between them."""
        found, at, end = 0, offset, offset + size
        for begin, piece in sorted(self.pieces.items()):
            part = piece[max(0, at - begin) : max(0, end - begin)]
            if part:
                zeros = max(begin - at, 0)
                found = zlib.crc32(part, with_zeros(found, zeros))
                at += zeros + len(part)
        return with_zeros(found, end - at)

    def pass_over(
        self, offset: int, size: int, look: Look | None = None, hole: Hole | None = None
    ) -> None:
        """There is nothing to see."""


@dataclass
class Writer:
    """Writes an archive as torch 2.13 does."""

    file: Sparse = field(default_factory=Sparse)
    directory: bytes = b""
    records: int = 0
    extras: list[int] = field(default_factory=list)
    """Where the numbers of 64 bits lie in the directory."""

    def add(self, name: bytes, content: bytes | int, *, checksum: bool = True) -> None:
        """Add a record of such bytes, or of so many zeros."""
        at = self.file.size
        size = content if isinstance(content, int) else len(content)
        crc = with_zeros(0, size) if isinstance(content, int) else zlib.crc32(content)
        crc = crc if checksum else 0
        sizes = struct.pack("<2Q", size, 0) if size >= NARROW else b""
        place = struct.pack("<Q", at) if at >= NARROW else b""
        extra = sizes + place
        extra = struct.pack("<2H", 1, len(extra)) + extra if extra else b""
        self.file.put(
            struct.pack("<4s5H3L2H", b"PK\3\4", 45, 0x808, 0, 0, 0, 0, 0, 0, len(name), len(extra))
            + name
            + extra
        )
        if isinstance(content, int):
            self.file.size += size
        else:
            self.file.put(content)
        self.file.put(struct.pack("<4sL2Q", b"PK\7\10", crc, size, size))
        wide = struct.pack("<2Q", size, size) if size >= NARROW else b""
        wide = struct.pack("<2H", 1, len(wide + place)) + wide + place if wide or place else b""
        begin = len(self.directory) + 46 + len(name) + 4
        self.extras += range(begin, begin + len(wide) - 4)
        narrow = min(size, NARROW)
        self.directory += (
            struct.pack(
                "<4s6H3L5H2L",
                *(b"PK\1\2", 0, 45, 0x808, 0, 0, 0, crc, narrow, narrow),
                *(len(name), len(wide), 0, 0, 0, 0, min(at, NARROW)),
            )
            + name
            + wide
        )
        self.records += 1

    def finish(self, directory: bytes | None = None) -> Sparse:
        """Put the directory behind it, or another in its place, and the end."""
        directory = self.directory if directory is None else directory
        at, length, count = self.file.size, len(directory), self.records
        whole = Sparse(dict(self.file.pieces), at)
        whole.put(
            directory
            + struct.pack("<4sQ2H2L4Q", b"PK\6\6", 44, 798, 45, 0, 0, count, count, length, at)
            + struct.pack("<4sLQL", b"PK\6\7", 0, at + length, 1)
            + struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, count, count, length, min(at, NARROW), 0)
        )
        return whole


def pickled(sizes: Mapping[str, int]) -> bytes:
    """Name storages as torch does, but for the tensors around them."""
    text = b"\x80\x02]("
    for name, size in sizes.items():
        key = name.encode()
        text += (
            b"(X\7\0\0\0storagectorch.storage\nUntypedStorage\n"
            + (b"X" + struct.pack("<L", len(key)) + key + b"X\3\0\0\0cpu")
            + pickle.dumps(size, 2)[2:-1]
            + b"tQ"
        )
    return text + b"e."


LARGE = {"0": 4 * GIB + 4096, "1": 80, "2": 5 * GIB + 5, "3": NARROW, "4": 7}


def written(sizes: dict[str, int] = LARGE, *, checksum: bool = True) -> Writer:
    """Write tensors of such sizes, all of zeros."""
    writer = Writer()
    writer.add(b"x/data.pkl", pickled(LARGE), checksum=checksum)
    for key, size in sizes.items():
        writer.add(b"x/data/" + key.encode(), size, checksum=checksum)
    writer.add(b"x/version", b"3\n", checksum=checksum)
    return writer


def kind_of(file: Sparse) -> str:
    """Tell what is found; `none` where nothing is."""
    try:
        torchfile.check_zip(file, read_archive(file, file.size))
    except DamagedError as error:
        return error.flaw.kind
    return "none"


@pytest.mark.parametrize("checksum", [True, False])
def test_several_records_of_more_than_4_gib_are_whole(checksum: bool) -> None:  # noqa: FBT001  a case
    """Some behind 13 GiB, one of exactly as many bytes as no longer fit."""
    file = written(checksum=checksum).finish()
    parts = read_archive(file, file.size)

    assert {one.name: one.length for one in parts.records if b"data/" in one.name} == {
        b"x/data/" + key.encode(): size for key, size in LARGE.items()
    }
    assert torchfile.check_zip(file, parts) == (checksum, (), None, ())


def test_a_wrong_byte_in_a_large_record_is_found() -> None:
    file = written().finish()
    file.pieces[6 * GIB] = b"\1"

    assert kind_of(file) == "checksum"


def test_a_pickle_that_speaks_of_another_size_is_found() -> None:
    """By 4 GiB: what does not fit in 32 bits is not cut off."""
    assert kind_of(written({**LARGE, "0": 4096}).finish()) == "storage"
    assert kind_of(written({**LARGE, "1": 4 * GIB + 80}).finish()) == "storage"
    assert kind_of(written({**LARGE, "4": 8}).finish()) == "storage"


def test_every_wrong_byte_in_a_number_of_64_bits_is_found() -> None:
    """The sizes of a record, and the place of one."""
    writer = written()
    assert len(writer.extras) == (2 + 1 + 3 + 3 + 1 + 1) * 8

    for at in writer.extras:
        directory = flipped(writer.directory, at, 0x10)
        assert kind_of(writer.finish(directory)) != "none", at


def test_a_directory_that_lacks_its_numbers_of_64_bits_is_found() -> None:
    """They are there for another field, or too few."""
    writer = written()
    for old, new in ((b"\1\0\x18\0", b"\2\0\x18\0"), (b"\1\0\x10\0", b"\1\0\x08\0")):
        assert old in writer.directory
        assert kind_of(writer.finish(writer.directory.replace(old, new, 1))) == "structure"


@with_holes
def test_a_cut_of_a_large_file_says_how_much_was_to_come(tmp_path: Path) -> None:
    """As its pickle tells, which stands first."""
    file = written().finish()
    facts = read_at(tmp_path, Sparse(file.pieces, 6 * GIB), "index")

    assert facts.damage and facts.damage.kind == "cut"
    assert "ends at 6,442,450,944 of at least 13," in facts.damage.text


def read_at(folder: Path, file: Sparse, depth: str, name: str = "a.pt") -> CacheFacts:
    """Write it to a file, and read that."""
    pieces = {at: piece for at, piece in file.pieces.items() if at < file.size}
    path = sparse(folder / name, file.size, pieces)
    try:
        return read_cache(str(path), str(folder), lambda _: None, depth)
    finally:
        path.unlink()


@with_holes
def test_the_structure_of_a_real_file_of_13_gib_takes_no_time(tmp_path: Path) -> None:
    facts = read_at(tmp_path, written().finish(), "index")

    assert (facts.format, facts.damage, facts.verified) == ("torch zip", None, False)
    assert facts.size > 13 * GIB


@with_holes
def test_a_record_behind_a_gap_of_5_gib_is_verified(tmp_path: Path) -> None:
    """Between records there may be anything; here is a hole, which is not read."""
    writer = Writer()
    writer.add(b"x/data.pkl", pickled({"0": 9_000_000}))
    writer.file.size += 5 * GIB
    writer.add(b"x/data/0", 9_000_000)
    good = read_at(tmp_path, writer.finish(), "bytes")
    writer.file.pieces[5 * GIB + 5_000_000] = b"\1"
    bad = read_at(tmp_path, writer.finish(), "bytes")

    assert (good.damage, good.verified) == (None, True)
    assert bad.damage and bad.damage.kind == "checksum"


@with_holes
def test_a_record_that_is_a_hole_takes_no_time(tmp_path: Path) -> None:
    """And its checksum is compared: here it is that of other bytes."""
    writer = Writer()
    writer.add(b"a.bin", 1 << 40)
    right, wrong = (struct.pack("<L", with_zeros(0, 1 << 40) ^ bit) for bit in (0, 1))
    assert right in writer.directory
    begun = time.process_time()
    good = read_at(tmp_path, writer.finish(), "bytes", "a.npz")
    bad = read_at(tmp_path, writer.finish(writer.directory.replace(right, wrong)), "bytes", "a.npz")

    assert time.process_time() - begun < 60
    assert (good.damage, good.verified) == (None, True)
    assert bad.damage and not bad.verified


def test_an_archive_that_only_archive_py_reads_is_read_through_the_same_numbers() -> None:
    """The records of an npz lie in the same way."""
    writer = Writer()
    writer.add(b"a.npy", 5 * GIB)
    writer.add(b"b.npy", b"x")
    file = writer.finish()

    assert archive.read_records(file, read_archive(file, file.size), lambda _: False).verified


def test_a_record_beyond_4_gib_is_found_through_the_large_directory() -> None:
    """The archive lies at the end of 5 GB that nobody holds, and nobody asks for."""
    writer = Writer(Sparse(size=5 * 10**9))
    writer.add(b"a", b"payload")
    begin, file = writer.file.size, writer.finish()
    parts = read_archive(file, file.size)

    assert parts.directory == begin
    assert archive.read_records(file, parts, lambda _: True).kept == {b"a": b"payload"}
