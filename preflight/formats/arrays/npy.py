"""numpy's `.npy`: a short header and the array behind it, without a checksum.

The layout is that of numpy/lib/format.py, versions 1 to 3.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from preflight.formats.arrays.lost_pages import Laid, refuse_lost_pages
from preflight.formats.arrays.npy_types import NoTypeError, bytes_of, bytes_of_text
from preflight.formats.bytes.blocks import Read, exactly
from preflight.formats.bytes.damaged import DamagedError
from preflight.formats.torch.pickles import WalkedPickle, walk

MAGIC = b"\x93NUMPY"

MOST_HEADER = 10_000
"""Bytes; numpy.load refuses a longer header, unless it is told to trust the file. Such a one may
have thousands of fields, and its size is not judged here."""

# Bytes of a header in which objects are looked for.
_MOST_TRUSTED = 1 << 16

# Bytes that most headers take, with what stands before them.
_FIRST = 128

_MOST_BYTES = (1 << 63) - 1

_SHAPE = re.compile(rb"""['"]shape['"]\s*:\s*\(([0-9L,\s]*)\)""")
_PLAIN_TYPE = re.compile(
    rb"""['"]descr['"]\s*:\s*['"]([<>|=]?([a-zA-Z?])\d{0,9}(?:\[[^\]'"]*\])?)['"]"""
)

# As numpy writes the header of a plain array: this it can read.
_USUAL = re.compile(
    rb"\{'descr': '[ -&(-\[\]-~]*', 'fortran_order': (?:True|False), "
    rb"'shape': \((?:\d+,|\d+(?:, \d+)+)?\), \} *\n?"
)

_FORTRAN = re.compile(rb"""['"]fortran_order['"]\s*:\s*True""")

# Python 2 wrote such numbers.
_LONG = re.compile(r"(\d)L\b")

# A header without any of these holds no objects, however it is written.
_PERHAPS_OBJECTS = re.compile(rb"O|object|\\")
_OBJECT = re.compile(r"[\d(), ]*[<>|=]?(?:O\d*|object\w*)")


def check(read: Read, size: int) -> WalkedPickle | None:
    """Hold the header against the file's size.

    numpy reads as much as it needs and leaves the rest, where a second array may stand: no damage.
    Gives the pickle of an array of objects.

    Raises:
        DamagedError: `cut` or `structure`.
    """
    start = bytes(read(0, 12))
    begin, length = _place_of_header(start)
    if size >= begin and (start[6] not in (1, 2, 3) or start[7]):
        text = f"says that it is of version {start[6]}.{start[7]}, and there are 1.0, 2.0 and 3.0"
        raise DamagedError("structure", text, offset=6)
    begin += length
    if begin > size:
        raise DamagedError("cut", f"ends at {size:,} bytes, inside its header", offset=size)
    if length > MOST_HEADER and bytes(read(begin - length, 1)) not in (b"{", b" "):
        text = f"has a header of {length:,} bytes that numpy cannot read"
        raise DamagedError("structure", text, offset=begin - length)
    if length > _MOST_TRUSTED:
        return None
    header = bytes(exactly(read, begin - length, length))
    if _PERHAPS_OBJECTS.search(header) is not None and _holds_objects(header):
        return walk(read, begin, size)
    if length > MOST_HEADER:
        return None
    try:
        element = _element(header, start[6])
    except NoTypeError:
        text = f"has a header of {length:,} bytes that numpy cannot read"
        raise DamagedError("structure", text, offset=begin - length) from None
    if element is not None:
        _check_array(read, begin, size, header, element)
    return None


def _element(header: bytes, version: int) -> int | None:
    """Give the bytes of an element; None: nobody knows."""
    plain = _PLAIN_TYPE.search(header)
    if _SHAPE.search(header) is None:
        raise NoTypeError
    if plain is not None and _USUAL.fullmatch(header) is not None:
        return bytes_of_text(plain[1].decode("latin-1"))
    found = _read_header(header, version)
    return None if found is None else bytes_of(found["descr"])


def _read_header(header: bytes, version: int) -> dict[str, Any] | None:
    """Read a header as numpy does; None: it goes deeper than Python does here."""
    import ast  # few files need it
    import warnings

    try:
        text = header.decode("latin-1" if version < 3 else "utf-8")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = ast.literal_eval(_LONG.sub(r"\1", text))
    except (ValueError, SyntaxError, TypeError):
        raise NoTypeError from None
    except (MemoryError, RecursionError):
        return None  # a later Python may go deeper
    if not isinstance(found, dict) or found.keys() != {"descr", "fortran_order", "shape"}:
        raise NoTypeError
    shape = found["shape"]
    whole = isinstance(shape, tuple) and all(isinstance(side, int) for side in shape)
    if not whole or not isinstance(found["fortran_order"], bool):
        raise NoTypeError
    return found


class Begun(NamedTuple):
    """How an array begins."""

    data: int
    """Where its content begins, behind its header."""

    objects: bool = False
    """Whether that is a pickle."""

    end: int | None = None
    """Where it ends; None: the header is not as numpy writes it, or too long to be looked at."""

    dtype: str = ""
    """The type of its elements as the header has it (`<f4`); empty where it is no plain one."""

    refused: bool = False
    """Whether numpy cannot read the header."""


def begin(read: Read, size: int, first: int) -> Begun | None:
    """Say how an array begins; None: it is none."""
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
    told = _bytes_of_array(header, start[6])
    if told is None:
        return Begun(data, refused=True)
    length_of, dtype = told
    return Begun(data, end=None if length_of is None else data + length_of, dtype=dtype)


def behind(read: Read, size: int) -> tuple[int, str]:
    """Count the bytes behind a whole array that are no further one; and give its type."""
    begun = begin(read, size, _FIRST)
    if begun is None or begun.end is None:
        return 0, ""
    rest = size - begun.end
    is_array = rest > 0 and bytes(read(begun.end, len(MAGIC))) == MAGIC
    return 0 if is_array else rest, begun.dtype


# The arrays of a cache mostly have one of a few headers.
@functools.lru_cache(maxsize=256)
def _bytes_of_array(header: bytes, version: int) -> tuple[int | None, str] | None:
    try:
        element = _element(header, version)
    except NoTypeError:
        return None
    plain = _PLAIN_TYPE.search(header)
    dtype = "" if plain is None else plain[1].decode("latin-1")
    return None if element is None else _length(header, element), dtype


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
    if isinstance(kind, str):
        return any(_OBJECT.fullmatch(part.strip()) for part in kind.split(","))
    if isinstance(kind, tuple) and kind:
        return _is_of_objects(kind[0])
    if not isinstance(kind, list):
        return False
    return any(isinstance(one, tuple) and len(one) > 1 and _is_of_objects(one[1]) for one in kind)


def _check_array(read: Read, begin: int, size: int, header: bytes, element: int) -> None:
    length = _length(header, element)
    if length is None:
        text = f"has a shape of more than {_MOST_BYTES:,} bytes, which no array has"
        raise DamagedError("structure", text, offset=0)
    end = begin + length
    if end > size:
        raise DamagedError("cut", f"ends at {size:,} of {end:,} bytes", offset=size)
    floats = functools.partial(_floats, begin, end, header, element)
    refuse_lost_pages(read, begin, size, floats)


def _floats(begin: int, end: int, header: bytes, element: int) -> Iterator[Laid]:
    """Give the array, where it is of floating point, its sides as they lie in the file."""
    kind = _PLAIN_TYPE.search(header)
    if kind is not None and kind[2] in b"fc" and end > begin:
        sides = [int(side) for side in _sides(header)]
        order = reversed(sides) if _FORTRAN.search(header) is not None else sides
        yield Laid(b"", begin, end, element, tuple(order))


def floats_in(read: Read, size: int) -> list[Laid]:
    """Give the array of a file that is whole, where it is of floating point."""
    start = bytes(read(0, 12))
    at, length = _place_of_header(start)
    if length > MOST_HEADER:
        return []
    header = bytes(read(at, length))
    element = _element(header, start[6])
    return [] if element is None else list(_floats(at + length, size, header, element))


def _sides(header: bytes) -> list[bytes]:
    shape = _SHAPE.search(header)
    return [] if shape is None else re.findall(rb"\d+", shape[1])


def _length(header: bytes, element: int) -> int | None:
    """Multiply a shape out, in bytes; None where numpy has no number for it."""
    sides = _sides(header)
    if any(len(side) > 19 for side in sides):
        return None
    numbers = [int(side) for side in sides]
    length = max(element, 1)
    for number in filter(None, numbers):  # numpy refuses an overflow also where nothing is held
        length *= number
        if length > _MOST_BYTES:  # before the product itself is too large to be worked with
            return None
    return 0 if 0 in numbers or not element else length
