"""The quick way through an archive says what the exact way says, or nothing at all."""

from __future__ import annotations

import io
import random
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

from preflight.formats.stored import StoredFile
from preflight.formats.torch.quick import read_whole
from tests.archives import flipped
from tests.contents import archive, held_in, saved, unchecked

THINGS: dict[str, Callable[[], Any]] = {
    "a tensor": lambda: torch.arange(40.0),
    "a dict of tensors": lambda: {"a": torch.arange(40.0), "b": torch.arange(7), "n": 3},
    "an empty dict": dict,
    "parts of one storage": lambda: [torch.arange(100)[k::7] for k in range(7)],
    "many tensors": lambda: [torch.full((3 + k,), k) for k in range(60)],
    "a tensor of nothing": lambda: torch.zeros(0, 3),
    "a number that looks like a length": lambda: {"n": 70_000, "m": -1, "t": torch.zeros(70_000)},
    "types without a storage": lambda: [
        torch.zeros(3, 5, dtype=getattr(torch, name))[1:]
        for name in ("uint16", "uint32", "uint64", "float8_e4m3fn")
        if hasattr(torch, name)
    ],
    "a state": lambda: torch.nn.Linear(3, 4).state_dict(),
}


def exact(content: bytes) -> StoredFile:
    return held_in(content, ".pt")


def quick(content: bytes) -> StoredFile | None:
    found = read_whole(memoryview(content), zlib.crc32)
    if found is None:
        return None
    return StoredFile("torch zip", None, *found[:2], arrays=found.keys)


@pytest.mark.parametrize("make", list(THINGS.values()), ids=list(THINGS))
def test_what_torch_saves_goes_the_quick_way(make: Callable[[], Any]) -> None:
    """With checksums and without; both ways say the same of it."""
    for content in (saved(make()), unchecked(make()), saved(make(), pickle_protocol=4)):
        assert quick(content) == exact(content)
        assert exact(content).flaw is None


def damages(content: bytes) -> Iterator[bytes]:
    """Turn bits, cut, lose, put in, copy and clear; all of the directory, bit by bit."""
    for at in range(content.index(b"PK\1\2"), len(content)):
        for bit in (1, 8, 128):
            yield flipped(content, at, bit)
    for seed in range(500):
        chance = random.Random(seed)
        at, size = chance.randrange(len(content)), chance.randrange(1, 600)
        other = chance.randrange(len(content))
        yield flipped(content, at, 1 << chance.randrange(8))
        yield content[:at]
        yield content[:at] + content[at + size :]
        yield content[:at] + chance.randbytes(size) + content[at:]
        yield content[:at] + content[other : other + size] + content[at + size :]
        yield content[:at] + bytes(len(content[at : at + size])) + content[at + size :]


PLAIN = {"a": torch.arange(40.0), "b": torch.arange(7), "n": 3}
EMPTY = saved({"v": torch.zeros(0), "w": torch.arange(3)})


def before_the_empty_record() -> Iterator[bytes]:
    """Turn each bit of its own header: it has no bytes, and nothing else tells of its size."""
    begin = EMPTY.rindex(b"PK\3\4", 0, EMPTY.index(b"archive/data/0"))
    for at in range(begin, begin + 30):
        for bit in range(8):
            yield flipped(EMPTY, at, 1 << bit)


@pytest.mark.parametrize(
    "damaged",
    [
        lambda: damages(unchecked(PLAIN)),
        lambda: damages(saved(PLAIN)),
        before_the_empty_record,
    ],
    ids=["without checksums", "with them", "of an empty record"],
)
def test_what_it_calls_whole_the_exact_way_does_and_says_the_same(
    damaged: Callable[[], Iterator[bytes]],
) -> None:
    """Also where there are no checksums, and headers alone can tell."""
    passed = 0
    for content in damaged():
        found = quick(content)
        passed += found is not None
        assert found is None or found == exact(content)

    assert passed, "some bytes of an archive mean nothing"


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"PK\3\4",
        saved(torch.zeros(3))[:-1],
        saved(torch.zeros(3)) + b"x" * 20,
        saved(torch.zeros(3), _use_new_zipfile_serialization=False),
        bytes(4000),
    ],
    ids=["nothing", "a magic number", "a cut one", "one with a tail", "a legacy one", "zeros"],
)
def test_whatever_else_is_left_to_the_exact_way(content: bytes) -> None:
    assert quick(content) is None


def test_a_directory_of_four_billion_records_costs_nothing() -> None:
    """The count is held against the directory's length before anything is made of it."""
    head = saved(torch.zeros(3))
    head = head[: head.index(b"PK\1\2")]
    at = len(head)
    ends = struct.pack("<4sQ2H2L4Q", b"PK\6\6", 44, 45, 45, 0, 0, 2**32, 2**32, 0, at)
    ends += struct.pack("<4sLQL", b"PK\6\7", 0, at, 1)
    ends += struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 65535, 65535, 0, 0xFFFFFFFF, 0)

    assert quick(head + ends) is None
    assert exact(head + ends).flaw is not None


def test_an_archive_packed_again_is_left_to_the_exact_way() -> None:
    with zipfile.ZipFile(io.BytesIO(saved(torch.zeros(3)))) as old:
        packed = archive(*((name, old.read(name)) for name in old.namelist()))

    assert quick(packed) is None
    assert exact(packed).verified
