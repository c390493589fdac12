"""Holes of sparse files take no time, and change nothing of what is said of their zeros."""

from __future__ import annotations

import json
import os
import random
import time
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from preflight.cached_files.facts import CacheFacts
from preflight.cached_files.read import read_cache
from preflight.file_access.large import Large
from preflight.formats.bytes.blocks import Block
from tests.archives import sparse

pytestmark = pytest.mark.skipif(
    not hasattr(os, "SEEK_HOLE"), reason="the system does not tell holes"
)


Opener = Callable[..., Large]


def read_in_no_time(path: Path) -> CacheFacts:
    begun = time.process_time()
    facts = read_cache(str(path), str(path.parent), lambda _: None)
    assert time.process_time() - begun < 60
    return facts


@pytest.mark.parametrize(
    ("end", "said"),
    [
        (b"", "is 10,000,000,000,000 zero bytes"),
        (b"\1" * 4096, "begins with 9,999,999,995,904 zero bytes"),
    ],
    ids=["nothing else", "data at the end"],
)
def test_a_file_that_is_a_hole_takes_no_time(tmp_path: Path, end: bytes, said: str) -> None:
    """As a job leaves it that has made room for a file, and was killed before it wrote."""
    size = 10_000_000_000_000
    path = sparse(tmp_path / "a.pt", size, {size - len(end): end})
    damage = read_in_no_time(path).damage

    assert damage and damage.text.startswith(said)


@pytest.mark.parametrize("written", [0, 9_000_000_000_000, 9_999_999_995_904], ids=str)
def test_the_holes_of_a_memory_map_take_no_time(tmp_path: Path, written: int) -> None:
    """`numpy.lib.format.open_memmap` makes room for all, and each worker fills in its part."""
    header = b"{'descr': '|u1', 'fortran_order': False, 'shape': (10000000000000,)}"
    start = b"\x93NUMPY\1\0v\0" + header.ljust(117) + b"\n"
    pieces = {0: start, 128 + written: b"\1" * 4096}
    path = sparse(tmp_path / "a.npy", 128 + 10_000_000_000_000, pieces)

    assert read_in_no_time(path).damage is None


@pytest.mark.parametrize(
    "pieces",
    [{}, {0: b"a"}, {50_000_000: b"b" * 9}, {0: b"a" * 5_000, 20_000_001: b"b", 59_999_999: b"c"}],
    ids=["nothing", "its beginning", "the middle", "several"],
)
def test_a_hole_counts_for_its_zeros(
    large: Opener, tmp_path: Path, pieces: dict[int, bytes]
) -> None:
    """In checksums, and for whoever looks: what is told and what is shown make the whole."""
    path = sparse(tmp_path / "file", 60_000_000, pieces)
    content = path.read_bytes()

    for begin, end in ((0, 60_000_000), (7, 59_999_990), (4_096, 30_000_000), (1, 100)):
        read = large(path)
        seen = bytearray(b"?" * (end - begin))

        def look(block: Block, at: int, seen: bytearray = seen, begin: int = begin) -> None:
            seen[at - begin : at - begin + len(block)] = block

        def hole(at: int, stop: int, seen: bytearray = seen, begin: int = begin) -> None:
            seen[at - begin : stop - begin] = bytes(stop - at)

        assert read.checksum(begin, end - begin) == zlib.crc32(content[begin:end])
        read.pass_over(begin, end - begin, look, hole)
        assert seen == content[begin:end]
        read.pass_over(begin, end - begin, look)
        assert seen == content[begin:end]


def test_bytes_that_a_system_takes_for_a_hole_are_read(
    large: Opener, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As ZFS did for a while with what had just been written."""
    path = tmp_path / "file"
    path.write_bytes(b"\1" * 30_000_000)
    monkeypatch.setattr(Large, "next_data", lambda *_: None)

    assert large(path).checksum(0, 30_000_000) == zlib.crc32(path.read_bytes())


def test_a_file_that_grows_is_read_as_far_as_it_was(large: Opener, tmp_path: Path) -> None:
    path = sparse(tmp_path / "file", 30_000_000, {})
    read = large(path, lambda: os.truncate(path, 50_000_000))

    assert read.checksum(0, 30_000_000) == zlib.crc32(bytes(30_000_000))


def tensors(path: Path, size: int, pieces: dict[int, bytes]) -> Path:
    """Write one tensor of so many bytes."""
    described = {"dtype": "F32", "shape": [size // 4096, 1024], "data_offsets": [0, size]}
    header = json.dumps({"w": described})
    begin = 8 + len(header)
    stored = {begin + at: piece for at, piece in pieces.items()}
    start = {0: len(header).to_bytes(8, "little") + header.encode()}
    return sparse(path, begin + size, start | stored)


@pytest.mark.parametrize(
    ("size", "every"),
    [(10 << 40, 10 << 40), (10 << 40, 1 << 40), (1 << 40, 1 << 30), (1 << 30, 1 << 15)],
    ids=["one", "several", "a thousand", "many small ones"],
)
def test_the_holes_of_a_tensor_take_no_time(tmp_path: Path, size: int, every: int) -> None:
    """However large they are, and however many; zeros of a tensor's own are left alone."""
    pieces = dict.fromkeys(range(every // 2, size, every), b"\1" * 4_096)
    path = tensors(tmp_path / "a.safetensors", size, pieces)

    assert read_in_no_time(path).damage is None


def test_pages_that_were_lost_are_found_as_a_hole_too(tmp_path: Path) -> None:
    """It is the same to whoever reads them, whether or not they are stored."""
    content = random.Random(3).randbytes(40 << 20).replace(b"\0", b"\1")
    path = tensors(tmp_path / "a.safetensors", len(content), {0: content})
    begin, end = 8 << 20, 28 << 20
    whole = path.read_bytes()
    said = set()
    for name in ("stored.safetensors", "hole.safetensors"):
        lost = sparse(tmp_path / name, len(whole), {0: whole[:begin], end: whole[end:]})
        if name[0] == "s":
            lost.write_bytes(lost.read_bytes())
        damage = read_cache(str(lost), str(tmp_path), lambda _: None).damage
        assert damage and (damage.kind, damage.offset) == ("pages", begin)
        said.add(damage.text)

    assert len(said) == 1
