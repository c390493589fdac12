"""Where a record's bytes begin in a zip archive: its own header has the last word.

Sections are those of PKWARE's APPNOTE.TXT 6.3.10.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence

from preflight.formats.bytes import causes
from preflight.formats.bytes.blocks import Read, exactly
from preflight.formats.bytes.damaged import DamagedError
from preflight.formats.zip.directory import MAGIC, Record, ZipDirectory
from preflight.values.names import shown, text_of

LOCAL = struct.Struct("<4s4xH16x2H")
"""The header in front of a record, without its name: its method, and how long its names are."""

# Bits 0, 5, 6 and 13: encrypted or patched. torch (miniz) refuses such records.
UNREADABLE_FLAGS = 0x2061

DESCRIBED_BEHIND = 0x8
"""Bit 3: sizes and checksum stand behind the record's bytes, and not in its own header."""

_DESCRIPTOR = b"PK\x07\x08"

# The MS-DOS bit for a folder. torch leaves the memory of such a record as it was, without a word.
FOLDER = 0x10

# Of a name that goes into a message; longer ones are cut.
_MOST_NAME = 120

STORED = 0


def begin_of(read: Read, archive: ZipDirectory, record: Record, earliest: int) -> int:
    """Find where a record's bytes begin: its local header has the last word, and must agree."""
    begin = record.offset + LOCAL.size + len(record.name)
    if record.offset < earliest or begin > archive.directory:
        raise _disagree(archive, record, "overlaps the record before it, or the directory")
    header = exactly(read, record.offset, begin - record.offset)
    magic, method, name_size, extra_size = LOCAL.unpack_from(header)
    if magic != MAGIC:
        cause = causes.of_headers(magic, MAGIC)
        raise _disagree(archive, record, f"is not where the directory says: {cause}")
    name = bytes(header[LOCAL.size :])
    if name_size != len(record.name) or name != record.name:
        named = len(record.name).to_bytes(2, "little") + record.name
        cause = causes.of_headers(name_size.to_bytes(2, "little") + name, named)
        raise _disagree(archive, record, f"has another name in its own header: {cause}")
    if method != record.method or (method == STORED and record.stored != record.length):
        raise _disagree(archive, record, "has another size or method in its own header")
    if record.flags & UNREADABLE_FLAGS:
        raise _disagree(archive, record, "is marked as encrypted")
    if record.attributes & FOLDER and record.length:
        raise _disagree(archive, record, "is marked as a folder")
    begin += int(extra_size)
    if begin + record.stored > archive.directory:
        raise _disagree(archive, record, "reaches into the directory")
    if not record.stored and not _is_empty(read, record, begin):
        raise _disagree(archive, record, "is empty by the directory, and not by itself")
    return begin


def _is_empty(read: Read, record: Record, begin: int) -> bool:
    """Whether a record that has no bytes by the directory, and so nothing to compare, has none."""
    if record.flags & DESCRIBED_BEHIND:
        return bytes(exactly(read, begin, 4)) in (_DESCRIPTOR, bytes(4))
    return int.from_bytes(exactly(read, record.offset + 18, 4), "little") in (0, 0xFFFFFFFF)


def likely_stretches(read: Read, records: Sequence[Record]) -> Iterator[tuple[int, int]]:
    """Give where the bytes of records most likely lie: nothing else in their headers is judged."""
    for one in records:
        header = read(one.offset, LOCAL.size)
        if len(header) == LOCAL.size:
            *_, name_size, extra_size = LOCAL.unpack(header)
            begin = one.offset + LOCAL.size + int(name_size) + int(extra_size)
            yield begin, begin + one.stored


def _disagree(archive: ZipDirectory, record: Record, text: str) -> DamagedError:
    name = name_in(archive, record)
    text = f"holds a record, {name}, that {text}"
    return DamagedError("structure", text, offset=record.offset, member=name)


def name_in(archive: ZipDirectory, record: Record) -> str:
    """Name a record as people do: without the folder that torch puts all of them in."""
    root = record.name.partition(b"/")[0] + b"/"
    shared = all(one.name.startswith(root) for one in archive.records)
    name = record.name[len(root) :] if shared else record.name
    return shown(text_of(name[:_MOST_NAME]))
