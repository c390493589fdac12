"""What a walk over an image's own structure, without decoding, tells of it."""

from __future__ import annotations

import re
from typing import NamedTuple

from preflight.formats.flaw import Flaw

LONG_RUN = 1024
"""Zero bytes in a row that compressed data has only where a page was lost.

Flat black areas give runs too, with optimised tables up to any length: in a JPEG a run alone is
never damage, only the reason to look for when a decoder complains.
"""

_RUN = bytes(LONG_RUN)
_ZEROS = re.compile(rb"\0+").match


class Seen(NamedTuple):
    """What can be told of an image before it is decoded."""

    width: int = 0
    height: int = 0
    """In pixels; both 0 where the walk did not come to them."""

    flaw: Flaw | None = None
    """The first thing in its structure that is not as its format has it."""

    zeros: tuple[int, int] | None = None
    """Where the longest run of zero bytes in its compressed data begins, and its length."""


def longest_zeros(data: bytes, begin: int, end: int) -> tuple[int, int] | None:
    """Find the longest run of at least LONG_RUN zero bytes: where it begins, and its length."""
    best: tuple[int, int] | None = None
    at = data.find(_RUN, begin, end)
    while at >= 0:
        run = _ZEROS(data, at, end)
        stop = run.end() if run is not None else end
        if best is None or stop - at > best[1]:
            best = (at, stop - at)
        at = data.find(_RUN, stop, end)
    return best
