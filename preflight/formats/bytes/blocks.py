"""How formats get at bytes: by a function of offset and size; no file has to fit in memory."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import TypeAlias

from preflight.formats.bytes.crc import crc32_for

Block: TypeAlias = bytes | memoryview

Read: TypeAlias = Callable[[int, int], Block]
"""Gives this many bytes from this offset on; fewer only where the file ends."""

Look: TypeAlias = Callable[[Block, int], None]
"""Takes a piece of a file, and where it begins."""

Hole: TypeAlias = Callable[[int, int], None]
"""Takes where a stretch of a file begins and ends that is not stored, and reads as zeros."""

Stretches: TypeAlias = Callable[[Read], Iterator[tuple[int, int]]]
"""Gives where stretches of a file begin and end, by what reads small pieces of it."""

LEAST_EXPECTED = 1 << 18
"""Bytes of the shortest stretch whose checksum is worked out before it is asked for."""

BLOCK = 1 << 20
"""Bytes that are held at a time. Larger blocks are not faster: they leave the processor's cache."""


class HeldBytes:
    """The `Read` of bytes that are held whole; `tell` is called while they are worked on."""

    def __init__(self, content: Block, tell: Callable[[], None]) -> None:
        self._content = content
        self.tell = tell

    def __call__(self, offset: int, size: int) -> Block:
        """Give a piece."""
        return self._content[offset : offset + size]


def teller_of(read: Read) -> Callable[[], None]:
    """Give what says that work goes on, for whoever takes long over few bytes of a file."""
    tell: Callable[[], None] = getattr(read, "tell", _nobody)
    return tell


def _nobody() -> None:
    """Tell nobody."""


def blocks(read: Read, offset: int, size: int) -> Iterator[Block]:
    """Give a stretch of the file piece by piece; it ends early where the file does."""
    end = offset + size
    while offset < end:
        block = read(offset, min(BLOCK, end - offset))
        if not block:
            return
        yield block
        offset += len(block)


class LongRead(ABC):
    """A `Read` that has a faster way through long stretches than to hand out every block."""

    every = True
    """Whether it goes through long stretches at all, and not only to what tells of structure."""

    @abstractmethod
    def __call__(self, offset: int, size: int) -> Block:
        """Give a piece, as `Read` has it."""

    @abstractmethod
    def checksum(self, offset: int, size: int) -> int:
        """Work out the CRC-32 of a stretch that must be there."""

    def expecting(self, stretches: Stretches, size: int) -> AbstractContextManager[None]:
        """Say what checksums will be asked for, in this order, while the body of `with` runs.

        Of stretches of LEAST_EXPECTED bytes and more; `size` bytes are those of all of them.
        """
        del stretches, size
        return nullcontext()

    @abstractmethod
    def pass_over(
        self, offset: int, size: int, look: Look | None = None, hole: Hole | None = None
    ) -> None:
        """Read a stretch that must be there, so that a byte nobody can read is met.

        `look` is shown each piece of it, in any order, and by several threads; `hole` is told of
        long holes, which `look` is then not shown.
        """

    def next_data(self, offset: int) -> int | None:
        """Say where bytes follow that are stored: up to there is a hole, which reads as zeros.

        None where no more follow; the same place where it is no hole, or nobody can say.
        """
        return offset


def checksum(read: Read, offset: int, size: int) -> int:
    """Work out the CRC-32 of a stretch that must be there."""
    if isinstance(read, LongRead):
        return read.checksum(offset, size)
    found, crc32 = 0, crc32_for(size)
    for at in range(offset, offset + size, BLOCK):
        found = crc32(exactly(read, at, min(BLOCK, offset + size - at)), found)
    return found


def expecting(read: Read, stretches: Stretches, size: int) -> AbstractContextManager[None]:
    """Say what checksums will be asked for, as `LongRead.expecting` has it."""
    if isinstance(read, LongRead) and read.every:
        return read.expecting(stretches, size)
    return nullcontext()


def pass_over(
    read: Read, offset: int, size: int, look: Look | None = None, hole: Hole | None = None
) -> None:
    """Read a stretch, as far as it is there, so that a byte nobody can read is met."""
    if isinstance(read, LongRead):
        read.pass_over(offset, size, look, hole)
        return
    for block in blocks(read, offset, size):
        if look is not None:
            look(block, offset)
        offset += len(block)


def reads_every(read: Read) -> bool:
    """Whether every byte is to be read, and not only those that tell of structure."""
    return not isinstance(read, LongRead) or read.every


def exactly(read: Read, offset: int, size: int) -> Block:
    """Give a stretch that must be there: a file that has become shorter is an error."""
    block = read(offset, size)
    if len(block) != size:
        raise shorter(offset + len(block))
    return block


def shorter(size: int) -> OSError:
    """Say that a file has become shorter since its size was taken."""
    return OSError(f"it became shorter while it was read: it ends at {size:,} bytes")
