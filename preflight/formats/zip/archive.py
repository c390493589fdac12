"""Zip archives (`.pt` since PyTorch 1.6, `.npz`): records and their checksums, in flat memory.

Where they lie says directory.py; sections are those of PKWARE's APPNOTE.TXT 6.3.10.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from types import SimpleNamespace
from typing import Any, NamedTuple, TypeAlias

from preflight.formats.bytes import causes
from preflight.formats.bytes.blocks import (
    LEAST_EXPECTED,
    Block,
    Read,
    blocks,
    checksum,
    exactly,
    expecting,
    reads_every,
)
from preflight.formats.bytes.crc import crc32
from preflight.formats.bytes.damaged import DamagedError
from preflight.formats.packing.inflated import LARGEST_RATIO, Inflated, OutOfRoomError, Room
from preflight.formats.packing.packed import unpacking_errors
from preflight.formats.zip.directory import Record, ZipDirectory
from preflight.formats.zip.local_header import STORED, begin_of, likely_stretches, name_in
from preflight.values.byte_sizes import format_size
from preflight.values.names import counted

DEFLATED = 8

MOST_KEPT = 1 << 25
"""Bytes of all records that are kept together."""

# Bytes that zipfile is asked for at a time; as many packed ones it unpacks at once.
_LITTLE = 4096


Visit: TypeAlias = Callable[[Record, Read], bool]
"""Takes a record, and what reads its bytes. Says whether it has seen all that it wanted to see."""


class ReadRecords(NamedTuple):
    """What was read of all records."""

    kept: dict[bytes, bytes]
    """The bytes of the records that were asked for."""

    verified: bool
    """Whether every record has a checksum, and agrees with it."""

    unread: tuple[Record, ...] = ()
    """Those that were not read to their end, since there is too much of them, or were packed in an
    unknown way."""


# Records with wrong bytes that are looked at for a cause: the first of them, and the last.
_MOST_WRONG = 1_000


_Wrong: TypeAlias = tuple[Record, int, int]
"""A record whose bytes do not agree with its checksum, where they begin, and their checksum."""


def read_records(
    read: Read,
    archive: ZipDirectory,
    keep: Callable[[Record], bool],
    visit: Visit | None = None,
    *,
    may_lack: bool = True,
) -> ReadRecords:
    """Read every record once and compare it with its checksum.

    What `keep` asks for is left out where it, and what was kept before, is more than MOST_KEPT.
    `visit` is shown each record whose bytes are not known to be wrong, unpacked. With `may_lack` a
    checksum of zero stands for none: torch writes such under `set_crc32_options(False)`, and they
    say nothing of the bytes.

    Raises:
        DamagedError: `structure` or `checksum`.
    """
    long = [one for one in archive.records if one.method == STORED and one.stored >= LEAST_EXPECTED]
    stretches = partial(likely_stretches, records=long)
    kept: dict[bytes, bytes] = {}
    wrong: list[_Wrong] = []
    count = 0
    verified = True
    to_keep = MOST_KEPT
    unread: list[Record] = []
    room = Room(sum(one.stored for one in archive.records if one.method == DEFLATED))
    end = 0
    with expecting(read, stretches, sum(one.stored for one in long)):
        for record in archive.records:
            begin = begin_of(read, archive, record, end)
            end = begin + record.stored
            if record.method == DEFLATED and record.length > LARGEST_RATIO * record.stored:
                raise _unpacks_not(archive, record, begin)
            held = bytearray() if record.length <= to_keep and keep(record) else None
            found = _checksum(read, archive, record, begin, room, held)
            if record.method not in (STORED, DEFLATED) and reads_every(read):
                _compare_otherwise_packed(read, archive, record, begin, room)
            if held is not None and found is not None:
                kept[record.name] = bytes(held)
                to_keep -= len(held)
            if found != record.checksum:
                verified = False
                if found is not None and (record.checksum or not may_lack):
                    wrong[_MOST_WRONG:] = [(record, begin, found)]
                    count += 1
                    continue
            seen = visit is None or _is_seen(visit, record, _unpacked(read, record, begin, room))
            if not seen or (found is None and reads_every(read)):
                unread.append(record)
    if wrong:
        raise _wrong_bytes(read, archive, wrong, count)
    return ReadRecords(kept, verified, tuple(unread))


def _is_seen(visit: Visit, record: Record, read: Read) -> bool:
    """Show a record that is packed in a known way, and say whether all of it was seen."""
    try:
        return record.method not in (STORED, DEFLATED) or visit(record, read)
    except OutOfRoomError:
        return False


def told_unread(archive: ZipDirectory, unread: Sequence[Record]) -> str | None:
    """Name the first of the records that were not read to their end, with its sizes."""
    if not unread:
        return None
    record = unread[0]
    text = f"{name_in(archive, record)}, {format_size(record.length)}"
    if record.method != STORED:
        text += f" from {format_size(record.stored)}"
    if record.method not in (STORED, DEFLATED):
        text += f" packed by method {record.method}"
    more = len(unread) - 1
    return f"{text}, and {counted(more, 'record')} more" if more else text


def refuse_twins(archive: ZipDirectory) -> None:
    """Refuse a name that occurs twice in an archive whose readers differ in which they take.

    Of an .npz numpy takes the last, and `zipfile` in mode "a" writes such ones.
    """
    counts = Counter(one.name for one in archive.records)
    again = next((one for one in archive.records if counts[one.name] > 1), None)
    if again is not None:
        name = name_in(archive, again)
        text = f"holds {counts[again.name]:,} records by the name of {name}"
        raise DamagedError("structure", text, offset=again.offset, member=name)


def _checksum(
    read: Read,
    archive: ZipDirectory,
    record: Record,
    begin: int,
    room: Room,
    held: bytearray | None,
) -> int | None:
    """Work out the checksum of what a record holds.

    None: it is packed in an unknown way, or nobody wants so much of the file read.
    """
    if held is None and not reads_every(read):
        return None
    if record.method == STORED:
        if held is None:
            return checksum(read, begin, record.stored)
        held += exactly(read, begin, record.stored)
        return crc32(held)
    if record.method != DEFLATED or (held is None and not room.take(record.length)):
        return None
    found = length = 0
    unpacked = Inflated(read, begin, record.stored)
    for piece in blocks(unpacked, 0, record.length + 1):
        found, length = crc32(piece, found), length + len(piece)
        if held is not None:
            held += piece
    if length != record.length or not unpacked.ended:
        cause = causes.of_packed_bytes(read, begin, record.stored, record.length)
        raise _unpacks_not(archive, record, begin, cause)
    return found


def _compare_otherwise_packed(
    read: Read, archive: ZipDirectory, record: Record, begin: int, room: Room
) -> None:
    """Have zipfile compare a record that nobody looks into here, where there is room."""
    import zipfile

    info = zipfile.ZipInfo()
    info.compress_type, info.CRC = record.method, record.checksum
    info.compress_size, info.file_size = record.stored, record.length
    at = begin

    def take(size: int) -> bytes:
        nonlocal at
        piece = bytes(read(at, size))
        at += len(piece)
        return piece

    stretch: Any = SimpleNamespace(read=take)  # as much of an open file as zipfile asks of one
    try:
        unpacked = zipfile.ZipExtFile(stretch, "r", info)
    except (NotImplementedError, RuntimeError):  # zipfile does not know how, or Python was built so
        return
    left = record.length
    if not room.take(left):
        return
    try:
        while piece := unpacked.read(_LITTLE):
            left -= len(piece)
    except MemoryError:  # LZMA may ask for gigabytes
        return
    except zipfile.BadZipFile as error:
        raise _wrong_bytes(read, archive, [(record, begin, 0)], 1) from error
    except unpacking_errors() as error:
        raise _unpacks_not(archive, record, begin) from error
    if left:
        raise _unpacks_not(archive, record, begin)


def _unpacked(read: Read, record: Record, begin: int, room: Room) -> Read:
    """Give what reads the bytes of a record, forwards only."""
    if record.method != STORED:
        return Inflated(read, begin, record.stored, room)

    def stretch(offset: int, size: int) -> Block:
        return read(begin + offset, max(0, min(size, record.stored - offset)))

    return stretch


def _unpacks_not(
    archive: ZipDirectory, record: Record, begin: int, cause: str | None = None
) -> DamagedError:
    name = name_in(archive, record)
    text = f"has wrong bytes in {name} (it does not unpack to {counted(record.length, 'byte')})"
    text = f"{text}: {cause}" if cause is not None else text
    return DamagedError("checksum", text, offset=begin, member=name)


def _wrong_bytes(
    read: Read, archive: ZipDirectory, wrong: list[_Wrong], count: int
) -> DamagedError:
    record, begin, _ = wrong[0]
    name = name_in(archive, record)
    text = f"has wrong bytes in {name} (its CRC differs)"
    if count > 1:
        text = (
            f"has wrong bytes in {count:,} of its {len(archive.records):,} records, "
            f"first in {name} (their CRCs differ)"
        )
    stored = [one for one in wrong if one[0].method == STORED]
    if stored:
        differing = [(at, one.stored, found ^ one.checksum) for one, at, found in stored]
        cause = causes.of_wrong_bytes(read, differing)
    else:
        cause = causes.of_packed_bytes(read, begin, record.stored, record.length)
    text = f"{text}: {cause}" if cause is not None else text
    return DamagedError("checksum", text, offset=begin, member=name)
