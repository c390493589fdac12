"""Says how damage most likely came about, where the bytes show it.

A guess says that it is one. Only that a single bit is turned can be worked out: of the errors that
leave a CRC-32 different by this much, there is no other that is as small.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence

from preflight.formats.bytes.blocks import Read, blocks
from preflight.formats.bytes.crc import power, product
from preflight.values.names import counted

MID_WRITE = "most likely killed in mid-write"
STOPPED = "most likely an error or Ctrl-C stopped its writer midway"
SEVERAL = "most likely several processes wrote it at once"
BY_WEAR = "most likely by memory or a disk"
NEVER_WRITTEN = "most likely never reached the disk"
OVER = "most likely written over a longer file"

PAGE = 4096
"""Bytes that systems write at a time."""

# Steps that are looked up, and that are taken at a time.
_STEPS = 1 << 12

# Bytes in which a single bit is looked for: in more, chance alone would find one too often.
_MOST_SEARCHED = 1 << 24

# Zero bytes in a record are looked for in this many bytes of it.
_MOST_READ = 1 << 26


def of_wrong_bytes(read: Read, wrong: Sequence[tuple[int, int, int]]) -> str | None:
    """Say how records of the right size came to have other checksums; None: nobody knows.

    Of each is told where its bytes lie, how many they are, and the difference between the checksum
    that it has and the one it should have, bit by bit.
    """
    if len(wrong) == 1:
        begin, size, difference = wrong[0]
        turned = turned_bit(difference, size)
        if turned == size:
            return "one bit of the CRC is turned, and most likely none of the record"
        if turned is not None:
            return f"one bit is turned, in byte {begin + turned:,}, {BY_WEAR}"
    pages = sum(_zero_pages(read, begin, size) for begin, size, _ in wrong)
    if pages:
        return f"{counted(pages, 'page')} of zero bytes in it {NEVER_WRITTEN}"
    return SEVERAL if wrong else None


def of_packed_bytes(read: Read, begin: int, size: int, unpacked: int) -> str | None:
    """Say how packed bytes came to be wrong; None: nobody knows.

    No packer makes a page of zeros, where it makes less of what it is given.
    """
    pages = sum(_count_zero_pages(read, begin, size)) if size < unpacked else 0
    return f"{counted(pages, 'page')} of zero bytes in it {NEVER_WRITTEN}" if pages else None


def of_rest(size: int) -> str:
    """Say how so many bytes came to stand behind the end of a file, where they are many."""
    return f": {OVER}" if size >= PAGE else ""


def of_headers(found: bytes, expected: bytes) -> str:
    """Say how one part of a header came to differ from what is said of it elsewhere."""
    differing = int.from_bytes(found, "little") ^ int.from_bytes(expected, "little")
    if len(found) == len(expected) and differing.bit_count() == 1:
        return f"one bit is turned, {BY_WEAR}"
    if not any(found):
        return f"zero bytes are there, whose content {NEVER_WRITTEN}"
    return SEVERAL


def turned_bit(difference: int, size: int) -> int | None:
    """Find the one byte of so many in which a turned bit makes this difference of CRC-32.

    Gives `size` where the bit is one of the checksum itself; None where it was no single bit.
    """
    if difference.bit_count() == 1:
        return size
    if size > _MOST_SEARCHED:
        return None
    # A bit with so many behind it makes a difference of x to the power of their number and 32.
    # To multiply by the power of minus so many steps takes them back: x**(2**32 - 1) is 1.
    powers, back = _first_powers(), power(2**32 - 1 - _STEPS // 8)
    for taken in range(0, 8 * size + 32, _STEPS):
        step = powers.get(difference)
        if step is not None:
            behind = taken + step - 32
            return size - 1 - behind // 8 if 0 <= behind < 8 * size else None
        difference = product(difference, back)
    return None


@functools.lru_cache(maxsize=1)
def _first_powers() -> dict[int, int]:
    """Give x to the power of each number below _STEPS, and that number."""
    powers, value = {}, 1 << 31
    for step in range(_STEPS):
        powers[value] = step
        value = product(1 << 30, value)
    return powers


def _zero_pages(read: Read, begin: int, size: int) -> int:
    """Count pages of zeros in a record; none where more than half are such, and so its content."""
    pages = sum(_count_zero_pages(read, begin, size))
    return pages if 2 * pages * PAGE <= max(size, 2 * PAGE) else 0


def _count_zero_pages(read: Read, begin: int, size: int) -> Iterator[int]:
    """Count the pages of the file that lie in a stretch and hold only zeros, block by block."""
    first = -(-begin // PAGE) * PAGE
    last = (begin + min(size, _MOST_READ)) // PAGE * PAGE
    zero = bytes(PAGE)
    for block in blocks(read, first, max(0, last - first)):
        held = bytes(block)
        yield sum(held.startswith(zero, at) for at in range(0, len(held), PAGE))
