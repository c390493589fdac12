"""safetensors: a header in JSON and the tensors behind it, in one piece and without checksums.

The rules are those of the format's own reader (huggingface/safetensors, `Metadata::validate`).
"""

from __future__ import annotations

import functools

from preflight.formats.arrays.lost_pages import Laid, refuse_lost_pages
from preflight.formats.arrays.safetensors_header import (
    MISNAMED,
    NO_BYTES,
    TOO_LARGE,
    UNKNOWN,
    Tensors,
    bad_tensor,
    read_header,
)
from preflight.formats.arrays.safetensors_usual import end_of_usual, floats_of, names_of
from preflight.formats.bytes import causes
from preflight.formats.bytes.blocks import Block, Read, exactly
from preflight.formats.bytes.damaged import DamagedError
from preflight.values.names import counted

MOST_HEADER = 100_000_000
"""Bytes; the format's own reader refuses a longer header."""


def is_safetensors(head: bytes, size: int) -> bool:
    """Whether a file of this size that begins so can only be safetensors."""
    length = int.from_bytes(head[:8], "little")
    return head[8:10] in (b'{"', b"{}") and length <= min(MOST_HEADER, size - 8)


def check(read: Read, size: int) -> tuple[str, ...]:
    """Hold the header against the file, and name its tensors, where they are few.

    Raises:
        DamagedError: `cut`, `trailing` or `structure`.
        TooMuchError: its header holds more than is looked at.
    """
    if size < 8:
        raise DamagedError("cut", f"ends at {size:,} bytes, inside its header", offset=size)
    length = int.from_bytes(exactly(read, 0, 8), "little")
    if length > MOST_HEADER:
        text = f"begins with a header of {length:,} bytes, and the most is {MOST_HEADER:,}"
        raise DamagedError("structure", text, offset=0)
    begin = 8 + length
    if begin > size:
        text = f"ends at {size:,} bytes, inside its header of {length:,}"
        raise DamagedError("cut", text, offset=size)
    header = exactly(read, 8, length)
    usual = end_of_usual(header)
    end = begin + (end_of_tensors(read_header(header)) if usual is None else usual)
    if size < end:
        raise DamagedError("cut", f"ends at {size:,} of {end:,} bytes", offset=size)
    if size > end:
        text = f"goes on for {counted(size - end, 'byte')} behind its last tensor"
        raise DamagedError("trailing", text + causes.of_rest(size - end), offset=end)
    floats = functools.partial(_floats, header if usual is not None else b"", begin)
    refuse_lost_pages(read, begin, size, floats)
    return () if usual is None else names_of(bytes(header))


def floats_in(read: Read, size: int) -> list[Laid]:
    """Give the tensors of floating point of a file that is whole, where its header is as usual."""
    length = int.from_bytes(bytes(read(0, 8)), "little")
    header = exactly(read, 8, min(length, size - 8))
    return _floats(header, 8 + length) if end_of_usual(header) is not None else []


def _floats(header: Block, begin: int) -> list[Laid]:
    """Give the tensors of floating point, where they begin behind the header that is here."""
    return [Laid(*one).moved(begin) for one in floats_of(bytes(header))]


def end_of_tensors(tensors: Tensors) -> int:
    """Check that the tensors lie one behind the other, and give where the last one ends."""
    end = 0
    for begin, stop, length, number in tensors.in_order():
        wrong = _wrong(begin, stop, length, end)
        if wrong is not None:
            raise bad_tensor(tensors.name(number), wrong)
        end = stop
    return end


def _wrong(begin: int, stop: int, length: int, end: int) -> str | None:
    """Say what is wrong with a tensor behind one that ends here; None: nothing."""
    if begin != end:
        relation = "overlaps the one before it" if begin < end else "leaves a gap before it"
        return f"begins at {begin:,}, and {relation}, which ends at {end:,}"
    if stop < begin:
        return f"takes {stop - begin:,} bytes"
    if length == TOO_LARGE:
        return "has a shape of more than 64 bits"
    if length == MISNAMED:
        return "is of a type that the format does not have"
    if length == NO_BYTES:
        return "ends inside a byte"
    if length not in (UNKNOWN, stop - begin):
        return f"takes {stop - begin:,} bytes, not the {length:,} of its shape"
    return None
