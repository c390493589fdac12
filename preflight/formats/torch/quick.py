"""Reads the archives that torch.save writes, where everything in them is as usual, in one go.

Whatever is not as usual is left to the exact way through archive.py and torchfile.py, which also
says what is wrong: this one says only that nothing is.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from typing import NamedTuple

from preflight.formats.bytes.crc import Crc32
from preflight.formats.bytes.damaged import DamagedError
from preflight.formats.torch.pickle_forms import Forms
from preflight.formats.torch.torchfile import refused_in, wrong_storage
from preflight.formats.zip.directory import END_MAGIC, ENTRY_MAGIC, MAGIC
from preflight.formats.zip.local_header import DESCRIBED_BEHIND, FOLDER, LOCAL, UNREADABLE_FLAGS


class Whole(NamedTuple):
    """A whole archive."""

    verified: bool
    """Whether every record has a checksum; each that there is agrees."""

    globals: tuple[str, ...]
    keys: tuple[str, ...]
    """Both as `WalkedPickle` has them."""


# The zip64 end record, its locator and the end record, in this order, as torch ends each archive.
_ENDS = struct.Struct("<4sQ4x2L4Q4sLQL4s4x2H8xH")
_local, _LOCAL_SIZE = LOCAL.unpack_from, LOCAL.size

# An entry of the directory, without its name and what follows that.
_ENTRY = struct.Struct("<4s4x2H4x3L4H2x2L")

_LARGE = 0xFFFFFFFF

_forms = Forms()


def read_whole(
    content: memoryview, crc32: Crc32, tell: Callable[[], None] = lambda: None
) -> Whole | None:
    """Read a file that is held whole; None: it is not as torch.save writes them, or not whole."""
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
    stretches = _read_records(content, directory, count, crc32)
    return None if stretches is None else _read_pickle(stretches[0], tell, verified=stretches[1])


def _read_records(
    content: memoryview, directory: bytes, count: int, crc32: Crc32
) -> tuple[Mapping[bytes, memoryview], bool] | None:
    """Hold each record against the directory; they lie in the order in which it names them."""
    records = _entries(directory, count)
    if not records:
        return None
    limit = len(content) - _ENDS.size - len(directory)
    stretches: dict[bytes, memoryview] = {}
    verified = True
    end = 0
    for checksum, stored, size, offset, name in records:
        local = offset + _LOCAL_SIZE
        name_end = local + len(name)
        if stored != size or offset < end or name_end > limit or size == _LARGE:
            return None
        magic, method, name_size, extra_size = _local(content, offset)
        begin = name_end + extra_size
        end = begin + size
        if magic != MAGIC or method or name_size != len(name) or end > limit:
            return None
        if content[local:name_end] != name or (
            not size and any(content[offset + 14 : offset + 26])
        ):
            return None  # an empty record has nothing else to compare
        stretches[name] = stretch = content[begin:end]
        if crc32(stretch, 0) != checksum:
            if checksum:
                return None
            verified = False
    if len(stretches) != count:
        return None
    return stretches, verified


def _entries(directory: bytes, count: int) -> list[tuple[int, int, int, int, bytes]] | None:
    """Give checksum, bytes stored, bytes, place and name of each record; None: one is unusual."""
    records = []
    after = 0
    for _ in range(count):
        at = after + _ENTRY.size
        if at > len(directory):
            return None
        magic, flags, method, checksum, stored, size, *more = _ENTRY.unpack_from(directory, after)
        name_size, extra_size, comment_size, disk, attributes, offset = more
        not_usual = UNREADABLE_FLAGS if size else UNREADABLE_FLAGS | DESCRIBED_BEHIND
        if magic != ENTRY_MAGIC or flags & not_usual or method or disk or attributes & FOLDER:
            return None
        records.append((checksum, stored, size, offset, directory[at : at + name_size]))
        after = at + name_size + extra_size + comment_size
    return records if after == len(directory) else None


def _read_pickle(
    stretches: Mapping[bytes, memoryview], tell: Callable[[], None], *, verified: bool
) -> Whole | None:
    root = next(iter(stretches)).partition(b"/")[0]
    pickle = stretches.get(root + b"/data.pkl")
    if pickle is None:
        return None
    try:
        walked = _forms.walk(bytes(pickle), tell)
    except DamagedError:
        return None
    lengths = {name: len(stretch) for name, stretch in stretches.items()}
    if walked.end is None or wrong_storage(walked, root, lengths) is not None:
        return None
    if walked.misfits:
        return None
    return Whole(verified, refused_in(walked), walked.keys)
