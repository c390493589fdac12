"""Walks over a GIF from block to block (GIF89a specification), without decoding it."""

from __future__ import annotations

from preflight.formats.bytes.flaw import Flaw

_EXTENSION, _PICTURE = 0x21, 0x2C


def lost_picture(data: bytes) -> Flaw | None:
    """Tell that a picture behind the first stops early; of the first, a decoder says it.

    Many writers leave out the end marker.
    """
    pictures, size = 0, len(data)
    at = 13 + _colours(data, 10)
    while at < size:
        if data[at] == _EXTENSION:
            at = _behind_blocks(data, at + 2)
        elif data[at] == _PICTURE:
            at = _behind_blocks(data, at + 11 + _colours(data, at + 9))
            pictures += 1
        else:
            return None
    if at == size or not pictures:
        return None
    text = f"stops in its picture {max(2, pictures):,}, at {size:,} bytes"
    return Flaw(kind="frames", text=text, offset=size)


def _colours(data: bytes, at: int) -> int:
    """Give the bytes of a table of colours, of which flags tell."""
    flags = data[at] if at < len(data) else 0
    return 3 << (flags & 7) + 1 if flags & 0x80 else 0


def _behind_blocks(data: bytes, at: int) -> int:
    """Give where a chain of blocks ends; behind the end of the file where it does not."""
    while at < len(data):
        length = data[at]
        at += 1 + length
        if not length:
            return at
    return len(data) + 1
