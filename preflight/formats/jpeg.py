"""Walks over a JPEG from marker to marker (ITU-T T.81, annex B), without decoding it."""

from __future__ import annotations

import re

from preflight.formats.flaw import Flaw
from preflight.formats.seen import Seen, longest_zeros

# In scan data 0xff is followed by 0x00, or by one of the restart markers (T.81, B.1.1.5); any other
# byte, but for the fill byte 0xff, makes it a marker.
_NEXT_MARKER = re.compile(rb"\xff[^\x00\xd0-\xd7\xff]").search

_END = 0xD9
_SCAN = 0xDA
_BARE = frozenset({0x01, *range(0xD0, 0xD9)})
"""Markers without a length: TEM, restarts, and the start of an image."""

_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}


def walk_jpeg(data: bytes) -> Seen:
    """Walk to the end marker; what stands behind it is nobody's business."""
    width = height = first_scan = 0
    flaw: Flaw | None = None
    at = 2
    while True:
        code, at = _marker(data, at)
        if code is None:
            flaw = _no_marker(data, at)
            break
        if code in _BARE:
            continue
        if code == _END:
            if not first_scan:
                flaw = _broken("holds no image data", at)
            break
        length = int.from_bytes(data[at : at + 2], "big")
        if length < 2 or at + length > len(data):
            flaw = _cut(len(data)) if length >= 2 else _broken("has a segment of no length", at)
            break
        if code in _FRAMES:
            height = int.from_bytes(data[at + 3 : at + 5], "big")
            width = int.from_bytes(data[at + 5 : at + 7], "big")
        at += length
        if code == _SCAN:
            first_scan = first_scan or at
            following = _NEXT_MARKER(data, at)
            at = following.start() if following is not None else len(data)
    zeros = longest_zeros(data, first_scan, len(data)) if first_scan else None
    return Seen(width, height, flaw, zeros)


def _marker(data: bytes, at: int) -> tuple[int | None, int]:
    """Read a marker with its fill bytes: its code, None where there is none, and where it ends."""
    begin = at
    while data[at : at + 1] == b"\xff":
        at += 1
    return (data[at], at + 1) if begin < at < len(data) else (None, begin)


def _no_marker(data: bytes, at: int) -> Flaw:
    if at >= len(data) or not data[at:].strip(b"\xff"):
        return _cut(len(data))
    return _broken("has something else where a marker should be", at)


def _cut(size: int) -> Flaw:
    return Flaw(kind="cut", text="stops before its end marker", offset=size)


def _broken(text: str, at: int) -> Flaw:
    return Flaw(kind="undecodable", text=f"{text}, at {at:,} bytes", offset=at)
