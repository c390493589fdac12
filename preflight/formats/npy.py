"""numpy's `.npy`: a short header and the array behind it, without a checksum.

The layout is that of numpy/lib/format.py, versions 1 to 3.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from typing import NamedTuple

from preflight.formats.blocks import Read, exactly
from preflight.formats.damaged import DamagedError
from preflight.formats.lost_pages import Laid, refuse_lost_pages
from preflight.formats.pickles import Walked, walk

MAGIC = b"\x93NUMPY"

MOST_HEADER = 10_000
"""Bytes; numpy.load refuses a longer header, unless it is told to trust the file. Such a one may
have thousands of fields, and its size is not judged here."""

# Bytes of a header in which objects are looked for.
_MOST_TRUSTED = 1 << 16

_MOST_BYTES = (1 << 63) - 1

_SHAPE = re.compile(rb"""['"]shape['"]\s*:\s*\(([0-9L,\s]*)\)""")
_PLAIN_TYPE = re.compile(
    rb"""['"]descr['"]\s*:\s*['"][<>|=]?([a-zA-Z?])(\d{0,9})(?:\[[^\]'"]*\])?['"]"""
)

# As numpy writes the header of a plain array: this it can read.
_USUAL = re.compile(
    rb"\{'descr': '[ -&(-\[\]-~]*', 'fortran_order': (?:True|False), "
    rb"'shape': \((?:\d+,|\d+(?:, \d+)+)?\), \} *\n?"
)

_FORTRAN = re.compile(rb"""['"]fortran_order['"]\s*:\s*True""")

_LETTERS = {b"?": 1, b"b": 1, b"B": 1}

# Python 2 wrote such numbers.
_LONG = re.compile(r"(\d)L\b")

# A header without any of these holds no objects, however it is written.
_PERHAPS_OBJECTS = re.compile(rb"O|object|\\")
_OBJECT = re.compile(r"[\d(), ]*[<>|=]?(?:O\d*|object\w*)")


def check(read: Read, size: int) -> Walked | None:
    """Hold the header against the file's size.

    numpy reads as much as it needs and leaves the rest, where a second array may stand: no damage.

    Returns:
        The pickle of an array of objects; None: it is none.

    Raises:
        DamagedError: `cut` or `structure`.
    """
    start = bytes(read(0, 12))
    begin, length = _place_of_header(start)
    if size < begin:
        raise DamagedError("cut", f"ends at {size:,} bytes, inside its header", offset=size)
    if start[6] not in (1, 2, 3):
        raise DamagedError(
            "structure", f"says that it is of version {start[6]}, and there are 3", offset=6
        )
    begin += length
    if begin > size:
        raise DamagedError("cut", f"ends at {size:,} bytes, inside its header", offset=size)
    if length > _MOST_TRUSTED:
        return None
    header = bytes(exactly(read, begin - length, length))
    if _PERHAPS_OBJECTS.search(header) is not None and _holds_objects(header):
        return walk(read, begin, size)
    if length > MOST_HEADER:
        return None
    shape = _SHAPE.search(header)
    readable = _USUAL.fullmatch(header) is not None or _can_be_read(header, start[6])
    if shape is None or not readable:
        text = f"has a header of {length:,} bytes that numpy cannot read"
        raise DamagedError("structure", text, offset=begin - length)
    _check_array(read, begin, size, header, shape[1])
    return None


def _can_be_read(header: bytes, version: int) -> bool:
    """Whether numpy finds in a header what it looks for; what a type says is not judged."""
    import ast  # few files need it
    import warnings

    try:
        text = header.decode("latin-1" if version < 3 else "utf-8")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = ast.literal_eval(_LONG.sub(r"\1", text))
    except (ValueError, SyntaxError, TypeError):
        return False
    except (MemoryError, RecursionError):
        return True  # a later Python may go deeper
    if not isinstance(found, dict) or found.keys() != {"descr", "fortran_order", "shape"}:
        return False
    shape = found["shape"]
    whole = isinstance(shape, tuple) and all(isinstance(side, int) for side in shape)
    return whole and isinstance(found["fortran_order"], bool)


class Begun(NamedTuple):
    """How an array begins."""

    data: int
    """Where its content begins, behind its header."""

    objects: bool = False
    """Whether that is a pickle."""

    end: int | None = None
    """Where it ends; None: the header is not as numpy writes it, or too long to be looked at."""


def begin(read: Read, size: int, first: int) -> Begun | None:
    """Say how an array begins; None: it is none.

    Args:
        read: gives the bytes of what may be an array, forwards only.
        size: how many there are.
        first: bytes that are asked for at first.
    """
    start = bytes(read(0, min(first, size)))
    if start[:6] != MAGIC:
        return None
    at, length = _place_of_header(start)
    data = at + length
    if data > size or length > _MOST_TRUSTED:
        return Begun(data)
    header = start[at:data] if data <= len(start) else bytes(read(0, data))[at:]
    if _PERHAPS_OBJECTS.search(header) is not None and _holds_objects(header):
        return Begun(data, objects=True)
    bytes_of = _bytes_of_usual(header)
    return Begun(data, end=None if bytes_of is None else data + bytes_of)


# The arrays of a cache mostly have one of a few headers.
@functools.lru_cache(maxsize=256)
def _bytes_of_usual(header: bytes) -> int | None:
    """Give the bytes of an array whose header is as numpy writes it; None: nobody knows."""
    shape, kind = _SHAPE.search(header), _PLAIN_TYPE.search(header)
    if shape is None or kind is None or kind[1] == b"O" or _USUAL.fullmatch(header) is None:
        return None
    return _length(shape[1], _element(kind))


def _place_of_header(start: bytes) -> tuple[int, int]:
    """Give where the header begins, and its length, both behind what stands before it."""
    begin = 10 if start[6:7] in (b"", b"\x01") else 12
    return begin, int.from_bytes(start[8:begin], "little")


def _holds_objects(header: bytes) -> bool:
    """Whether numpy would take what follows for a pickle."""
    import ast  # few files need it

    text = _LONG.sub(r"\1", header.decode("utf-8", "replace"))
    try:
        found = ast.literal_eval(text.strip())
        return isinstance(found, dict) and _is_of_objects(found.get("descr"))
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return False


def _is_of_objects(kind: object) -> bool:
    """Whether a type, or that of any of its fields, is that of Python objects."""
    if isinstance(kind, str):
        return any(_OBJECT.fullmatch(part.strip()) for part in kind.split(","))
    if isinstance(kind, tuple) and kind:
        return _is_of_objects(kind[0])
    if not isinstance(kind, list):
        return False
    return any(isinstance(one, tuple) and len(one) > 1 and _is_of_objects(one[1]) for one in kind)


def _check_array(read: Read, begin: int, size: int, header: bytes, shape: bytes) -> None:
    kind = _PLAIN_TYPE.search(header)
    if kind is None:
        return  # a structured array, whose size is not worked out here
    if kind[1] == b"O":
        return  # numpy cannot read such a header
    length = _length(shape, _element(kind))
    if length is None:
        text = f"has a shape of more than {_MOST_BYTES:,} bytes, which no array has"
        raise DamagedError("structure", text, offset=0)
    end = begin + length
    if end > size:
        raise DamagedError("cut", f"ends at {size:,} of {end:,} bytes", offset=size)
    floats = functools.partial(_floats, begin, end, header, kind, shape)
    refuse_lost_pages(read, begin, size, floats)


def _floats(
    begin: int, end: int, header: bytes, kind: re.Match[bytes], shape: bytes
) -> Iterator[Laid]:
    """Give the array, where it is of floating point, its sides as they lie in the file."""
    if kind[1] in b"fc" and end > begin:
        sides = [int(side) for side in re.findall(rb"\d+", shape)]
        order = reversed(sides) if _FORTRAN.search(header) is not None else sides
        yield Laid(b"", begin, end, _element(kind), tuple(order))


def _element(kind: re.Match[bytes]) -> int:
    """Give the bytes of an element of a plain type."""
    return int(kind[2] or 0) * (4 if kind[1] == b"U" else 1) or _LETTERS.get(kind[1], 0)


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
