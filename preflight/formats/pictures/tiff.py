"""Walks over the pages of a TIFF (TIFF 6.0, section 2), without decoding them."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping

from preflight.formats.bytes.flaw import Flaw

_ORDERS = {b"II*\0": "<", b"MM\0*": ">"}
_MOST_PAGES = 1_000

_CODES = {3: "H", 4: "I"}
"""Types of the numbers that say where a page lies."""

_PARTS = ((273, 279), (324, 325))
"""Where its strips or tiles begin, and how long they are."""

_NEEDED = {258, *(tag for pair in _PARTS for tag in pair)}


class _BeyondError(Exception):
    """Something of a page lies behind the end of the file."""


def lost_page(data: bytes) -> Flaw | None:
    """Tell that a page behind the first lies in part behind the end; of the first, a decoder does.

    Of a BigTIFF nothing is told.
    """
    order = _ORDERS.get(data[:4])
    if order is None:
        return None
    whole = 0
    try:
        for _ in _pages(data, order):
            whole += 1
    except _BeyondError:
        text = f"stops in its page {max(2, whole + 1):,}, at {len(data):,} bytes"
        return Flaw(kind="frames", text=text, offset=len(data))
    return None


def _pages(data: bytes, order: str) -> Iterator[Mapping[int, tuple[int, ...]]]:
    """Give what each page says of where it lies.

    Raises:
        _BeyondError: one lies behind the end of the file, in part; of the first, its directory.
    """
    seen: set[int] = set()
    (at,) = _read(data, f"{order}I", 4)
    while at and at not in seen and len(seen) < _MOST_PAGES:
        seen.add(at)
        (entries,) = _read(data, f"{order}H", at)
        (behind,) = _read(data, f"{order}I", at + 2 + 12 * entries)
        numbers = dict(_numbers(data, order, at + 2, entries))
        if len(seen) > 1 and _end_of(numbers) > len(data):
            raise _BeyondError
        yield numbers
        at = behind


def _numbers(
    data: bytes, order: str, at: int, entries: int
) -> Iterator[tuple[int, tuple[int, ...]]]:
    for place in range(at, at + 12 * entries, 12):
        tag, kind, count = _read(data, f"{order}HHI", place)
        if tag in _NEEDED and kind in _CODES:
            form, value = f"{order}{count}{_CODES[kind]}", place + 8
            if struct.calcsize(form) > 4:  # it lies elsewhere
                (value,) = _read(data, f"{order}I", value)
            yield tag, _read(data, form, value)


def _read(data: bytes, form: str, at: int) -> tuple[int, ...]:
    if at + struct.calcsize(form) > len(data):
        raise _BeyondError
    return struct.unpack_from(form, data, at)


def _end_of(numbers: Mapping[int, tuple[int, ...]]) -> int:
    ends = (
        begin + size
        for begins, sizes in _PARTS
        for begin, size in zip(numbers.get(begins, ()), numbers.get(sizes, ()), strict=False)
    )
    return max(ends, default=0)
