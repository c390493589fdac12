"""Looks at an image's structure without decoding it: markers, chunks and their checksums."""

from __future__ import annotations

from preflight.formats.bytes.window import Window
from preflight.formats.magic import what_is
from preflight.formats.pictures.image_structure import ImageStructure
from preflight.formats.pictures.jpeg import walk_jpeg
from preflight.formats.pictures.png import walk_png
from preflight.formats.pictures.webp import walk_webp

MOST_PIXELS = 178_956_970
"""Pillow opens no image with more of them (twice `Image.MAX_IMAGE_PIXELS`)."""

TAIL = 12
"""Bytes from the end of an image that are enough to see that it has one."""

MARKED = 24
"""Bytes from its beginning that are enough to know an image of most formats, and a PNG's size."""

JPEG = b"\xff\xd8\xff"
"""With which a JPEG begins."""

JPEG_END = b"\xff\xd9"
"""With which it ends."""

_WALKS = {"JPEG image": walk_jpeg, "PNG image": walk_png, "WebP image": walk_webp}
_PNG_END = b"\0\0\0\0IEND\xaeB`\x82"


def walk_image(window: Window, what: str | None) -> ImageStructure | None:
    """Walk over an image of a format that has a walk; None for every other."""
    walk = _WALKS.get(what or "")
    return walk(window) if walk is not None else None


def has_both_ends(head: bytes, tail: bytes, size: int) -> bool:
    """Whether an image begins as one, and ends as one where its format says how that looks.

    Args:
        head: its first 512 bytes, or fewer: then some formats are not known.
        tail: its last 12.
        size: of all of it, in bytes.
    """
    if head.startswith(JPEG):
        return tail.endswith(JPEG_END)
    if head.startswith(b"\x89PNG\r\n\x1a\n"):
        width, height = int.from_bytes(head[16:20], "big"), int.from_bytes(head[20:24], "big")
        return tail == _PNG_END and width * height <= MOST_PIXELS
    if head.startswith(b"RIFF") and head[8:12] == b"WEBP":
        return 8 + int.from_bytes(head[4:8], "little") <= size
    return (what_is(head) or "").endswith(" image")
