"""Unpacks a deflated stretch of a file as it is read, forwards only and in flat memory."""

from __future__ import annotations

import zlib

from preflight.formats.blocks import BLOCK, Read

# Bytes that are unpacked at first: most of the time no more is asked for.
_FIRST = 1 << 10


class Inflated:
    """The unpacked bytes of a record, as a `Read`."""

    __slots__ = ("_at", "_begin", "_end", "_held", "_packed", "_piece", "_read", "_unpack")

    def __init__(self, read: Read, begin: int, stored: int) -> None:
        """Begin with nothing unpacked.

        Args:
            read: gives bytes of the file.
            begin: where the packed bytes begin.
            stored: how many they are.
        """
        self._read = read
        self._begin = begin
        self._end = begin + stored
        self._unpack = zlib.decompressobj(-zlib.MAX_WBITS)
        self._packed = b""
        self._piece = _FIRST
        self._at = 0
        self._held = b""

    def __call__(self, offset: int, size: int) -> bytes:
        """Give a piece that is no further back than the last one; fewer bytes where it ends."""
        while self._at + len(self._held) < offset + size and self._more(offset):
            pass
        begin = offset - self._at
        return self._held[begin : begin + size]

    def _more(self, offset: int) -> bool:
        """Unpack some more, and let go of what lies before a place; False at the end."""
        if not self._packed and not self._unpack.eof:
            taken = min(self._piece, self._end - self._begin)
            self._packed = bytes(self._read(self._begin, taken))
            self._begin += taken
        try:
            piece = self._unpack.decompress(self._packed, self._piece)
        except zlib.error:
            return False
        ended = not piece and not self._packed
        self._packed = self._unpack.unconsumed_tail
        self._piece = BLOCK
        surplus = min(max(0, offset - self._at), len(self._held))
        self._held = self._held[surplus:] + piece
        self._at += surplus
        return not ended and not (self._unpack.eof and not piece)
