"""Reads one header of a tar archive, and what the extended headers before it tell of a member.

Numbers and names are taken as Python's tarfile takes them, since webdataset reads with that: POSIX
ustar and pax (IEEE Std 1003.1, pax), GNU long names, base-256 numbers.
"""

from __future__ import annotations

import functools
from struct import Struct
from typing import NamedTuple
from zlib import adler32

BLOCK = 512
"""Bytes that everything in a tar is a multiple of."""

# name, mode-uid-gid, size, mtime, checksum, type, link name, magic and owners, prefix, padding
_HEADER = Struct("100s 24x 12s 12x 8s c 100x 88x 155s 12x")
MAGIC_AT = 257
"""Where `ustar` stands in a header, of GNU tar's too."""


class Header(NamedTuple):
    """What a walk needs of one header of 512 bytes."""

    name: bytes
    size: int
    """Of what follows, in bytes."""

    type: bytes


class Told(NamedTuple):
    """What the headers before a member's own have told about it."""

    name: bytes | None = None
    size: int | None = None
    sparse: bool = False
    any: bool = False
    """Whether there was such a header at all."""


NOTHING_TOLD = Told()


def read_header(block: bytes) -> Header | None:
    """Read a header, or None where there is none or its checksum says that it is damaged."""
    if len(block) < BLOCK:
        return None
    name, size, checksum, kind, prefix = _HEADER.unpack(block)
    expected = _expected(checksum)
    if expected is None:
        return None
    if adler32(block) & 0xFFFF != expected and not _signed_sum_holds(block, checksum):
        return None
    try:
        number = _number(size)
    except ValueError:
        return None
    if number < 0:
        return None
    name = name.partition(b"\0")[0]
    if prefix[0] and kind not in (b"L", b"K", b"S"):
        name = prefix.partition(b"\0")[0] + b"/" + name
    if kind == b"\0" and name.endswith(b"/"):
        kind = b"5"  # how tar said "folder" before POSIX
    return Header(name, number, kind)


@functools.lru_cache(maxsize=1 << 14)
def _expected(checksum: bytes) -> int | None:
    """Work out the low half of adler32 of a sound header with this checksum field.

    That half is 1 plus the sum of all bytes, modulo 65,521: the header's own checksum, in C. The
    header's sum counts its checksum field as eight spaces.
    """
    try:
        stated = _number(checksum)
    except ValueError:
        return None
    return (1 + stated - 8 * 0x20 + sum(checksum)) % 65521


def _signed_sum_holds(block: bytes, checksum: bytes) -> bool:
    """Whether the checksum was made with signed bytes, as old tars of Sun and NeXT did."""
    rest = block[:148] + block[156:]
    return _number(checksum) == 8 * 0x20 + sum(rest) - 256 * sum(byte > 0x7F for byte in rest)


def _number(field: bytes) -> int:
    """Read a number field: octal text, or base-256 behind a first byte of 0x80 or 0xff.

    Raises:
        ValueError: it is neither.
    """
    if field[0] in (0x80, 0xFF):
        number = int.from_bytes(field[1:], "big")
        return number if field[0] == 0x80 else number - (1 << 8 * (len(field) - 1))
    return int(field.partition(b"\0")[0].decode("ascii").strip() or "0", 8)


def padded(size: int) -> int:
    """Round a size up to whole blocks."""
    return (size + BLOCK - 1) // BLOCK * BLOCK


def told_by(told: Told, header: Header, body: bytes) -> Told:
    """Add what an extended header tells; what stands first holds, as with tarfile."""
    if header.type == b"L":
        name: bytes | None = body.partition(b"\0")[0]
        return told._replace(name=name if told.name is None else told.name, any=True)
    if header.type in (b"K", b"g"):  # where a link leads, or what is said of all members
        return told._replace(any=True)
    records = _pax_records(body)
    size = records.get(b"size", b"")
    name = records.get(b"GNU.sparse.name", records.get(b"path"))
    return Told(
        name=name if told.name is None else told.name,
        size=int(size) if told.size is None and size.isdigit() and len(size) < 20 else told.size,
        sparse=told.sparse or any(key.startswith(b"GNU.sparse.") for key in records),
        any=True,
    )


def _pax_records(body: bytes) -> dict[bytes, bytes]:
    """Read the records `<length> <key>=<value>`, a line each, up to the first that is none."""
    records = {}
    at = 0
    while at < len(body):
        digits = body[at : at + 12].partition(b" ")[0]
        length = int(digits) if digits.isdigit() else 0
        if length <= len(digits) + 1:
            break
        key, _, value = body[at + len(digits) + 1 : at + length - 1].partition(b"=")
        records[key] = value
        at += length
    return records
