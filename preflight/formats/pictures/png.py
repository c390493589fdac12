"""Walks over a PNG from chunk to chunk and compares checksums (PNG, third edition, section 5)."""

from __future__ import annotations

from preflight.formats.bytes.crc import crc32
from preflight.formats.bytes.flaw import Flaw
from preflight.formats.bytes.window import Window
from preflight.formats.pictures.image_structure import ImageStructure, longest_zeros

_CRITICAL = (b"IHDR", b"PLTE", b"IDAT")


def walk_png(window: Window) -> ImageStructure:
    """Walk to the end chunk; what stands behind it is nobody's business."""
    width = height = 0
    pictured = odd = False
    at = 8
    while True:
        head = window.at(at, 16)
        length = int.from_bytes(head[:4], "big")
        kind = head[4:8]
        end = at + 12 + length
        if end > window.size:
            return ImageStructure(width, height, _cut(window.size, at, kind, length))
        if _is_critical(kind) and not _agrees(window, at + 4, end - 4):
            text = f"has wrong bytes in a chunk at {at:,}: its checksum differs"
            flaw = Flaw(kind="undecodable", text=text, offset=at)
            return ImageStructure(width, height, flaw, longest_zeros(window, at, window.size))
        odd |= (at == 8) is not (kind == b"IHDR")
        if kind == b"IHDR" and length >= 8:
            width = int.from_bytes(head[8:12], "big")
            height = int.from_bytes(head[12:16], "big")
        elif kind == b"IDAT":
            pictured = True
        elif kind == b"IEND":
            return ImageStructure(width, height, odd=odd or not pictured)
        at = end


def _agrees(window: Window, begin: int, end: int) -> bool:
    """Compare the checksum behind a stretch with the stretch."""
    checksum = 0
    for piece in window.pieces(begin, end):
        checksum = crc32(piece, checksum)
    return checksum == int.from_bytes(window.at(end, 4), "big")


def _is_critical(kind: bytes) -> bool:
    """Whether a picture needs this chunk, or it is no chunk at all.

    Small first letters mark what readers may pass over (section 5.4); nothing hangs on IEND's own.
    """
    return kind in _CRITICAL or (kind != b"IEND" and not (kind.isalpha() and kind[0] & 0x20))


def _cut(size: int, at: int, kind: bytes, length: int) -> Flaw:
    if at + 8 >= size:
        text = "stops before its end chunk"
    elif kind.isalpha():
        chunk = kind.decode("ascii")
        text = f"stops inside its {chunk} chunk, after {size - at:,} of {length + 12:,} bytes"
    else:
        text = f"has something else where a chunk should be, at {at:,} bytes"
        return Flaw(kind="undecodable", text=text, offset=at)
    return Flaw(kind="cut", text=text, offset=size)
