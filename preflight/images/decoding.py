"""Has Pillow and libjpeg decode an image, and gives what they say of it."""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import struct
import warnings
import zlib
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, TypeAlias

from preflight.formats.magic import HEAD, what_is, with_article
from preflight.formats.pictures.heads import shape_in
from preflight.formats.pictures.shape import Shape
from preflight.formats.suffixes.images import PILLOW
from preflight.kinds.asked import CannotLookError

# What Pillow's decoders raise on damaged bytes; MemoryError is not among them, and goes up.
_REFUSALS = (
    OSError,
    SyntaxError,
    ValueError,
    EOFError,
    struct.error,
    zlib.error,
    LookupError,
    TypeError,
    ArithmeticError,
    AttributeError,
    RuntimeError,
)

# Formats that Pillow reads by itself, or with a plug-in below. Its EPS reader would start
# Ghostscript on the user's bytes.
_FORMATS = (*PILLOW, "HEIF", "JXL")

# Plug-ins that have Pillow decode more as soon as they are imported, where they are installed.
_PLUGINS = {
    "AVIF image": "pillow_avif",
    "HEIF image": "pillow_heif.HeifImagePlugin",
    "JPEG XL image": "pillow_jxl",
}

# Images that this Pillow may know nothing of, and the job's own reader may well decode; with the
# feature of Pillow that decodes them, where it has one, and what a plug-in calls them.
_PERHAPS = {
    "AVIF image": ("avif", "AVIF"),
    "HEIF image": ("", "HEIF"),
    "JPEG 2000 image": ("jpg_2000", ""),
    "JPEG XL image": ("", "JXL"),
    "OpenEXR image": ("", ""),
    "QOI image": ("", "QOI"),
    "Radiance HDR image": ("", ""),
    "JPEG XR image": ("", ""),
    "BigWig track": ("", ""),  # which is called `.bw`, as gray images of SGI are
}

_AN_EIGHTH = {"min_height": 1, "min_width": 1, "min_factor": 8}
"""Of its width and height a JPEG is decoded, which is quick."""

_DEEP = (b"\0\x10", b"\0\x20")
"""Bits of a channel of a Photoshop image, of which Pillow reads no more than 8."""

_UNKNOWN = "cannot identify"

Loaded: TypeAlias = Callable[[], tuple[Shape, Exception | None]]
"""Has Pillow load the image when it is first called."""


def warned_by_libjpeg(data: bytes) -> str | None:
    """Decode a JPEG in gray, which reads all of its data; give the first warning.

    Raises:
        CannotLookError: the decoder that tells what Pillow keeps to itself is missing, or was built
            for another numpy than the one that is here.
    """
    try:
        from simplejpeg import decode_jpeg
    except (ImportError, ValueError, AttributeError) as error:
        raise CannotLookError(
            f"simplejpeg, which decodes JPEGs strictly, cannot be imported: {error}",
            fix="Install it anew for this Python:  pip install --upgrade simplejpeg numpy",
        ) from error
    try:
        decode_jpeg(data, "GRAY", fastdct=True, fastupsample=True, strict=True, **_AN_EIGHTH)
    except (ValueError, TypeError, OverflowError) as error:
        return str(error)
    return None


def refusal(loaded: Loaded) -> str | None:
    """Give what Pillow says of an image that it does not load; `huge` where it is too large."""
    from PIL import Image, UnidentifiedImageError

    _, error = loaded()
    if error is None:
        return None
    if isinstance(error, Image.DecompressionBombError):
        return "huge"
    if isinstance(error, UnidentifiedImageError):
        return _UNKNOWN
    return str(error) or type(error).__name__


def left_undecoded(what: str, loaded: Loaded) -> str:
    """Name the format of an image that Pillow refuses, and may be whole for all that is known."""
    if what == "JPEG image" or not what or refusal(loaded) is None:
        return ""  # another decoder has seen all of a JPEG
    return what.removesuffix(" image")


@cache
def undecodable(form: str) -> str:
    """Give a format back where nothing here decodes it: a deeper look would have seen no more."""
    what = f"{form} image"
    if what not in _PERHAPS:
        return ""
    _load_plugin(what)
    return "" if _can_decode(*_PERHAPS[what]) else form


def _load_plugin(what: str) -> None:
    with contextlib.suppress(ImportError, OSError):  # not installed, or for another Pillow
        importlib.import_module(_PLUGINS.get(what, "PIL.Image"))


def load_with_pillow(data: bytes) -> tuple[Shape, Exception | None]:
    """Decode an image as a job does: what it is, and what Pillow raises."""
    from PIL import Image, ImageFile

    Image.init()
    _load_plugin(what_is(data[:HEAD]) or "")
    formats = [name for name in _FORMATS if name in Image.OPEN]
    shape = shape_in(data[:HEAD])
    lenient, ImageFile.LOAD_TRUNCATED_IMAGES = ImageFile.LOAD_TRUNCATED_IMAGES, False
    try:
        with warnings.catch_warnings(), _quiet(data):
            warnings.simplefilter("ignore")
            with Image.open(io.BytesIO(data), formats=formats) as image:
                size = _stored_size(image)
                shape = Shape(shape.format or image.format or "", image.mode, *size)
                image.load()
    except (Image.DecompressionBombError, *_REFUSALS) as error:
        return shape, error
    finally:
        ImageFile.LOAD_TRUNCATED_IMAGES = lenient
    return shape, None


def _stored_size(image: Any) -> tuple[int, int]:
    """Give width and height; Pillow opens a TIFF as large as it is once it has been turned."""
    tags = getattr(image, "tag_v2", {})
    return int(tags.get(256, image.width)), int(tags.get(257, image.height))


@contextlib.contextmanager
def _quiet(data: bytes) -> Iterator[None]:
    """Keep off stderr what libtiff writes there by itself when a TIFF holds damaged JPEG data."""
    if what_is(data[:HEAD]) != "TIFF image":
        yield
        return
    kept = os.dup(2)
    try:
        with open(os.devnull, "wb") as nowhere:
            os.dup2(nowhere.fileno(), 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


def _can_decode(feature: str, plugin: str) -> bool:
    """Whether this Pillow was built with a decoder; older ones do not know the word, and warn."""
    from PIL import Image, features

    Image.init()
    if plugin in Image.OPEN:
        return True
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return bool(feature) and bool(features.check(feature))


def told_by_pillow(refused: str, what: str, data: bytes) -> tuple[str, str] | None:
    """Say what an image is that Pillow refuses; None where another reader may well read it."""
    if "not available" in refused or (what in _PERHAPS and not _can_decode(*_PERHAPS[what])):
        return None
    if what == "Photoshop image" and data[22:24] in _DEEP:
        return None
    if what == "run of zero bytes" and data.count(0) == len(data):
        return "zeros", f"holds nothing but {len(data):,} zero bytes"
    if "truncated" in refused.lower():
        return "cut", f"stops before its last pixel: Pillow says {refused.splitlines()[0][:120]!r}"
    if refused != _UNKNOWN or what.endswith(" image"):
        said = "no image that it knows" if refused == _UNKNOWN else refused.splitlines()[0][:120]
        return "undecodable", f"cannot be decoded: Pillow says {said!r}"
    if not what and (form := _begun_as(data)):
        return "undecodable", f"begins as {form} does, and Pillow finds no image in it"
    if not what:
        return "foreign", f"is no image: it begins with {data[:8].hex(' ')}"
    return "foreign", f"is {with_article(what)}, and no image"


def _begun_as(data: bytes) -> str:
    """Name the format of Pillow's whose files begin so; empty where there is none."""
    from PIL import Image

    for form, (_, accept) in Image.OPEN.items():
        with contextlib.suppress(SyntaxError, IndexError, TypeError, struct.error):
            if accept is not None and accept(data[:16]) is True:
                return form
    return ""
