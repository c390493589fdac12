"""Reads the archives that torch.save writes, where everything in them is as usual, in one go.

Whatever is not as usual is left to the exact way through archive.py and torchfile.py, which also
says what is wrong: this one says only that nothing is.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import NamedTuple

from preflight.formats.archive import DESCRIBED_BEHIND, FOLDER, UNREADABLE_FLAGS
from preflight.formats.archive_directory import END_MAGIC, ENTRY_MAGIC, MAGIC
from preflight.formats.crc import Crc32
from preflight.formats.damaged import DamagedError
from preflight.formats.pickle_forms import Forms
from preflight.formats.torchfile import refused_in, storages_fit


class Whole(NamedTuple):
    """A whole archive."""

    verified: bool
    """Whether every record has a checksum; each that there is agrees."""

    globals: tuple[str, ...]
    """As `Walked` has them."""


# The zip64 end record, its locator and the end record, in this order, as torch ends each archive.
_ENDS = struct.Struct("<4sQ4x2L4Q4sLQL4s4x2H8xH")
_ENTRY = struct.Struct("<4s4x2H4x3L4H2x2L")
_LOCAL = struct.Struct("<4s4xH16x2H")

# There may be a hundred thousand of either.
_entry, _ENTRY_SIZE = _ENTRY.unpack_from, _ENTRY.size
_local, _LOCAL_SIZE = _LOCAL.unpack_from, _LOCAL.size

_LARGE = 0xFFFFFFFF

_forms = Forms()


def read_whole(content: memoryview, crc32: Crc32) -> Whole | None:
    """Read a file that is held whole; None: it is not as torch.save writes them, or not whole.

    Args:
        content: all its bytes.
        crc32: as zlib has it.
    """
    end = len(content) - _ENDS.size
    if end < 0 or content[:4] != MAGIC:
        return None
    ends = _ENDS.unpack_from(content, end)
    count, length, start = ends[5:8]
    if ends != (
        *(b"PK\6\6", 44, 0, 0, count, count, length, start),
        *(b"PK\6\7", 0, end, 1, END_MAGIC, *ends[13:15], 0),
    ):
        return None
    directory = bytes(content[start:end])
    if start + length != end or count * _ENTRY.size > length or b"/code/" in directory:
        return None  # of TorchScript, perhaps, whose reader is another
    return _read_records(content, directory, count, crc32)


def _read_records(content: memoryview, directory: bytes, count: int, crc32: Crc32) -> Whole | None:
    """Hold each record against the directory; they lie in the order in which it names them."""
    length = len(directory)
    limit = len(content) - _ENDS.size - length
    places: dict[bytes, tuple[int, int]] = {}
    verified = True
    after = end = 0
    for _ in range(count):
        at = after + _ENTRY_SIZE
        if at > length:
            return None
        magic, flags, method, checksum, stored, size, *entry = _entry(directory, after)
        name_size, extra_size, comment_size, disk, attributes, offset = entry
        name = directory[at : at + name_size]
        after = at + name_size + extra_size + comment_size
        local = offset + _LOCAL_SIZE
        name_end = local + name_size
        # An empty record has nothing to compare, and torch describes none behind its bytes.
        not_usual = UNREADABLE_FLAGS if size else UNREADABLE_FLAGS | DESCRIBED_BEHIND
        odd = flags & not_usual or method or disk or attributes & FOLDER or stored != size
        if magic != ENTRY_MAGIC or odd or offset < end or name_end > limit or size == _LARGE:
            return None
        magic, method, own_name_size, extra_size = _local(content, offset)
        begin = name_end + extra_size
        end = begin + size
        if magic != MAGIC or method or own_name_size != name_size or end > limit:
            return None
        if content[local:name_end] != name:
            return None
        if crc32(content[begin:end], 0) != checksum:
            if checksum:
                return None
            verified = False
        places[name] = begin, end
    if after != length or len(places) != count:
        return None
    return _read_pickle(content, places, verified=verified)


def _read_pickle(
    content: memoryview, places: Mapping[bytes, tuple[int, int]], *, verified: bool
) -> Whole | None:
    root = next(iter(places), b"").partition(b"/")[0]
    place = places.get(root + b"/data.pkl")
    if place is None:
        return None
    lengths = {name: end - begin for name, (begin, end) in places.items()}
    try:
        walked = _forms.walk(bytes(content[slice(*place)]))
    except DamagedError:
        return None
    if walked.end is None or not storages_fit(walked, root, lengths):
        return None
    return Whole(verified, refused_in(walked))
