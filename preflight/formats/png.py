"""Walks over a PNG from chunk to chunk and compares checksums (PNG, third edition, section 5)."""

from __future__ import annotations

from preflight.formats.crc import crc32
from preflight.formats.flaw import Flaw
from preflight.formats.seen import Seen, longest_zeros

_CRITICAL = (b"IHDR", b"PLTE", b"IDAT")


def walk_png(data: bytes) -> Seen:
    """Walk to the end chunk; what stands behind it is nobody's business."""
    view = memoryview(data)
    width = height = 0
    at = 8
    while True:
        length = int.from_bytes(data[at : at + 4], "big")
        kind = data[at + 4 : at + 8]
        end = at + 12 + length
        if end > len(data):
            return Seen(width, height, _cut(data, at, kind, length))
        stated = int.from_bytes(data[end - 4 : end], "big")
        if _is_critical(kind) and crc32(view[at + 4 : end - 4]) != stated:
            text = f"has wrong bytes in a chunk at {at:,}: its checksum differs"
            flaw = Flaw(kind="undecodable", text=text, offset=at)
            return Seen(width, height, flaw, longest_zeros(data, at, len(data)))
        if kind == b"IHDR" and length >= 8:
            width = int.from_bytes(data[at + 8 : at + 12], "big")
            height = int.from_bytes(data[at + 12 : at + 16], "big")
        elif kind == b"IEND":
            return Seen(width, height)
        at = end


def _is_critical(kind: bytes) -> bool:
    """Whether a picture needs this chunk, or it is no chunk at all.

    Small first letters mark what readers may pass over (section 5.4); nothing hangs on IEND's own.
    """
    return kind in _CRITICAL or (kind != b"IEND" and not (kind.isalpha() and kind[0] & 0x20))


def _cut(data: bytes, at: int, kind: bytes, length: int) -> Flaw:
    size = len(data)
    if at + 8 >= size:
        text = "stops before its end chunk"
    elif kind.isalpha():
        chunk = kind.decode("ascii")
        text = f"stops inside its {chunk} chunk, after {size - at:,} of {length + 12:,} bytes"
    else:
        text = f"has something else where a chunk should be, at {at:,} bytes"
        return Flaw(kind="undecodable", text=text, offset=at)
    return Flaw(kind="cut", text=text, offset=size)
