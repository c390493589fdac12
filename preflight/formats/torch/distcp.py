"""Parts of a checkpoint of torch.distributed.checkpoint: items one behind another, each an archive.

Layout as in torch/distributed/checkpoint/filesystem.py (`_write_item`) of PyTorch 2.13: torch.save
writes each item, tensors and other objects alike, and nothing stands between them.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from typing import NamedTuple

from preflight.formats.bytes.blocks import Read, blocks
from preflight.formats.zip.directory import END_MAGIC, ENTRY_MAGIC, MAGIC

# The end records of an archive of torch's: zip64's, its locator, and the one of all archives.
_END64 = struct.Struct("<4sQ4x2L4Q")
_LOCATOR = struct.Struct("<4sLQL")
_END = struct.Struct("<4s4H2LH")
_ENDS = _END64.size + _LOCATOR.size + _END.size


class Item(NamedTuple):
    """A stretch of a part."""

    begin: int
    end: int


def whole_items(read: Read, size: int) -> list[Item]:
    """Give the archives of a part that have an end, in order; between them may be something else.

    From the end of the part each archive tells where it begins, and so where the one before it
    ends. Where that chain is broken, all that is left is searched for ends.
    """
    found = list(items_from_end(read, size))
    end = found[-1].begin if found else size
    if end and bytes(read(0, len(MAGIC))) == MAGIC:
        found += reversed(_searched(read, end))
    return found[::-1]


def items_from_end(read: Read, size: int) -> Iterator[Item]:
    """Give the archives from the end of a part on, the last first, as far as they are a chain."""
    end = size
    while end and (begin := _begin_of(read, end)) is not None:
        yield Item(begin, end)
        end = begin


def gaps(items: list[Item], size: int) -> Iterator[Item]:
    """Give the stretches of a part that lie in none of its archives."""
    end = 0
    for item in (*items, Item(size, size)):
        if item.begin > end:
            yield Item(end, item.begin)
        end = item.end


def _begin_of(read: Read, end: int) -> int | None:
    """Work out where an archive begins that ends here; None: none does."""
    tail = bytes(read(max(0, end - _ENDS), min(end, _ENDS)))
    if tail[-_END.size : -_END.size + len(END_MAGIC)] != END_MAGIC or len(tail) < _END.size:
        return None
    _, _, _, _, count, length, directory, comment = _END.unpack(tail[-_END.size :])
    behind = end - _END.size
    if len(tail) == _ENDS and tail.startswith(b"PK\6\6"):
        *_, count, length, directory = _END64.unpack_from(tail)
        magic, _, at, _ = _LOCATOR.unpack_from(tail, _END64.size)
        if magic != b"PK\6\7" or at != directory + length:
            return None
        behind = end - _ENDS
    begin = behind - length - directory
    if begin < 0 or comment or not count:
        return None
    # One of the two may be damaged.
    first = bytes(read(begin, len(MAGIC))) == MAGIC
    return begin if first or bytes(read(begin + directory, 4)) == ENTRY_MAGIC else None


def _searched(read: Read, size: int) -> list[Item]:
    """Look for the ends of archives; what lies within another one is left out."""
    found: list[Item] = []
    for end in _ends(read, size):
        begin = _begin_of(read, end)
        if begin is None:
            continue
        while found and found[-1].begin >= begin:
            found.pop()
        if not found or found[-1].end <= begin:
            found.append(Item(begin, end))
    return found


def _ends(read: Read, size: int) -> Iterator[int]:
    """Give where something ends that looks like the end record of an archive."""
    held, base = b"", 0
    for block in blocks(read, 0, size):
        held += block
        for found in re.finditer(END_MAGIC, held):
            end = base + found.start() + _END.size
            if end <= size:
                yield end
        kept = held[1 - len(END_MAGIC) :]
        base += len(held) - len(kept)
        held = kept
