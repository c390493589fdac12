"""Reads an open file at any place."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from io import FileIO
from typing import TypeAlias

from preflight.file_access.place import HERE
from preflight.formats.bytes.blocks import shorter
from preflight.formats.tar.end import NextData

_READS = 64
"""Pieces after which it is told that work goes on."""

Read: TypeAlias = Callable[[int, int], bytes]


def reading(stream: FileIO, total: int | None = None) -> Read:
    """Give what reads an open file at any place, of which its own place may be moved.

    Where it should have so many bytes in `total`, one that became shorter is an error.
    """
    descriptor = stream.fileno()

    def piece(offset: int, size: int) -> bytes:
        if hasattr(os, "pread"):
            return os.pread(descriptor, size, offset)
        stream.seek(offset)
        return stream.read(size)

    def read(offset: int, size: int) -> bytes:
        if total is not None:
            HERE.at, HERE.size = offset, total
            size = max(0, min(size, total - offset))
        found = piece(offset, size)
        while len(found) < size and (more := piece(offset + len(found), size - len(found))):
            found += more  # the system may give less than there is
        if total is not None and len(found) < size:
            raise shorter(offset + len(found))
        return found

    return read


def telling(read: Read, tell: Callable[[], object]) -> Read:
    """Tell now and then that work goes on: what is read may be very many small pieces."""
    left = _READS

    def reading_on(offset: int, size: int) -> bytes:
        nonlocal left
        left -= 1
        if not left:
            left = _READS
            tell()
        return read(offset, size)

    return reading_on


def holes(stream: FileIO, to: int | None = getattr(os, "SEEK_DATA", None)) -> NextData | None:
    """Give what finds the end of a hole in a sparse file, where the system can say.

    Its place in the file is moved; with `to` as `os.SEEK_HOLE` it finds the next hole.
    """
    if to is None:
        return None
    descriptor = stream.fileno()

    def next_data(offset: int) -> int | None:
        try:
            return os.lseek(descriptor, offset, to)
        except OSError as error:
            return None if error.errno == errno.ENXIO else offset

    return next_data
