"""Walks over a WebP from chunk to chunk (RFC 9649, section 2), without decoding it."""

from __future__ import annotations

from preflight.formats.bytes.flaw import Flaw
from preflight.formats.bytes.window import Window
from preflight.formats.pictures.image_structure import ImageStructure, longest_zeros

_COMPRESSED = frozenset({b"VP8 ", b"VP8L"})
_PICTURED = frozenset({b"ALPH", b"ANMF"})
_FIRST = frozenset({b"VP8 ", b"VP8L", b"VP8X"})


def walk_webp(window: Window) -> ImageStructure:
    """Walk over the chunks of the RIFF container, those of animation frames left alone."""
    end = 8 + int.from_bytes(window.at(4, 4), "little")
    zeros: tuple[int, int] | None = None
    odd = window.at(12, 4) not in _FIRST
    width = height = 0
    at = 12
    while at + 8 <= min(end, window.size):
        head = window.at(at, 8)
        size = int.from_bytes(head[4:], "little")
        run = longest_zeros(window, at + 8, min(at + 8 + size, window.size))
        if head[:4] not in _COMPRESSED:  # alpha may be flat, and metadata anything
            odd |= run is not None and head[:4] in _PICTURED
        elif run is not None and (zeros is None or run[1] > zeros[1]):
            zeros = run
        if head[:4] == b"VP8 ":
            width, height = size_of_frame(window.at(at + 8, 10))
        at += 8 + size
        odd |= at > end or not head[:4].strip(b" ").isalnum()
        at += size % 2
    flaw = None
    if end > window.size:
        text = f"stops after {window.size:,} of its {end:,} bytes"
        flaw = Flaw(kind="cut", text=text, offset=window.size)
    elif zeros is not None:
        flaw = zeros_in(zeros)
    return ImageStructure(width=width, height=height, flaw=flaw, zeros=zeros, odd=odd)


def size_of_frame(frame: bytes) -> tuple[int, int]:
    """Give the width and height of a lossy picture (RFC 6386, section 9.1)."""
    if frame[3:6] != b"\x9d\x01\x2a":
        return 0, 0
    sizes = int.from_bytes(frame[6:8], "little"), int.from_bytes(frame[8:10], "little")
    return sizes[0] & 0x3FFF, sizes[1] & 0x3FFF


def most_zeros(width: int, height: int) -> int:
    """Say how many zero bytes in a row a lossy picture can have of its own.

    A flat block of 16 x 16 pixels takes 25 decisions, of a bit each at most.
    """
    return 4 * -(-width // 16) * -(-height // 16)


def zeros_in(zeros: tuple[int, int]) -> Flaw:
    """Say where zero bytes stand in compressed data."""
    text = f"has {zeros[1]:,} zero bytes in it, from {zeros[0]:,} on"
    return Flaw(kind="zeros", text=text, offset=zeros[0])
