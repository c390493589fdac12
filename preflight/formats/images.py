"""Looks at an image's structure without decoding it: markers, chunks and their checksums."""

from __future__ import annotations

from preflight.formats.jpeg import walk_jpeg
from preflight.formats.png import walk_png
from preflight.formats.seen import Seen
from preflight.formats.webp import walk_webp

EXTENSIONS = frozenset(
    (
        *("jpg", "jpeg", "jpe", "jfif", "png", "apng", "webp", "gif", "bmp", "tif", "tiff"),
        *("avif", "heic", "heif", "jxl", "jp2", "ppm", "pgm", "pbm", "pnm"),
    )
)
"""Of files that are images, without dots, in small letters."""

SAME_FORMAT = (frozenset({"jpg", "jpeg", "jpe", "jfif"}), frozenset({"tif", "tiff"}))
"""Extensions of one format: an image may be renamed from one of them to another."""

MOST_PIXELS = 178_956_970
"""Pillow opens no image with more of them (twice `Image.MAX_IMAGE_PIXELS`)."""

_WALKS = {"JPEG image": walk_jpeg, "PNG image": walk_png, "WebP image": walk_webp}


def is_image(name: str) -> bool:
    """Whether a file's name says that it is an image; `._dog.jpg` is what macOS left beside one."""
    base = name.rpartition("/")[2]
    stem, _, extension = base.rpartition(".")
    return bool(stem) and not base.startswith("._") and extension.lower() in EXTENSIONS


def walk_image(data: bytes, what: str | None) -> Seen:
    """Walk over an image of a format that has a walk; of others nothing is seen.

    Args:
        data: the whole file.
        what: what `what_is` calls it.
    """
    walk = _WALKS.get(what or "")
    return walk(data) if walk is not None else Seen()
