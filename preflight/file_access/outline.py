"""Reads of a file only what tells of its structure: its beginning, its end, and places between."""

from __future__ import annotations

import os
from collections.abc import Callable
from io import FileIO

from preflight.file_access.opened import reading, telling
from preflight.formats.arrays.safetensors_usual import header_of, is_whole, names_of
from preflight.formats.by_name import SAFETENSORS
from preflight.formats.bytes.blocks import Hole, LongRead, Look, shorter
from preflight.formats.stored import StoredFile, look

# Bytes that are read at a time: a page, in which the next thing asked for is likely to be.
_NEAR = 4096


def look_at_outline(
    descriptor: int, size: int, suffix: str, tell: Callable[[], None]
) -> StoredFile:
    """Say what a file holds that was just opened, and what is wrong with it, as `look` does."""
    if suffix == SAFETENSORS and is_whole(head := os.read(descriptor, _NEAR), size):
        return StoredFile("safetensors", arrays=names_of(header_of(head)))
    return look(Outline(descriptor, size, tell), size, suffix)


class Outline(LongRead):
    """An open file, whose place in it is nobody else's; no long stretch of it is read."""

    every = False

    def __init__(self, descriptor: int, size: int, tell: Callable[[], None] = lambda: None) -> None:
        self._read = telling(reading(FileIO(descriptor, closefd=False)), tell)
        self.tell = tell
        self._size = size
        self._start = 0
        self._window = b""

    def __call__(self, offset: int, size: int) -> bytes:
        """Give a piece; it comes with what lies behind it, or before it at the end of the file."""
        begin = offset - self._start
        held = len(self._window)
        if begin < 0 or (begin + size > held and self._start + held < self._size):
            self._start = min(offset, max(0, self._size - _NEAR))
            begin = offset - self._start
            self._window = self._read(self._start, max(_NEAR, begin + size))
        return self._window[begin : begin + size]

    def checksum(self, offset: int, size: int) -> int:
        """Not asked for: whoever reads records asks `reads_every` first."""
        raise NotImplementedError

    def pass_over(
        self, offset: int, size: int, _: Look | None = None, __: Hole | None = None
    ) -> None:
        """Only see that the stretch is there, by the size that the file had."""
        if offset + size > self._size:
            raise shorter(self._size)
