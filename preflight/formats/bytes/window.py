"""A file, or a member of an archive, of which a piece is held at a time."""

from __future__ import annotations

from collections.abc import Iterator

from preflight.formats.bytes.blocks import BLOCK, Read


class Window:
    """Gives any stretch of a file; neighbours come with one read, and cost no further one."""

    def __init__(self, read: Read, size: int, *, ahead: int = BLOCK) -> None:
        self.size = size
        self._read = read
        self.ahead = ahead
        self.held = b""
        """What was read last."""

        self.begins = 0
        """Where that begins in the file."""

    @classmethod
    def over(cls, data: bytes) -> Window:
        """Look through a file that is held whole."""
        window = cls(lambda offset, size: data[offset : offset + size], len(data))
        window.held = data
        return window

    def at(self, offset: int, size: int) -> bytes:
        """Give a stretch; fewer bytes only where the file ends."""
        begin = offset - self.begins
        if begin < 0 or begin + size > len(self.held):
            begin = self._come_to(offset, size)
        return self.held[begin : begin + size]

    def pieces(self, offset: int, end: int) -> Iterator[bytes]:
        """Give a stretch piece by piece; it ends early where the file does."""
        end = min(end, self.size)
        while offset < end:
            piece = self.at(offset, min(self.ahead, end - offset))
            if not piece:
                return
            yield piece
            offset += len(piece)

    def piece(self, offset: int) -> tuple[bytes, int]:
        """Give what is at hand and where in it a place is; with one byte more, where there is."""
        begin = offset - self.begins
        if begin < 0 or begin + 2 > len(self.held):
            begin = self._come_to(offset, 2)
        return self.held, begin

    def come_to(self, offset: int, least: int = 0) -> bytes:
        """Hold what stands from a place on, and give it: so many bytes at least, where it has them.

        It is read in any case.
        """
        # Conditions, since calls would take a tenth of the time of all this.
        wanted = self.ahead if self.ahead > least else least  # noqa: FURB136
        if wanted > self.size - offset:  # noqa: PLR1730
            wanted = self.size - offset
        self.begins = offset
        held = self._read(offset, wanted) if wanted > 0 else b""
        if not isinstance(held, bytes):
            held = bytes(held)
        self.held = held
        return held

    def _come_to(self, offset: int, size: int) -> int:
        """Have these bytes at hand, as far as there are any; give where in the held they begin."""
        begin, left = offset - self.begins, self.size - offset
        if size > left and 0 <= begin <= len(self.held) - max(0, left):
            return begin  # all that is left of the file
        self.come_to(offset, size)
        return 0
