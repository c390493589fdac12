"""Checksums of what zip archives pack with bzip2 or LZMA, as Python's zipfile can, and few do."""

from __future__ import annotations

import importlib
import zlib
from collections.abc import Callable
from typing import Any

from preflight.formats.blocks import BLOCK, Read, blocks, exactly

_BZIP2 = 12
_LZMA = 14

# Bytes that LZMA may keep at hand; a record that asks for more is not unpacked.
_MOST_KEPT = 1 << 26

# A record of LZMA begins with its version and the length of its properties (5.8.8).
_PROPERTIES = 9


def checksum_unpacked(
    read: Read, begin: int, stored: int, length: int, method: int
) -> Callable[[], int | None] | None:
    """Give what works out the checksum of a record; None: it is packed in another way.

    That gives None where the packed bytes do not unpack to as many as the directory says.

    Args:
        read: gives bytes of the file.
        begin: where the record's bytes begin.
        stored: how many they are.
        length: how many they are unpacked.
        method: how they are packed.
    """
    try:
        if method == _BZIP2:
            module = importlib.import_module("bz2")
            unpack, errors = module.BZ2Decompressor(), (OSError, ValueError, EOFError)
            return lambda: _checksum(read, begin, stored, length, unpack, errors)
        if method != _LZMA or stored < _PROPERTIES:
            return None
        module = importlib.import_module("lzma")
    except ImportError:
        return None  # Python was built without it
    head = bytes(exactly(read, begin, _PROPERTIES))
    odd, kept = head[4], int.from_bytes(head[5:], "little")
    if head[2:4] != b"\5\0" or odd >= 225 or kept > _MOST_KEPT:
        return None
    rest, power = divmod(odd, 9)
    filters = [
        {
            "id": module.FILTER_LZMA1,
            "lc": power,
            "lp": rest % 5,
            "pb": rest // 5,
            "dict_size": max(kept, 4096),
        }
    ]
    try:
        unpack = module.LZMADecompressor(module.FORMAT_RAW, filters=filters)
    except module.LZMAError:
        return None
    errors = (module.LZMAError, ValueError, EOFError)
    begin, stored = begin + _PROPERTIES, stored - _PROPERTIES
    return lambda: _checksum(read, begin, stored, length, unpack, errors)


def _checksum(
    read: Read,
    begin: int,
    stored: int,
    length: int,
    unpack: Any,
    errors: tuple[type[Exception], ...],
) -> int | None:
    found, left = 0, length
    for block in blocks(read, begin, stored):
        data = bytes(block)
        while left >= 0 and not unpack.eof and (data or not unpack.needs_input):
            try:
                piece = unpack.decompress(data, min(left + 1, BLOCK))
            except errors:
                return None
            data = b""
            left -= len(piece)
            found = zlib.crc32(piece, found)
    return found if left == 0 else None
