"""numpy's `.npy`: a short header and the array behind it, without a checksum.

The layout is that of numpy/lib/format.py, versions 1 to 3.
"""

from __future__ import annotations

import re

from preflight.formats.blocks import Read, exactly, pass_over
from preflight.formats.damaged import DamagedError
from preflight.formats.pickles import walk

MAGIC = b"\x93NUMPY"

MOST_HEADER = 10_000
"""Bytes; numpy.load refuses a longer header, unless it is told to trust the file. Such a one may
have thousands of fields, and is not judged here."""

_MOST_BYTES = (1 << 63) - 1

_SHAPE = re.compile(rb"""['"]shape['"]\s*:\s*\(([0-9L,\s]*)\)""")
_PLAIN_TYPE = re.compile(
    rb"""['"]descr['"]\s*:\s*['"][<>|=]?([a-zA-Z?])(\d{0,9})(?:\[[^\]'"]*\])?['"]"""
)

_LETTERS = {b"?": 1, b"b": 1, b"B": 1}


def check(read: Read, size: int) -> tuple[str, ...]:
    """Hold the header against the file's size.

    numpy reads as much as it needs and leaves the rest, where a second array may stand: no damage.

    Returns:
        The globals that an array of objects names, as `Walked` has them.

    Raises:
        DamagedError: `cut` or `structure`.
    """
    start = bytes(read(0, 12))
    wide = start[6:7] not in (b"", b"\x01")
    length_size = 4 if wide else 2
    begin = 8 + length_size
    if size < begin:
        raise DamagedError("cut", f"ends at {size:,} bytes, inside its header", offset=size)
    if start[6] not in (1, 2, 3):
        raise DamagedError(
            "structure", f"says that it is of version {start[6]}, and there are 3", offset=6
        )
    length = int.from_bytes(start[8:begin], "little")
    begin += length
    if begin > size:
        raise DamagedError("cut", f"ends at {size:,} bytes, inside its header", offset=size)
    if length > MOST_HEADER:
        return ()
    header = bytes(exactly(read, begin - length, length))
    shape = _SHAPE.search(header)
    if not header.lstrip().startswith(b"{") or shape is None or b"descr" not in header:
        text = f"has a header of {length:,} bytes that numpy cannot read"
        raise DamagedError("structure", text, offset=begin - length)
    return _check_array(read, begin, size, header, shape[1])


def _check_array(read: Read, begin: int, size: int, header: bytes, shape: bytes) -> tuple[str, ...]:
    kind = _PLAIN_TYPE.search(header)
    if kind is None:
        return ()  # a structured array, whose size is not worked out here
    if kind[1] == b"O":
        return walk(read, begin, size).globals
    element = int(kind[2] or 0) * (4 if kind[1] == b"U" else 1) or _LETTERS.get(kind[1], 0)
    length = _length(shape, element)
    if length is None:
        text = f"has a shape of more than {_MOST_BYTES:,} bytes, which no array has"
        raise DamagedError("structure", text, offset=0)
    end = begin + length
    if end > size:
        raise DamagedError("cut", f"ends at {size:,} of {end:,} bytes", offset=size)
    pass_over(read, begin, size - begin)
    return ()


def _length(shape: bytes, element: int) -> int | None:
    """Multiply a shape out, in bytes; None where numpy has no number for it."""
    sides = re.findall(rb"\d+", shape)
    if any(len(side) > 19 for side in sides):
        return None
    numbers = [int(side) for side in sides]
    length = max(element, 1)
    for number in filter(None, numbers):  # numpy refuses an overflow also where nothing is held
        length *= number
        if length > _MOST_BYTES:  # before the product itself is too large to be worked with
            return None
    return 0 if 0 in numbers or not element else length
