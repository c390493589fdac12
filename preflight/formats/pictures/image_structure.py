"""What a walk over an image's own structure, without decoding, tells of it."""

from __future__ import annotations

import re
from typing import NamedTuple

from preflight.formats.bytes.flaw import Flaw
from preflight.formats.bytes.window import Window

LONG_RUN = 1024
"""Zero bytes in a row that compressed data seldom has, but where a page was lost.

Flat areas give runs too, with optimised tables and with WebP's coder up to any length: a run alone
is never damage, only the reason to ask a decoder, and to look at where it begins and ends.
"""

# A long run holds at least this many bytes of those that stand so far apart.
_STRIDE = 256
_AMONG_THEM = bytes(LONG_RUN // _STRIDE)

_ZEROS = re.compile(rb"\0*").match


class ImageStructure(NamedTuple):
    """What can be told of an image before it is decoded."""

    width: int = 0
    height: int = 0
    """In pixels; both 0 where the walk did not come to them."""

    flaw: Flaw | None = None
    """The first thing in its structure that is not as its format has it."""

    zeros: tuple[int, int] | None = None
    """Where the longest run of zero bytes in its compressed data begins, and its length."""

    odd: bool = False
    """Whether something is unusual in it, of which only a decoder can say what it means."""

    components: int = 0
    """Of each pixel of a JPEG: 1, 3 or 4; 0 where the walk did not come to them."""

    @property
    def suspicious(self) -> bool:
        """Whether a decoder is worth asking."""
        return self.flaw is not None or self.zeros is not None or self.odd


class Zeros:
    """Finds the longest run of at least LONG_RUN zero bytes in the pieces of a file."""

    __slots__ = ("_begun", "_came_to", "longest")

    def __init__(self) -> None:
        self.longest: tuple[int, int] | None = None
        """Where it begins in the file, and its length."""

        self._came_to = 0
        self._begun: int | None = None
        """Where the zeros begin with which the last piece ended."""

    def look(self, data: bytes, begin: int, end: int, at: int) -> None:
        """Look through a piece; a run may go on in the next, where that follows at once.

        Args:
            data: the piece is a stretch of it.
            begin: where that stretch begins in `data`.
            end: where it ends in `data`.
            at: where it begins in the file.
        """
        shift = at - begin
        if at != self._came_to:
            self._begun = None
        self._came_to = end + shift
        if self._begun is not None:
            begin = _end_of_zeros(data, begin, end)
            self._take(self._begun, begin + shift)
            if begin == end:
                return
        self._begun = None
        while (start := _first_long(data, begin, end)) is not None:
            begin = _end_of_zeros(data, start, end)
            self._take(start + shift, begin + shift)
            if begin == end:
                self._begun = start + shift
                return
        last = data[max(begin, end - LONG_RUN) : end]
        left = len(last) - len(last.rstrip(b"\0"))
        if left:
            self._begun = end + shift - left

    def _take(self, start: int, stop: int) -> None:
        if stop - start >= LONG_RUN and (self.longest is None or stop - start > self.longest[1]):
            self.longest = (start, stop - start)


def longest_zeros(window: Window, begin: int, end: int) -> tuple[int, int] | None:
    """Find the longest run of at least LONG_RUN zero bytes: where it begins, and its length."""
    zeros = Zeros()
    for piece in window.pieces(begin, end):
        zeros.look(piece, 0, len(piece), begin)
        begin += len(piece)
    return zeros.longest


def _first_long(data: bytes, begin: int, end: int) -> int | None:
    """Find where the first long run begins.

    Only every 256th byte is looked at: that costs a hundredth of looking at all of them.
    """
    found = 0
    sample = data[begin:end:_STRIDE]
    while (found := sample.find(_AMONG_THEM, found)) >= 0:
        place = begin + found * _STRIDE
        before = data[max(begin, place - _STRIDE) : place]
        start = place - (len(before) - len(before.rstrip(b"\0")))
        stop = _end_of_zeros(data, place, end)
        if stop - start >= LONG_RUN:
            return start
        found += 1
    return None


def _end_of_zeros(data: bytes, begin: int, end: int) -> int:
    match = _ZEROS(data, begin, end)
    return match.end() if match is not None else begin
