"""Reads an open file at any place."""

from __future__ import annotations

import errno
import os
from io import FileIO

from preflight.formats.tar.end import NextData, Read


def reading(stream: FileIO, total: int) -> Read:
    """Read at any place; a file that has become shorter than it was is an error."""
    descriptor = stream.fileno()
    pread = getattr(os, "pread", None)

    def read(offset: int, size: int) -> bytes:
        if pread is not None:
            found: bytes = pread(descriptor, size, offset)
            if len(found) == size and offset < total:
                return found
        if offset >= total:
            return b""
        if pread is None:
            stream.seek(offset)
            found = stream.read(size)
        if len(found) < size and offset + len(found) < total:
            return _read_on(stream, found, offset, min(size, total - offset))
        return found

    return read


def holes(stream: FileIO, to: int | None = getattr(os, "SEEK_DATA", None)) -> NextData | None:
    """Give what finds the end of a hole in a sparse file, where the system can say.

    Args:
        stream: the file; its place in it is moved.
        to: `os.SEEK_HOLE` where the next hole is asked for.
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


def _read_on(stream: FileIO, found: bytes, offset: int, size: int) -> bytes:
    """Read what an unbuffered read has left, since it may give less than there is."""
    stream.seek(offset + len(found))
    parts = [found]
    missing = size - len(found)
    while missing > 0:
        part = stream.read(missing)
        if not part:
            at = offset + size - missing
            raise OSError(f"it became shorter while it was read: it ends at {at:,} bytes")
        parts.append(part)
        missing -= len(part)
    return b"".join(parts)
