"""Walks over a WebP from chunk to chunk (RFC 9649, section 2), without decoding it."""

from __future__ import annotations

from preflight.formats.flaw import Flaw
from preflight.formats.seen import Seen, longest_zeros

_COMPRESSED = frozenset({b"VP8 ", b"VP8L"})


def walk_webp(data: bytes) -> Seen:
    """Walk over the chunks of the RIFF container, those of animation frames left alone."""
    end = 8 + int.from_bytes(data[4:8], "little")
    zeros: tuple[int, int] | None = None
    at = 12
    while at + 8 <= min(end, len(data)):
        size = int.from_bytes(data[at + 4 : at + 8], "little")
        if data[at : at + 4] in _COMPRESSED:
            run = longest_zeros(data, at + 8, min(at + 8 + size, len(data)))
            if run is not None and (zeros is None or run[1] > zeros[1]):
                zeros = run
        at += 8 + size + size % 2
    flaw = None
    if end > len(data):
        text = f"stops after {len(data):,} of its {end:,} bytes"
        flaw = Flaw(kind="cut", text=text, offset=len(data))
    elif zeros is not None:
        flaw = zeros_in(zeros)
    return Seen(flaw=flaw, zeros=zeros)


def zeros_in(zeros: tuple[int, int]) -> Flaw:
    """Say where zero bytes stand that no encoder wrote."""
    text = f"has {zeros[1]:,} zero bytes in it, from {zeros[0]:,} on"
    return Flaw(kind="zeros", text=text, offset=zeros[0])
