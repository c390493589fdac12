"""Where a zip archive's records lie: its directory at the end, and the records that end it.

The layout is that of PKWARE's APPNOTE.TXT 6.3.10, sections 4.3 and 4.5.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

from preflight.formats.bytes import causes
from preflight.formats.bytes.blocks import Block, Read, blocks, exactly
from preflight.formats.bytes.damaged import DamagedError, TooMuchError
from preflight.values.names import counted

MAGIC = b"PK\x03\x04"
END_MAGIC = b"PK\x05\x06"
"""What an archive begins with, and what one without records does: its end record."""

ENTRY_MAGIC = b"PK\x01\x02"
"""What each entry of the directory begins with."""

MOST_DIRECTORY = 1 << 26
"""Bytes of a directory that are looked at."""

MOST_RECORDS = 300_000
"""Records that are looked at: each is held in some 200 bytes."""

END64 = struct.Struct("<4sQ2H2L4Q")
LOCATOR = struct.Struct("<4sLQL")
END = struct.Struct("<4s4H2LH")
"""How an archive ends: the end record of zip64 and what says where that is, and its end record."""

_ENTRY = struct.Struct("<4s2xBx2H4x3L4H2x2L")

# How far back torch (miniz) looks for the end record, in blocks of 4,096 bytes that overlap by 3,
# until it has seen the longest comment. Bytes behind the record it does not mind.
_STEP = 4096
_TAIL = _STEP + 16 * (_STEP - 3)
_FURTHER_BACK = 1 << 24

# How far back Python's zipfile looks for it: behind the longest comment, and a byte further.
_TAIL_OF_ZIPFILE = END.size + (1 << 16)

# The version of the format that a reader needs, at most, for Python's zipfile to open the archive.
_NEWEST = 63

_LOST_END = f"its end {causes.NEVER_WRITTEN}"


class Record(NamedTuple):
    """One record, as the directory at the archive's end tells of it."""

    name: bytes
    offset: int
    """Where its local header begins."""

    stored: int
    """Bytes that it takes in the archive."""

    length: int
    """Bytes that it has when unpacked."""

    method: int
    checksum: int
    flags: int
    attributes: int
    needed: int
    """The version of the format that a reader needs, times 10."""


class ZipDirectory(NamedTuple):
    """An archive's directory."""

    records: tuple[Record, ...]
    """In the order in which they lie in the file."""

    directory: int
    """Where the directory begins, and so where the records must have ended."""

    end: int
    """Where the archive itself ends, but for a comment; the file may go on."""


def read_archive(read: Read, size: int) -> ZipDirectory:
    """Read the directory.

    Raises:
        DamagedError: `cut`, `trailing` or `structure`.
        TooMuchError: the directory is larger than what is looked at.
    """
    (directory, length, count, end), archive_end = _find_directory(read, size)
    if directory + length != end:
        raise DamagedError(
            "structure",
            f"has a directory of {length:,} bytes at {directory:,} that should end at {end:,}",
            offset=directory,
        )
    if count * _ENTRY.size > length:
        raise DamagedError(
            "structure",
            f"names {count:,} records in a directory of {length:,} bytes",
            offset=directory,
        )
    if length > MOST_DIRECTORY:
        raise TooMuchError(f"its directory of {length:,} bytes is more than is looked at")
    if count > MOST_RECORDS:
        raise TooMuchError(f"its {count:,} records are more than are looked at")
    entries = _entries(exactly(read, directory, length), count, directory)
    records = tuple(sorted(entries, key=lambda one: one.offset))
    return ZipDirectory(records, directory, archive_end)


def _find_directory(read: Read, size: int) -> tuple[tuple[int, int, int, int], int]:
    """Find the end record, and give what `_read_end` gives, and where the archive ends."""
    least = END64.size + LOCATOR.size + END.size
    for window in (least, _TAIL + least):
        base = max(0, size - window)
        tail = bytes(exactly(read, base, size - base))
        at = _last_end(tail)
        if at >= 0 and base + at >= size - _TAIL:
            return _read_end(read, base + at), base + at + END.size
    raise _no_end(read, size, tail)


def _last_end(tail: bytes) -> int:
    """Find the last end record that is all here; -1: there is none."""
    return tail.rfind(END_MAGIC, 0, max(0, len(tail) - END.size + len(END_MAGIC)))


def _read_end(read: Read, at: int) -> tuple[int, int, int, int]:
    """Give where the directory begins, its length, its records, and where it should end."""
    end = END.unpack(exactly(read, at, END.size))
    _, disk, first_disk, here, count, length, directory, _ = end
    locator_at = at - LOCATOR.size
    if locator_at >= 0:
        magic, _, at64, disks = LOCATOR.unpack(exactly(read, locator_at, LOCATOR.size))
        if magic == b"PK\x06\x07":
            return _read_end64(read, at64, locator_at if disks == 1 else 0)
    if disk or first_disk or here != count:
        raise DamagedError("structure", "has an end record that speaks of other disks", offset=at)
    return directory, length, count, at


def _read_end64(read: Read, at: int, locator_at: int) -> tuple[int, int, int, int]:
    """Read the end record for large archives, which torch writes into every archive."""
    if at + END64.size <= locator_at:
        fields = END64.unpack(exactly(read, at, END64.size))
        magic, own_size, _, _, disk, first_disk, here, count, length, directory = fields
        whole = magic == b"PK\x06\x06" and own_size >= END64.size - 12
        if whole and at + own_size + 12 != locator_at:
            text = (
                f"ends at {at + own_size + 12:,}, and {locator_at - at - own_size - 12:,} bytes "
                "further again: most likely a second archive was written behind the first"
            )
            raise DamagedError("structure", text, offset=at)
        if whole and not disk and not first_disk and here == count:
            return directory, length, count, at
    raise DamagedError(
        "structure", f"has no zip64 end record at {at:,}, where its locator points", offset=at
    )


def _no_end(read: Read, size: int, tail: bytes) -> DamagedError:
    """Tell a file that was cut from one that goes on behind its end, or lost the end record."""
    further = max(0, size - _FURTHER_BACK)
    at = _last_end(b"".join(blocks(read, further, size - further)))
    with suppress(DamagedError):
        if at >= 0:
            directory, length, count, end = _read_end(read, further + at)
            if directory + length == end:
                cause = causes.OVER if count else causes.STOPPED
                return goes_on(size, further + at + END.size, cause)
    zeros = len(tail) - len(tail.rstrip(b"\0"))
    if zeros > END.size:
        more = "or more " if zeros == len(tail) else ""
        text = f"ends in {zeros:,} {more}zero bytes, where its directory should be: {_LOST_END}"
        return DamagedError("cut", text, offset=size - zeros)
    return _no_end_record(size, tail)


def _no_end_record(size: int, tail: bytes) -> DamagedError:
    """Say how far a directory goes of which the end record is nowhere."""
    at = tail.find(ENTRY_MAGIC)
    if at < 0:
        return DamagedError(
            "cut", f"ends at {counted(size, 'byte')}, before its directory", offset=size
        )
    while tail.startswith(ENTRY_MAGIC, at) and at + _ENTRY.size <= len(tail):
        at += _ENTRY.size + sum(_ENTRY.unpack_from(tail, at)[7:10])
    if tail.startswith(b"PK\x06\x06", at):
        at += END64.size + LOCATOR.size
    if len(tail) - at < END.size or tail.startswith(ENTRY_MAGIC, at):
        return DamagedError("cut", f"ends at {size:,} bytes, inside its directory", offset=size)
    return DamagedError("structure", "has a directory, and no end record behind it", offset=size)


def goes_on(size: int, end: int, cause: str = causes.OVER) -> DamagedError:
    """Say of a file that it goes on behind its archive, so far that nobody finds its end.

    Where that holds nothing, numpy's writer came to an error (a full disk) in the first array.
    """
    text = f"goes on for {counted(size - end, 'byte')} behind the end of its archive: {cause}"
    return DamagedError("trailing", text, offset=end)


def torch_finds(archive: ZipDirectory, size: int) -> bool:
    """Whether torch finds the end record of an archive that it looks for from the file's end.

    It goes back in steps, and fails where the next one would begin in front of the file.
    """
    first = (size - _STEP) % (_STEP - 3) if size >= _STEP else 0
    return archive.end - END.size >= first


def refuse_unopened(read: Read, archive: ZipDirectory, size: int) -> None:
    """Refuse what Python's zipfile, and numpy with it, does not open although it is whole."""
    if archive.end != size:
        base = max(0, size - _TAIL_OF_ZIPFILE)
        at = bytes(exactly(read, base, size - base)).rfind(END_MAGIC)
        if at < 0 or base + at + END.size != archive.end:
            raise goes_on(size, archive.end)
    newer = next((one for one in archive.records if one.needed > _NEWEST), None)
    if newer is not None:
        text = (
            f"names a record of version {newer.needed / 10} of the zip format, and 6.3 is the last"
        )
        raise DamagedError("structure", text, offset=archive.directory)


def _entries(directory: Block, count: int, base: int) -> Iterator[Record]:
    at = 0
    for _ in range(count):
        if at + _ENTRY.size > len(directory):
            raise _bad_entry(base + at)
        fields = _ENTRY.unpack_from(directory, at)
        magic, needed, flags, method, checksum, stored, length = fields[:7]
        name_size, extra_size, comment_size, disk, attributes, offset = fields[7:]
        name_at = at + _ENTRY.size
        extra_at = name_at + name_size
        at = extra_at + extra_size + comment_size
        if magic != ENTRY_MAGIC or at > len(directory):
            raise _bad_entry(base + name_at - _ENTRY.size)
        is_large = 0xFFFFFFFF in (stored, length, offset)
        if is_large:
            extra = bytes(directory[extra_at : extra_at + extra_size])
            length, stored, offset = _large(extra, length, stored, offset)
        if disk and not (is_large and disk == 0xFFFF):
            raise _bad_entry(base + name_at - _ENTRY.size)
        name = bytes(directory[name_at:extra_at])
        yield Record(name, offset, stored, length, method, checksum, flags, attributes, needed)
    if at != len(directory):
        raise _bad_entry(base + at)


def _bad_entry(at: int) -> DamagedError:
    return DamagedError("structure", f"has a damaged directory, at byte {at:,}", offset=at)


def _large(extra: bytes, *values: int) -> Iterator[int]:
    """Take what does not fit in 32 bits from the zip64 extra field (4.5.3)."""
    at = 0
    kind, rest = 0, b""
    while kind != 1 and at + 4 <= len(extra):
        kind, size = struct.unpack_from("<2H", extra, at)
        at += 4 + size
        rest = extra[at - size : at] if kind == 1 else b""
    for value in values:
        if value == 0xFFFFFFFF and len(rest) >= 8:
            yield int.from_bytes(rest[:8], "little")
            rest = rest[8:]
        else:
            yield value
