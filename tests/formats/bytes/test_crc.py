"""Checksums are those of zlib, whatever works them out."""

from __future__ import annotations

import functools
import random
import sys
import zlib

import pytest

from preflight.formats.bytes import crc

MANY = 1 << 28


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """Begin as a new process does."""
    monkeypatch.setattr(crc, "_seen", [0])
    crc._faster.cache_clear()


def test_for_little_the_standard_library_is_enough() -> None:
    """To find a faster one takes longer."""
    assert crc.crc32_for(160_000) is zlib.crc32


def test_for_much_a_faster_one_is_taken_where_there_is_one() -> None:
    faster = pytest.importorskip("isal.isal_zlib")

    assert crc.crc32_for(MANY) is faster.crc32
    assert crc.crc32_for(1) is faster.crc32


def test_many_small_ones_are_much(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[int] = []
    monkeypatch.setattr(crc, "_faster", functools.cache(lambda: looked.append(1)))
    for _ in range(5_000):
        crc.crc32_for(160_000)

    assert looked == [1]


def test_where_there_is_none_the_standard_library_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "isal", None)
    monkeypatch.setitem(sys.modules, "isal.isal_zlib", None)

    assert crc.crc32_for(MANY) is zlib.crc32


def test_whichever_it_is_it_gives_the_same() -> None:
    content = random.Random(1).randbytes(100_003)
    other = crc.crc32_for(MANY)

    assert other(memoryview(content), 0) == zlib.crc32(content)
    assert other(content[7:], other(bytearray(content[:7]), 0)) == zlib.crc32(content)
