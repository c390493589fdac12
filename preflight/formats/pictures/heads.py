"""What an image is and how large, as its first bytes tell it."""

from __future__ import annotations

from functools import lru_cache
from struct import unpack_from

from preflight.formats.magic import what_is
from preflight.formats.pictures.image_structure import ImageStructure
from preflight.formats.pictures.jpeg import frame_in
from preflight.formats.pictures.shape import Shape
from preflight.formats.pictures.webp import size_of_frame

_JPEG_MODES = {1: "L", 3: "RGB", 4: "CMYK"}

# By the depth of a PNG's samples and its colour type (PNG, third edition, section 11.2.1).
_PNG_MODES = {(1, 0): "1", (16, 0): "I;16"}
_PNG_COLOURS = {0: "L", 2: "RGB", 3: "P", 4: "LA", 6: "RGBA"}
_PNG_16 = {4: "RGBA"}
"""What Pillow makes of samples of 16 bits, where that is something else."""

_ALPHA_OF_VP8X, _ALPHA_OF_VP8L = 0x10, 1 << 28


def shape_in(head: bytes) -> Shape:
    """Give what the first bytes tell; of a JPEG the frame often stands further on.

    Args:
        head: its first 512 bytes, or all where there are fewer.
    """
    if head.startswith(b"\xff\xd8\xff"):
        return _of_frame(*frame_in(head))
    if head.startswith(b"\x89PNG\r\n\x1a\n"):
        return _of_png(head)
    if head.startswith(b"RIFF") and head[8:12] == b"WEBP":
        return _of_webp(head)
    what = what_is(head) or ""
    return Shape(what.removesuffix(" image") if what.endswith(" image") else "")


def shape_of(head: bytes, seen: ImageStructure | None) -> Shape:
    """Give what can be told once a walk over its structure has seen it.

    Args:
        head: as above.
        seen: what the walk saw; None: its format has none.
    """
    if seen is None:
        return shape_in(head)
    if head.startswith(b"\xff\xd8\xff"):
        return _of_frame(seen.width, seen.height, seen.components)
    shape = shape_in(head)
    if shape.format == "PNG" and not seen.width:  # its checksum says that the size is not to be had
        return Shape("PNG")
    return shape


@lru_cache(maxsize=1_000)  # of most data sets, there are images of few sizes
def _of_frame(width: int, height: int, components: int) -> Shape:
    mode = _JPEG_MODES.get(components, "")
    return Shape("JPEG", mode, width, height) if width and height else Shape("JPEG", mode)


def _of_png(head: bytes) -> Shape:
    if head[12:16] != b"IHDR" or len(head) < 26:
        return Shape("PNG")
    width, height, depth, colour = unpack_from(">IIBB", head, 16)
    mode = _PNG_MODES.get((depth, colour)) or _PNG_COLOURS.get(colour, "")
    if depth == 16:
        mode = _PNG_16.get(colour, mode)
    return Shape("PNG", mode, width, height) if width and height else Shape("PNG", mode)


def _of_webp(head: bytes) -> Shape:
    """Read the first chunk: a lossy or a lossless picture, or what stands before several."""
    kind, body = head[12:16], head[20:30]
    if kind == b"VP8X" and len(body) == 10:
        width = 1 + int.from_bytes(body[4:7], "little")
        height = 1 + int.from_bytes(body[7:10], "little")
        return Shape("WebP", "RGBA" if body[0] & _ALPHA_OF_VP8X else "RGB", width, height)
    if kind == b"VP8L" and body[:1] == b"\x2f":
        bits = int.from_bytes(body[1:5], "little")
        mode = "RGBA" if bits & _ALPHA_OF_VP8L else "RGB"
        return Shape("WebP", mode, 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF))
    width, height = size_of_frame(body) if kind == b"VP8 " else (0, 0)
    return Shape("WebP", "RGB", width, height) if width and height else Shape("WebP")
