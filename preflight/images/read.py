"""Looks at one image, as deep as it is asked to, and says where it is damaged."""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from preflight.formats.bytes.blocks import BLOCK, Read
from preflight.formats.bytes.window import Window
from preflight.formats.magic import HEAD, what_is, with_article
from preflight.formats.pictures.gif import lost_picture
from preflight.formats.pictures.heads import shape_in, shape_of
from preflight.formats.pictures.image_structure import ImageStructure
from preflight.formats.pictures.picture import MARKED, MOST_PIXELS, TAIL, has_both_ends, walk_image
from preflight.formats.pictures.shape import Shape
from preflight.formats.pictures.tiff import lost_page
from preflight.formats.pictures.webp import most_zeros, zeros_in
from preflight.images.decoding import (
    Loaded,
    left_undecoded,
    load_with_pillow,
    refusal,
    told_by_pillow,
    undecodable,
    warned_by_libjpeg,
)
from preflight.images.facts import ImageDamage
from preflight.values.byte_sizes import format_size

MOST_IMAGE = 1 << 30
"""Bytes of an image that are held in memory to be decoded."""

# libjpeg's warnings of data that is lost (jerror.h: JWRN_HIT_MARKER and its neighbours). Its other
# warnings are about odd encoders, and leave the picture whole.
_LOST = re.compile(
    "premature end of data segment|bad Huffman code|bad arithmetic code|found marker"
)
_LEFT_OVER = re.compile(r"(\d+) extraneous bytes before marker 0x(d[0-79])")

_FEW_LEFT_OVER = 16
"""Bytes before an end marker that careless encoders leave, without any harm to the picture."""

_FEW_FEEDS = 8
"""Line feeds that may all stand behind a carriage return by chance, if hardly ever."""

_PNG_AS_TEXT = b"\x89PNG\r\r\n\x1a"

_PAGE = 4096
_NEAR = 8
"""Bytes beside a lost page that may be zeros by themselves."""


class ImageSeen(NamedTuple):
    """What was seen of one image."""

    shape: Shape
    damage: ImageDamage | None = None
    """What is wrong with it; None where nothing is."""

    undecoded: str = ""
    """Its format, such as `HEIF`, where nothing here decodes it, so that nobody has looked."""


def look_into_image(window: Window, name: str, depth: str, *, begins: int = 0) -> ImageSeen:
    """Look at an image as deep as is asked for, and deeper where it looks odd.

    It begins at so many bytes of the file on disk.
    """
    shape, sound = _undecoded(window, depth)
    if sound:
        return ImageSeen(shape, undecoded=undecodable(shape.format) if depth == "index" else "")
    if window.size > MOST_IMAGE:
        damage = _none_by_its_head(name, window)
        if damage is not None:
            return ImageSeen(shape, damage)
        text = f"is {format_size(window.size)}, more than is decoded ({format_size(MOST_IMAGE)})"
        damage = ImageDamage(name=name, kind="huge", text=text, bytes=window.size)
        return ImageSeen(shape, damage)
    return look_at_image(window.at(0, window.size), name, begins)


def _none_by_its_head(name: str, window: Window) -> ImageDamage | None:
    """Tell what is too large to be decoded, and needs not be: its first bytes are of no image."""
    what = what_is(window.at(0, HEAD)) or ""
    if not what or what.endswith(" image"):
        return None
    kind, text = "foreign", f"is {with_article(what)}, and no image"
    if what == "run of zero bytes":
        kind, text = "zeros", f"begins with {HEAD} zero bytes, and is no image"
    return ImageDamage(
        name=name, kind=kind, text=text, bytes=window.size, raises="UnidentifiedImageError"
    )


def ends_are_sound(read: Read, begin: int, size: int) -> bool:
    """Whether a stretch of a file begins and ends as an image does; no more of it is read."""
    if size < MARKED:
        return False
    head, tail = bytes(read(begin, MARKED)), bytes(read(begin + size - TAIL, TAIL))
    if has_both_ends(head, tail, size):
        return True
    return has_both_ends(bytes(read(begin, min(HEAD, size))), tail, size)


def _undecoded(window: Window, depth: str) -> tuple[Shape, bool]:
    """Say what an image is, and whether there is nothing to ask a decoder about."""
    if not window.size:
        return Shape(), False
    if depth == "index":
        window.ahead = HEAD
        shape = shape_in(window.at(0, HEAD))
        if ends_are_sound(window.at, 0, window.size):
            return shape, True
        window.ahead = BLOCK
    head = window.at(0, HEAD)
    if depth == "decode":
        return shape_in(head), False
    seen = walk_image(window, what_is(head))
    shape = shape_of(head, seen)
    if seen is None or seen.suspicious:
        return shape, False
    return shape, seen.width * seen.height <= MOST_PIXELS


def look_at_image(data: bytes, name: str, begins: int = 0) -> ImageSeen:
    """Decode an image, and say what it is and what is wrong with it."""
    head = data[:HEAD]
    what = what_is(head) or ""
    seen = walk_image(Window.over(data), what)
    loaded = cache(lambda: load_with_pillow(data))
    told = _damage(data, what, begins, seen or ImageStructure(), loaded)
    shape = shape_of(head, seen) if seen is not None or not data else loaded()[0]
    if told is None:
        return ImageSeen(shape, undecoded=left_undecoded(what, loaded))
    kind, text = told
    _, raises = loaded()
    damage = ImageDamage(
        name=name,
        kind=kind,
        text=text,
        bytes=len(data),
        format=what if what.endswith(" image") else "",
        raises=type(raises).__name__ if raises is not None else "",
    )
    return ImageSeen(shape, damage)


def _damage(
    data: bytes, what: str, begins: int, seen: ImageStructure, loaded: Loaded
) -> tuple[str, str] | None:
    if not data:
        return "empty", "is empty (0 bytes)"
    pixels = seen.width * seen.height
    if pixels > MOST_PIXELS:
        return "huge", f"has {seen.width:,} x {seen.height:,} = {pixels:,} pixels"
    if what == "JPEG image":
        return _jpeg_damage(data, seen, loaded) or _lost_page(seen.zeros, begins)

    refused = refusal(loaded)
    if refused == "huge":
        return "huge", f"has more than {MOST_PIXELS:,} pixels"
    if what == "WebP image" and not refused:  # its decoder notices little, and zeros may be its own
        return _long_zeros(seen) or _lost_page(seen.zeros, begins)
    if seen.flaw is not None and (refused or what == "PNG image"):
        flaw = zeros_in(seen.zeros) if seen.zeros is not None else seen.flaw
        return flaw.kind, flaw.text
    if refused and (what.endswith(" image") or data.startswith(_PNG_AS_TEXT)):
        return _taken_for_text(data) or told_by_pillow(refused, what, data)
    return told_by_pillow(refused, what, data) if refused else _lost_behind_the_first(data, what)


def _lost_behind_the_first(data: bytes, what: str) -> tuple[str, str] | None:
    """Tell an image of several pictures that stops in a later one."""
    find = {"GIF image": lost_picture, "TIFF image": lost_page}.get(what)
    flaw = find(data) if find is not None else None
    return None if flaw is None else (flaw.kind, flaw.text)


def _taken_for_text(data: bytes) -> tuple[str, str] | None:
    """Tell what git (`autocrlf`) or FTP took for text; by chance, no image looks like it."""
    feeds = data.count(b"\n")
    if feeds < _FEW_FEEDS or data.count(b"\r\n") != feeds:
        return None
    return "undecodable", (
        f"has a carriage return before each of its {feeds:,} line feeds: most likely git or FTP "
        "took it for text"
    )


def _jpeg_damage(data: bytes, seen: ImageStructure, loaded: Loaded) -> tuple[str, str] | None:
    """Ask libjpeg for its warnings, which Pillow keeps to itself, and Pillow for the rest."""
    warned = warned_by_libjpeg(data)
    if warned is None:
        return None
    refused = refusal(loaded)
    if refused == "huge":
        return "huge", f"has more than {MOST_PIXELS:,} pixels"
    text = _taken_for_text(data) if seen.flaw is not None else None
    if text is not None:
        return text
    left_over = _LEFT_OVER.search(warned)
    if seen.zeros is not None and (refused or left_over or _LOST.search(warned)):
        flaw = zeros_in(seen.zeros)
        return flaw.kind, flaw.text
    if seen.flaw is not None and (refused or "Premature end of JPEG file" in warned):
        return seen.flaw.kind, seen.flaw.text
    if refused:
        return told_by_pillow(refused, "JPEG image", data)
    if _LOST.search(warned):
        said = warned.removeprefix("Corrupt JPEG data: ").splitlines()[0][:120]
        return "undecodable", f"decodes only in part: libjpeg says {said!r}"
    if left_over is not None and int(left_over[1]) > _FEW_LEFT_OVER:
        many = f"{int(left_over[1]):,} bytes"
        where = "its end marker" if left_over[2] == "d9" else "a restart marker"
        return "leftover", f"has {many} left over before {where}, and decodes without them"
    return None


def _long_zeros(seen: ImageStructure) -> tuple[str, str] | None:
    """Tell zeros of which there are more than all of a lossy WebP's blocks can give."""
    if seen.zeros is None or not 0 < most_zeros(seen.width, seen.height) < seen.zeros[1]:
        return None
    return "zeros", zeros_in(seen.zeros).text


def _lost_page(zeros: tuple[int, int] | None, begins: int) -> tuple[str, str] | None:
    """Tell zeros that are whole pages of the disk's file, which hold no flat area of a picture.

    A progressive JPEG decodes through lost pages without a warning in one case of four, and nearly
    every WebP does. Of large flat areas the encoders of both make thousands of zeros.
    """
    if zeros is None or zeros[1] < _PAGE:
        return None
    first, last = begins + zeros[0], begins + zeros[0] + zeros[1]
    if -first % _PAGE > _NEAR or last % _PAGE > _NEAR:
        return None
    return "zeros", zeros_in(zeros).text
