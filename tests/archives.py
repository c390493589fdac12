"""Builds shards and pictures for tests, with the writers that people use."""

from __future__ import annotations

import functools
import io
import struct
import tarfile
import time
import tracemalloc
import warnings
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from preflight.shards.facts import ShardFacts
from preflight.shards.read import read_shard
from preflight.targets.targets import CaptionRule, Shard


@contextmanager
def bounded(*, seconds: float = 30, memory: int = 48 << 20) -> Iterator[None]:
    """Hold what is done inside to an amount of memory, and to a time that no machine needs."""
    tracemalloc.start()
    begun = time.process_time()
    try:
        yield
        took, peak = time.process_time() - begun, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert took < seconds
    assert peak < memory


def saved(image: Image.Image, image_format: str, **options: Any) -> bytes:
    stream = io.BytesIO()
    image.save(stream, image_format, **options)
    return stream.getvalue()


@functools.cache
def photo(
    image_format: str = "JPEG",
    width: int = 192,
    height: int = 160,
    mode: str = "RGB",
    **options: Any,
) -> bytes:
    """Draw something like a photograph, gradients and noise, and save it as Pillow does."""
    noise = np.random.default_rng(7).normal(0, 14, (height, width, 3))
    y, x = np.mgrid[0:height, 0:width]
    waves = [128 + 90 * np.sin(x / (20 + 9 * c)) + 20 * np.cos(y / 17) for c in range(3)]
    pixels = (np.stack(waves, -1) + noise).clip(0, 255).astype(np.uint8)
    return saved(Image.fromarray(pixels).convert(mode), image_format, **options)


class Contents(Mapping[str, bytes]):
    """Contents by name, of which some are made once they are asked for.

    Whatever is made as a test's file is imported is made by every process that runs tests.
    """

    def __init__(self, given: Mapping[str, bytes | Callable[[], bytes]]) -> None:
        self._given = dict(given)

    def __getitem__(self, name: str) -> bytes:
        content = self._given[name]
        if not isinstance(content, bytes):
            content = self._given[name] = content()
        return content

    def __iter__(self) -> Iterator[str]:
        return iter(self._given)

    def __len__(self) -> int:
        return len(self._given)


def tarred(
    files: Mapping[str, bytes] | Iterable[tuple[str, bytes]],
    tar_format: int = tarfile.USTAR_FORMAT,
) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=tar_format) as archive:
        for name, content in files.items() if isinstance(files, Mapping) else files:
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return stream.getvalue()


def shard_facts(
    folder: Path, content: bytes | Iterable[str], depth: str = "bytes", **captions: Any
) -> ShardFacts:
    """Write a shard of these bytes, or of files of these names, and read it."""
    if not isinstance(content, bytes):
        content = tarred([(name, b"x") for name in content])
    (folder / "x.tar").write_bytes(content)
    shard = Shard(path="x.tar", captions=CaptionRule(**captions))
    return read_shard(shard, str(folder), list, depth)


def epoch(
    content: bytes, *errors: type[Exception]
) -> tuple[list[tuple[str, frozenset[str]]], bool]:
    """Iterate a shard as a job does with webdataset: what samples are made of; did it raise."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from webdataset.tariterators import group_by_keys, tar_file_expander

    given = []
    source = [{"url": "x.tar", "stream": io.BytesIO(content)}]
    try:
        for sample in group_by_keys(tar_file_expander(source)):
            suffixes = frozenset(name for name in sample if not name.startswith("__"))
            given.append((sample["__key__"], suffixes))
    except (tarfile.ReadError, ValueError, EOFError, *errors):
        return given, True
    return given, False


def samples(count: int, *, image: bytes = b"x" * 700, start: int = 0) -> dict[str, bytes]:
    """Give that many samples of an image and a caption; each takes 2,560 bytes of a tar."""
    files = {}
    for number in range(start, start + count):
        files[f"dog-{number:04}.jpg"] = image
        files[f"dog-{number:04}.txt"] = b"a dog on a beach"
    return files


SAMPLE = 2560
"""Bytes that one of these samples takes: two headers, 1,024 bytes of image, 512 of caption."""


def flipped(content: bytes, offset: int, bits: int = 1) -> bytes:
    damaged = bytearray(content)
    damaged[offset] ^= bits
    return bytes(damaged)


def zeroed(content: bytes, begin: int, end: int) -> bytes:
    """Lose the bytes of a stretch, as a disk or a sparse copy does."""
    return content[:begin] + bytes(end - begin) + content[end:]


def sparse(path: Path, size: int, pieces: Mapping[int, bytes]) -> Path:
    """Write a file of so many bytes, of which only these are stored."""
    with path.open("wb") as file:
        file.truncate(size)
        for at, piece in pieces.items():
            file.seek(at)
            file.write(piece)
    return path


def slow(path: Path) -> str:
    """Write an `.npz` of 3 MB that it takes some seconds to unpack; give its path."""
    piece, pieces, name = 1 << 24, 150, b"a.npy"
    stream = zlib.compressobj(9, zlib.DEFLATED, -15)
    one = stream.compress(bytes(piece)) + stream.flush(zlib.Z_FULL_FLUSH)
    data = one * pieces + stream.flush()
    zip64 = struct.pack("<HHQQ", 1, 16, piece * pieces, len(data))
    of_both = struct.pack("<HHHHHIIIHH", 45, 0, 8, 0, 33, 1, 0xFFFFFFFF, 0xFFFFFFFF, 5, len(zip64))
    local = b"PK\x03\x04" + of_both + name + zip64
    central = b"PK\x01\x02\x2d\x00" + of_both + bytes(14) + name + zip64
    at = len(local) + len(data)
    end = b"PK\x05\x06" + struct.pack("<HHHHIIH", 0, 0, 1, 1, len(central), at, 0)
    path.write_bytes(local + data + central + end)
    return str(path)
