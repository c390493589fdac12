"""Unpacks a deflated stretch of a file as it is read, forwards only and in flat memory.

How much of one file is unpacked is bounded, so that a zip bomb costs seconds and not hours.
"""

from __future__ import annotations

import zlib

from preflight.formats.bytes.blocks import BLOCK, Read, teller_of

MOST_UNPACKED = 5 << 29
"""Bytes that are unpacked of one file, however little they were packed into: some seconds."""

MOST_TIMES = 10
"""Times its packed bytes that a larger file of a cache is unpacked to."""

LARGEST_RATIO = 1032
"""Bytes into which deflate can unpack one byte at most: two bits stand for up to 258."""

# Bytes that are unpacked at first: most of the time no more is asked for. They are free.
_FIRST = 1 << 10


class OutOfRoomError(Exception):
    """More would have to be unpacked than may be."""


def most_unpacked(packed: int, times: int = MOST_TIMES) -> int:
    """Give how many bytes are unpacked at most of so many; no bomb takes longer than this."""
    return max(MOST_UNPACKED, times * packed)


class Room:
    """How much of one file may still be unpacked."""

    def __init__(self, packed: int) -> None:
        self._left = most_unpacked(packed)

    def take(self, size: int) -> bool:
        """Take room for so many bytes; False, and none is taken, where there is too little."""
        if size > self._left:
            return False
        self._left -= size
        return True


class Inflated:
    """The unpacked bytes of a record, as a `Read`: as far as there is room, where that is given."""

    def __init__(self, read: Read, begin: int, stored: int, room: Room | None = None) -> None:
        self._read = read
        self.tell = teller_of(read)
        self._room = room
        self._begin = begin
        self._end = begin + stored
        self._unpack = zlib.decompressobj(-zlib.MAX_WBITS)
        self._packed = b""
        self._piece = _FIRST
        self._at = 0
        self._held = b""

    @property
    def ended(self) -> bool:
        """Whether its bytes came to their own end."""
        return self._unpack.eof

    def __call__(self, offset: int, size: int) -> bytes:
        """Give a piece that is no further back than the last one; fewer bytes where it ends."""
        while self._at + len(self._held) < offset + size and self._more(offset):
            pass
        begin = offset - self._at
        return self._held[begin : begin + size]

    def _more(self, offset: int) -> bool:
        """Unpack some more, and let go of what lies before a place; False at the end."""
        self.tell()
        if not self._packed and not self._unpack.eof:
            taken = min(self._piece, self._end - self._begin)
            self._packed = bytes(self._read(self._begin, taken))
            self._begin += taken
        try:
            piece = self._unpack.decompress(self._packed, self._piece)
        except zlib.error:
            return False
        if self._piece != _FIRST and self._room is not None and not self._room.take(len(piece)):
            raise OutOfRoomError
        ended = not piece and not self._packed
        self._packed = self._unpack.unconsumed_tail
        self._piece = BLOCK
        surplus = min(max(0, offset - self._at), len(self._held))
        self._held = self._held[surplus:] + piece
        self._at += surplus
        return not ended and not (self._unpack.eof and not piece)
