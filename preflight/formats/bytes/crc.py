"""The CRC-32 of zip, gzip and PNG, in one place, so that a faster one can take it."""

from __future__ import annotations

import functools
import zlib
from collections.abc import Callable
from typing import TypeAlias
from zlib import crc32

__all__ = ["Crc32", "combined", "crc32", "crc32_for", "power", "product", "with_zeros"]

Crc32: TypeAlias = "Callable[[bytes | bytearray | memoryview, int], int]"
"""Takes bytes and the checksum of all before them, and gives that of both."""

# Bytes in all before a faster one is looked for: finding it, and where packages lie at all, takes
# as long as zlib takes for these.
_MANY = 1 << 27


_seen = [0]
"""Bytes so far, of which a checksum was worked out."""


@functools.lru_cache(maxsize=1)
def _faster() -> Crc32:
    """Take isal's, where it is installed: five to eight times as fast as most builds of zlib.

    It is no requirement. There is no wheel of it for Windows on ARM, and none for a new Python at
    first; to build it takes an assembler, and all that is lost without it is time. zlib-ng is as
    fast, and its package has the same gaps on older Pythons.
    """
    try:
        from isal.isal_zlib import crc32 as faster
    except ImportError:
        return zlib.crc32
    return faster


def crc32_for(size: int) -> Crc32:
    """Give what to work out the checksums of so many more bytes with."""
    _seen[0] += size
    return zlib.crc32 if _seen[0] <= _MANY else _faster()


def combined(first: int, second: int, length: int) -> int:
    """Give the checksum of two stretches, the second of so many bytes, from those of each.

    As zlib's crc32_combine, which Python does not have: the first is multiplied by x to the power
    of the bits that follow, modulo the polynomial.
    """
    return product(power(length), first) ^ second


def with_zeros(first: int, length: int) -> int:
    """Give the checksum of a stretch and so many zero bytes behind it, from that of the stretch."""
    return product(power(length), first ^ 0xFFFFFFFF) ^ 0xFFFFFFFF


# The polynomial of CRC-32, the lowest power in the highest bit, without x**32.
_POLYNOMIAL = 0xEDB88320


def product(one: int, other: int) -> int:
    """Multiply two numbers modulo the polynomial."""
    product = 0
    for bit in range(31, -1, -1):
        if one >> bit & 1:
            product ^= other
        other = other >> 1 ^ (_POLYNOMIAL if other & 1 else 0)
    return product


@functools.lru_cache(maxsize=64)
def power(length: int) -> int:
    """Give x to the power of the bits in so many bytes."""
    found, square = 1 << 31, 1 << 23  # x**0, x**8
    while length:
        if length & 1:
            found = product(square, found)
        square = product(square, square)
        length >>= 1
    return found
