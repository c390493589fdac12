"""Packed streams read as if they were not packed, up to the end of the first."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import struct
import zlib

import pytest

from preflight.formats.packing.packed import Packed, can_unpack
from tests.archives import flipped

CONTENT = bytes(range(256)) * 5000
PACKERS = {"gzip stream": gzip.compress, "bzip2 stream": bz2.compress, "xz stream": lzma.compress}


def packed(content: bytes, kind: str = "gzip stream", *, every: bool = False) -> Packed:
    return Packed(lambda offset, size: content[offset : offset + size], kind, every=every)


@pytest.mark.parametrize("kind", PACKERS)
def test_any_place_can_be_read_while_it_is_not_far_back(kind: str) -> None:
    stream = packed(PACKERS[kind](CONTENT), kind)

    assert stream.read(1000, 10) == CONTENT[1000:1010]
    assert stream.read(900_000, 300) == CONTENT[900_000:900_300]
    assert stream.read(899_000, 300) == CONTENT[899_000:899_300]
    assert stream.read(len(CONTENT) - 3, 10) == CONTENT[-3:]
    assert (stream.ended, stream.more, stream.error) == (True, False, None)


@pytest.mark.parametrize("kind", PACKERS)
def test_a_second_stream_is_seen_and_read_only_where_asked_for(kind: str) -> None:
    both = PACKERS[kind](b"first") + PACKERS[kind](b"second")

    first, every = packed(both, kind), packed(both, kind, every=True)

    assert (first.read(0, 99), first.more) == (b"first", True)
    assert every.read(0, 99) == b"firstsecond"


def test_zeros_behind_a_stream_are_no_second_one() -> None:
    stream = packed(gzip.compress(b"first") + bytes(600))

    stream.read(len(CONTENT), 1)

    assert (stream.ended, stream.more) == (True, False)


@pytest.mark.parametrize("kind", PACKERS)
def test_a_wrong_byte_is_an_error_that_ends_the_stream(kind: str) -> None:
    content = PACKERS[kind](CONTENT)
    stream = packed(flipped(content, len(content) // 2, 0xFF), kind)

    stream.read(len(CONTENT), 1)

    assert stream.error is not None
    assert stream.read(stream.unpacked, 9) == b""


def test_a_checksum_that_differs_keeps_nothing_back() -> None:
    """As with tarfile, which does not look at it."""
    stream = packed(flipped(gzip.compress(b"first"), -6))

    assert stream.read(0, 99) == b"first"
    assert (stream.error or "").endswith("incorrect data check")


def test_all_fields_of_a_gzip_header_are_passed_over() -> None:
    header = b"\x1f\x8b\x08\x1e" + bytes(6) + struct.pack("<H", 3) + b"abc" + b"name\0comment\0"
    header += struct.pack("<H", zlib.crc32(header) & 0xFFFF)
    deflated = zlib.compressobj(wbits=-15)
    body = deflated.compress(b"first") + deflated.flush()
    trailer = struct.pack("<II", zlib.crc32(b"first"), 5)
    assert gzip.GzipFile(fileobj=io.BytesIO(header + body + trailer)).read() == b"first"

    stream = packed(header + body + trailer, every=True)

    assert stream.read(0, 99) == b"first"
    assert stream.ended


def test_a_gzip_header_without_end_is_cut() -> None:
    stream = packed(b"\x1f\x8b\x08\x08" + bytes(6) + b"n" * (3 << 20))

    assert stream.read(0, 1) == b""
    assert (stream.error, stream.ended) == (None, False)


def test_what_lies_too_far_back_is_refused() -> None:
    stream = packed(gzip.compress(bytes(1 << 24)))
    stream.read((1 << 24) - 9, 9)

    with pytest.raises(ValueError, match="no longer at hand"):
        stream.read(0, 9)


@pytest.mark.parametrize(
    ("kind", "can"),
    [("gzip stream", True), ("zstd stream", True), ("zip archive", False), (None, False)],
)
def test_only_what_shards_are_read_through_is_unpacked(kind: str | None, *, can: bool) -> None:
    assert can_unpack(kind) is can
