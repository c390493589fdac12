"""What an image is and how large."""

from __future__ import annotations

from typing import NamedTuple


class Shape(NamedTuple):
    """What an image is and how large, as it is stored: it is not turned as EXIF may say."""

    format: str = ""
    """`JPEG`, `PNG`, `WebP`, `TIFF`; empty where it is no image."""

    mode: str = ""
    """As Pillow calls it: `L`, `RGB`, `P`, `CMYK`; empty where that was not seen."""

    width: int = 0
    height: int = 0
    """In pixels; both 0 where that was not seen."""
