"""Tells images by their names."""

from __future__ import annotations

EXTENSIONS = frozenset(
    (
        *("jpg", "jpeg", "jpe", "jfif", "png", "apng", "webp", "gif", "bmp", "tif", "tiff"),
        *("avif", "avifs", "heic", "heif", "hif", "jxl", "ppm", "pgm", "pbm", "pnm", "pfm"),
        *("jp2", "j2k", "j2c", "jpc", "jpf", "jpx", "mpo", "dib", "qoi", "dds"),
        *("tga", "psd", "ico", "icns", "sgi", "pcx"),
    )
)
"""Of files that are images, without dots, in small letters."""

SAME_FORMAT = (frozenset({"jpg", "jpeg", "jpe", "jfif"}), frozenset({"tif", "tiff"}))
"""Extensions of one format: an image may be renamed from one of them to another."""


def is_image(name: str) -> bool:
    """Whether a file's name says that it is an image; `._dog.jpg` is what macOS left beside one."""
    dot = name.rfind(".")
    if name[dot + 1 :].lower() not in EXTENSIONS:  # most files of an archive are none
        return False
    base = name.rfind("/") + 1
    return dot > base and not name.startswith("._", base)
