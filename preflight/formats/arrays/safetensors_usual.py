"""Headers of safetensors as every writer writes them, read in one go.

Whatever is not as usual is left to safetensors_header.py, which also says what is wrong: this says
only that nothing is.
"""

from __future__ import annotations

import functools
import math
import re

from preflight.formats.bytes.blocks import Block
from preflight.formats.bytes.part_names import told_names

# Bytes of a header that is read so, and of one that is remembered: the files of a cache mostly have
# one of a few.
_LONGEST = 1 << 20
_SHORT = 2_048

# Bytes of a header from which on it has more tensors than are named.
_LONG = 1 << 14

_NUMBER = rb"(?:0|[1-9]\d{0,18})"
TENSOR = (
    rb'[ \n]?"([^"\\\x00-\x1f]*)": ?\{"dtype": ?"([A-Z0-9_]+)", ?"shape": ?'
    rb"\[(" + _NUMBER + rb"(?:, ?" + _NUMBER + rb"){0,15})?\], ?"
    rb'"data_offsets": ?\[(' + _NUMBER + rb"), ?(" + _NUMBER + rb")\]\}"
)
"""A tensor as every writer describes it: its name, type, shape, and where it begins and ends."""

BITS = {
    **dict.fromkeys((b"F4",), 4),
    **dict.fromkeys((b"F6_E2M3", b"F6_E3M2"), 6),
    **dict.fromkeys((b"BOOL", b"U8", b"I8"), 8),
    **dict.fromkeys((b"F8_E5M2", b"F8_E4M3", b"F8_E8M0", b"F8_E5M2FNUZ", b"F8_E4M3FNUZ"), 8),
    **dict.fromkeys((b"U16", b"I16", b"F16", b"BF16"), 16),
    **dict.fromkeys((b"U32", b"I32", b"F32"), 32),
    **dict.fromkeys((b"U64", b"I64", b"F64", b"C64"), 64),
}
"""Of an element. A type that is not here is of a later version, and its size is not judged."""

FLOATS = frozenset({b"F16", b"BF16", b"F32", b"F64", b"F8_E5M2", b"F8_E4M3"})
"""Types of floating point whose elements are whole bytes."""

METADATA = b"__metadata__"

# Bytes that no file has, and whose bits still fit in 64.
_LARGE = 1 << 60

_TEXT = rb'"[^"\\\x00-\x1f]*"'
_PAIR = _TEXT + rb": ?" + _TEXT
_DESCRIBED = re.compile(rb'\{"__metadata__": ?\{(?:%s(?:, ?%s)*)?\}, ?' % (_PAIR, _PAIR))
_TENSOR = re.compile(TENSOR)
_COMMA = frozenset({b","})

# What `split` gives for each tensor: what stands before it, and its five fields.
_FIELDS = 6


def is_whole(head: bytes, size: int) -> bool:
    """Whether a file of this size that begins so is whole; False: it is to be looked at closely."""
    begin = 8 + int.from_bytes(head[:8], "little")
    if begin > len(head):
        return False
    end = end_of_usual(header_of(head))
    return end is not None and begin + end == size


def header_of(head: bytes) -> bytes:
    """Give the header of a file that begins so, all of which is there."""
    return head[8 : 8 + int.from_bytes(head[:8], "little")]


def end_of_usual(header: Block) -> int | None:
    """Give where the last tensor ends, behind the header; None: to be looked at closely."""
    if len(header) <= _SHORT:
        return _known(bytes(header))
    return _end(bytes(header)) if len(header) <= _LONGEST else None


def _end(header: bytes) -> int | None:
    described = _DESCRIBED.match(header)
    begin = 1 if described is None else described.end()
    parts = _TENSOR.split(header[begin:])
    names, starts, stops = parts[1::_FIELDS], parts[4::_FIELDS], parts[5::_FIELDS]
    if header[:1] != b"{" or not names or len(set(names)) != len(names) or METADATA in names:
        return None
    if parts[0] or parts[-1].rstrip(b" ") != b"}" or not _COMMA.issuperset(parts[6:-1:_FIELDS]):
        return None
    if starts[0] != b"0" or starts[1:] != stops[:-1] or not _is_text(header):
        return None
    end = 0
    for kind, shape, stop in zip(parts[2::_FIELDS], parts[3::_FIELDS], stops, strict=True):
        bits = BITS.get(kind, 0)
        if shape:
            bits *= int(shape) if shape.isdigit() else math.prod(map(int, shape.split(b",")))
        begin, end = end, int(stop)
        if bits == 0 or bits != 8 * (end - begin):
            return None
    return end if end < _LARGE else None


def floats_of(header: bytes) -> list[tuple[bytes, int, int, int, tuple[int, ...]]]:
    """Give the tensors of floating point in a header that is as usual.

    Returns:
        Of each its name, where it begins and ends, the bytes of an element, and its shape.
    """
    return [
        (name, int(start), int(stop), BITS[kind] // 8, tuple(map(int, shape.split(b","))))
        for name, kind, shape, start, stop in _TENSOR.findall(header)
        if kind in FLOATS and shape
    ]


@functools.lru_cache(maxsize=512)
def names_of(header: bytes) -> tuple[str, ...]:
    """Name the tensors of a header that is as usual, as `told_names` does; of a long one, none."""
    if len(header) > _LONG:
        return ()
    return told_names(found[1].decode() for found in _TENSOR.finditer(header))


_known = functools.lru_cache(maxsize=512)(_end)


def _is_text(header: bytes) -> bool:
    if header.isascii():
        return True
    try:
        header.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
