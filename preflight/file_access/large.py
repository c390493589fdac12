"""Reads a file that is not held whole: through a window, and long stretches by two threads."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial

from preflight.file_access.checksums import SHARE, Checksums
from preflight.file_access.opened import holes, reading
from preflight.file_access.place import HERE
from preflight.formats.bytes.blocks import (
    BLOCK,
    LEAST_EXPECTED,
    Block,
    Hole,
    LongRead,
    Look,
    Stretches,
    exactly,
    shorter,
)
from preflight.formats.bytes.crc import Crc32, combined, crc32_for, with_zeros

WINDOW = 1 << 21
"""Bytes that are held at a time; smaller files are better held whole."""

# Bytes that are read with a piece far from all that is held: of a large archive, what stands before
# its records. Whatever follows on is read with more and more, up to the window.
_FIRST = 1 << 16

# Bytes that are copied at a time: about as much as a processor keeps near itself; of fewer the two
# threads get into each other's way. To have the system show what it holds, and copy nothing, is
# twice as slow where it holds it in small pieces.
_BLOCK = 1 << 20

# Bytes of all stretches from which on a second thread takes less time than its start.
_MANY = 1 << 24

# Bytes of the shortest hole that is passed over: to read shorter ones takes less time. What is
# passed over ends where pages do.
_LEAST_HOLE = SHARE
_PAGE = 4096


class Large(LongRead):
    """An open file, whose place in it is nobody else's; `tell` is called while it is read."""

    def __init__(self, file: io.FileIO, tell: Callable[[], None]) -> None:
        self._file = file
        self._size = os.fstat(file.fileno()).st_size
        self._read = reading(file)
        self.tell = tell
        self._window = memoryview(b"")
        self._start = 0
        self._ahead = _FIRST
        self._buffers: list[memoryview] = []
        self._expected: Checksums | None = None

    def __call__(self, offset: int, size: int) -> Block:
        """Give a piece; it comes with what is likely to be asked for next."""
        if not self._start <= offset <= offset + size <= self._start + len(self._window):
            self.tell()
            follows = self._start <= offset <= self._start + len(self._window)
            self._ahead = min(WINDOW, 4 * self._ahead) if follows else _FIRST
            HERE.at, HERE.size = offset, self._size
            held = self._read(offset, max(size, self._ahead))
            self._window, self._start = memoryview(held), offset
        begin = offset - self._start
        return self._window[begin : begin + size]

    def expecting(self, stretches: Stretches, size: int) -> AbstractContextManager[None]:
        """Work out, by two threads, what will be asked for while the body of `with` runs.

        Not of a file with holes: those are looked for one after another, and passed over.
        """
        status = os.fstat(self._file.fileno())
        is_sparse = 512 * getattr(status, "st_blocks", 0) < status.st_size
        if size < _MANY or is_sparse or not hasattr(os, "preadv"):
            return nullcontext()
        return self._working_out(stretches(self._read), crc32_for(size))

    @contextmanager
    def _working_out(self, stretches: Iterator[tuple[int, int]], crc32: Crc32) -> Iterator[None]:
        self._expected = Checksums(stretches, partial(self._share, crc32, None))
        try:
            with self._expected:
                yield
        finally:
            self._expected = None

    def checksum(self, offset: int, size: int) -> int:
        """Work out the CRC-32 of a stretch that must be there."""
        if self._expected is not None and size >= LEAST_EXPECTED:
            expected = self._expected.of(offset, offset + size, self.tell)
            if expected is not None:
                return expected
        crc32 = crc32_for(size)
        if size <= BLOCK:
            return crc32(exactly(self, offset, size), 0)
        found = 0
        for begin, end, is_stored in self._stretches(offset, offset + size):
            if is_stored:
                found = combined(found, self._go_through(begin, end - begin, crc32), end - begin)
            else:
                found = with_zeros(found, end - begin)
        return found

    def pass_over(
        self, offset: int, size: int, look: Look | None = None, hole: Hole | None = None
    ) -> None:
        """Read a stretch that must be there, and show each piece of it; long holes are told."""
        if look is not None and hole is None:
            self._go_through(offset, size, None, look)
            return
        for begin, end, is_stored in self._stretches(offset, offset + size):
            if is_stored:
                self._go_through(begin, end - begin, None, look)
            elif hole is not None:
                hole(begin, end)

    def _stretches(self, begin: int, end: int) -> Iterator[tuple[int, int, bool]]:
        """Give what is stored and what is not: `numpy.memmap` lays out a hole up to its first use.

        A file that has become shorter is an error.
        """
        find_hole = holes(self._file, getattr(os, "SEEK_HOLE", None))
        at = begin
        while at < end:
            self.tell()
            data = self.next_data(at)
            if data is None or data >= end:
                size = os.fstat(self._file.fileno()).st_size
                if size < end:
                    raise shorter(size)
                data = end
            first, last = at + -at % _PAGE, data if data == end else data - data % _PAGE
            if last - first >= _LEAST_HOLE and self._is_hole(first, last):
                if begin < first:
                    yield begin, first, True
                yield first, last, False
                begin = last
            hole = None if find_hole is None else find_hole(data)
            at = end if hole is None or hole <= data else min(hole, end)
        if begin < end:
            yield begin, end, True

    def _is_hole(self, begin: int, end: int) -> bool:
        """Look at both ends: there are systems that have taken fresh bytes for a hole."""
        page = memoryview(bytearray(_PAGE))
        return not any(any(page[: self._read_at(at, page)]) for at in (begin, end - _PAGE))

    def next_data(self, offset: int) -> int | None:
        """Ask the system for the end of a hole."""
        find = holes(self._file)
        return offset if find is None else find(offset)

    def _go_through(
        self, offset: int, size: int, crc32: Crc32 | None, look: Look | None = None
    ) -> int:
        """Read a long stretch by two threads, and give its checksum."""
        if size <= SHARE or not hasattr(os, "preadv"):
            return self._share(crc32, look, offset, offset + size, self.tell)
        two = Checksums(iter([(offset, offset + size)]), partial(self._share, crc32, look))
        with two:
            return two.of(offset, offset + size, self.tell) or 0

    def _share(
        self,
        crc32: Crc32 | None,
        look: Look | None,
        begin: int,
        end: int,
        tell: Callable[[], None] = lambda: None,
    ) -> int:
        """Read a stretch block by block; by two threads at once."""
        held = self._buffers.pop() if self._buffers else memoryview(bytearray(_BLOCK))
        found = 0
        while begin < end:
            tell()
            block = held[: min(_BLOCK, end - begin)]
            count = self._read_at(begin, block)
            if not count:
                raise shorter(begin)
            if crc32 is not None:
                found = crc32(block[:count], found)
            if look is not None:
                look(block[:count], begin)
            begin += count
        self._buffers.append(held)
        return found

    def _read_at(self, offset: int, block: memoryview) -> int:
        HERE.at, HERE.size = offset, self._size
        if hasattr(os, "preadv"):
            return os.preadv(self._file.fileno(), [block], offset)
        self._file.seek(offset)
        return self._file.readinto(block) or 0
