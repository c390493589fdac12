"""Walks over a JPEG from marker to marker (ITU-T T.81, annex B), without decoding it."""

from __future__ import annotations

import re

from preflight.formats.bytes.flaw import Flaw
from preflight.formats.bytes.window import Window
from preflight.formats.pictures.image_structure import ImageStructure, Zeros

# In scan data 0xff is followed by 0x00, or by one of the restart markers (T.81, B.1.1.5); any other
# byte, but for the fill byte 0xff, makes it a marker.
_NEXT_MARKER = re.compile(rb"\xff[^\x00\xd0-\xd7\xff]").search

_END = 0xD9
_SCAN = 0xDA
_START = 0xD8
_BARE = frozenset({0x01, *range(0xD0, 0xD9)})
"""Markers without a length: TEM, restarts, and the start of an image."""

_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_RESERVED = frozenset({0xC8, *range(0x02, 0xC0), *range(0xF0, 0xFE)})
"""Markers that no picture of today has."""

_NO_SEGMENT = frozenset({0xFF, _END, _SCAN, *_BARE})
_FRAME_HEADER = 10
"""Bytes of a frame from its marker to its components."""


def walk_jpeg(window: Window) -> ImageStructure:
    """Walk to the end marker; what stands behind it is nobody's business."""
    width = height = components = first_scan = 0
    flaw: Flaw | None = None
    framed = odd = False
    zeros = Zeros()
    at = 2
    while True:
        code, at = _marker(window, at)
        if code is None:
            flaw = _no_marker(window, at)
            break
        if code in _BARE:
            odd |= code == _START
            continue
        if code == _END:
            if not first_scan:
                flaw = _broken("holds no image data", at)
            break
        length = int.from_bytes(window.at(at, 2), "big")
        if length < 2 or at + length > window.size:
            flaw = _cut(window.size) if length >= 2 else _broken("has a segment of no length", at)
            break
        if code in _FRAMES:
            odd |= framed
            framed = True
            height, width, components = _sizes(window.at(at + 3, 5))
        odd |= code in _RESERVED or (code == _SCAN and not framed)
        at += length
        if code == _SCAN:
            first_scan = first_scan or at
            at = _behind_scan(window, at, zeros)
    return ImageStructure(width, height, flaw, zeros.longest, odd, components)


def frame_in(head: bytes) -> tuple[int, int, int]:
    """Give width, height and components, where the frame's header stands in the first bytes."""
    at, end = 2, len(head) - _FRAME_HEADER
    while at <= end and head[at] == 0xFF and head[at + 1] not in _NO_SEGMENT:
        if head[at + 1] in _FRAMES:
            height, width, components = _sizes(head[at + 5 : at + 10])
            return width, height, components
        at += 2 + (head[at + 2] << 8 | head[at + 3])
    return 0, 0, 0


def _sizes(frame: bytes) -> tuple[int, int, int]:
    """Take height, width and components out of what follows a frame's length and precision."""
    if len(frame) < 5:
        return 0, 0, 0
    return frame[0] << 8 | frame[1], frame[2] << 8 | frame[3], frame[4]


def _behind_scan(window: Window, at: int, zeros: Zeros) -> int:
    """Find the marker behind a scan, or the end of the file, and see runs of zeros on the way."""
    while at < window.size:
        data, begin = window.piece(at)
        found = _NEXT_MARKER(data, begin)
        if found is not None:
            zeros.look(data, begin, found.start(), at)
            return at + found.start() - begin
        end = len(data)
        if at + end - begin < window.size and data[-1:] == b"\xff":
            end -= 1  # the other half of a marker may follow
        if end <= begin:
            break
        zeros.look(data, begin, end, at)
        at += end - begin
    return window.size


def _marker(window: Window, at: int) -> tuple[int | None, int]:
    """Read a marker with its fill bytes: its code, None where there is none, and where it ends."""
    held, place = window.held, at - window.begins
    if 0 <= place < len(held) - 1 and held[place] == 0xFF != held[place + 1]:
        return held[place + 1], at + 2  # nearly all are, and calls would take thrice the time
    begin = at
    here = window.at(at, 2)
    if here[:1] != b"\xff":
        return None, begin
    while here and not here.strip(b"\xff"):
        at += len(here)
        here = window.at(at, 4096)
    at += len(here) - len(here.lstrip(b"\xff"))
    code = window.at(at, 1)
    return (code[0], at + 1) if code else (None, begin)


def _no_marker(window: Window, at: int) -> Flaw:
    if at >= window.size or not any(piece.strip(b"\xff") for piece in window.pieces(at, at + 4096)):
        return _cut(window.size)
    return _broken("has something else where a marker should be", at)


def _cut(size: int) -> Flaw:
    return Flaw(kind="cut", text="stops before its end marker", offset=size)


def _broken(text: str, at: int) -> Flaw:
    return Flaw(kind="undecodable", text=f"{text}, at {at:,} bytes", offset=at)
