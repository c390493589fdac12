"""Reads one header of a tar archive, and what the extended headers before it tell of a member.

Numbers and names are taken as Python's tarfile takes them, since webdataset reads with that: POSIX
ustar and pax (IEEE Std 1003.1, pax), GNU long names, base-256 numbers.
"""

from __future__ import annotations

import functools
from struct import Struct
from typing import NamedTuple

BLOCK = 512
"""Bytes that everything in a tar is a multiple of."""

MAGIC, MAGIC_AT = b"ustar", 257
"""What stands in a header, of GNU tar's too, and where."""

HUGE = 1 << 88
"""Stands for a size of more digits than any file has bytes."""

# name; mode, uid, gid; size; mtime; checksum; type; link name, magic, owners; device; prefix
_FIELDS = Struct("100s 24s 12s 12s 8s c 172x 16s 155s 12x").unpack

usual_fields = Struct("100s 24s 11s 13s 8s 356s").unpack_from
"""The same, but of the size its eleven digits, the byte behind them with the time, and all that
stands behind the checksum in one: for a walk in a hurry."""

COUNTED = 148
"""Bytes before the checksum: few enough for adler32 to be their sum and 1, without a remainder."""

# Ends a record of a pax header.
_LINE_FEED = 0x0A

WRONG_CHECKSUM = "has a wrong checksum"

# The checksum counts its own field as eight spaces.
_SPACES = 8 * 0x20

_OCTAL = b"01234567"
_ENDS_NUMBER = b"\0 "

# No eight bytes hold a number as low as this.
_NEVER = -1 << 62

# Counted from behind the checksum.
_DEVICE = slice(173, 189)
_PREFIX = 189

LONGEST_NAME = 4096
"""Bytes of a name that are held; Linux takes no more, and macOS fewer."""

# Begins what stands in a shortened name for the rest of it.
_LEFT_OUT = "\N{HORIZONTAL ELLIPSIS}("

# Bytes of each half of a long name that are kept.
_KEPT = 64

_PAX_LENGTH = 20
"""Digits of a record's length: as many as tarfile reads since Python 3.12.6."""


class Header(NamedTuple):
    """What a walk needs of one header of 512 bytes."""

    name: bytes
    size: int
    """Of what follows, in bytes; below zero where the header says so."""

    type: bytes


class ToldBefore(NamedTuple):
    """What the headers before a member's own have told about it."""

    name: bytes | None = None
    size: int | None = None
    sparse: bool = False
    headers: int = 0
    """How many such headers there were."""

    more: bool = False
    """Whether anything but names is told."""


NOTHING_TOLD = ToldBefore()


def read_header(block: bytes) -> Header | str:
    """Read a header; where readers refuse it, say what is wrong, as a predicate of the header."""
    if len(block) < BLOCK:
        return "is cut short"
    name, ids, size, mtime, checksum, kind, device, prefix = _FIELDS(block)
    unsigned = _SPACES + sum(block) - sum(checksum)
    if unsigned != number_in(checksum) and not _signed_sum_holds(block, checksum):
        return WRONG_CHECKSUM
    number = number_in(size)
    if number is None:
        return "has a size that is no number"
    if number_in(mtime) is None or not _are_numbers(ids + device):
        return "has an owner, a mode or a time that is no number"
    name = name.partition(b"\0")[0]
    if prefix[0] and kind not in (b"L", b"K", b"S"):
        name = prefix.partition(b"\0")[0] + b"/" + name
    if kind == b"\0" and name.endswith(b"/"):
        kind = b"5"  # how tar said "folder" before POSIX
    return Header(name, number, kind)


@functools.lru_cache(maxsize=1 << 14)
def _are_numbers(fields: bytes) -> bool:
    """Whether mode, owners and device are: tarfile refuses a header where one is not."""
    return all(number_in(fields[begin : begin + 8]) is not None for begin in range(0, 40, 8))


class Usual:
    """What the headers of one type have in common, so that it is looked at only where it changes.

    The headers of an archive differ in their names, sizes and times, and in little else.
    """

    def __init__(self, type_: bytes) -> None:
        self.adds = _NEVER
        """What there is to add to adler32 of a header's first bytes, to give its checksum; too
        little for any checksum where it is no usual header of this type."""

        self.ids = b""
        self.mtime = b""
        """The last time that was a number, and the byte before it."""

        self.rest = b""
        """What stands behind the checksum: the type, the link's name, the owners, the prefix."""

        self._type = type_

    def learn(self, ids: bytes, rest: bytes) -> None:
        """Look at a header that is not like the one before it."""
        plain = rest[:1] == self._type and not rest[_PREFIX] and _are_numbers(ids + rest[_DEVICE])
        self.adds = _SPACES - 1 + sum(rest) if plain else _NEVER
        self.ids, self.rest = ids, rest

    def learn_time(self, mtime: bytes) -> None:
        """Look at a time, with the byte before it, that is not as in the header before it.

        Raises:
            ValueError: it is no octal number, or the size before it goes on.
        """
        # Nearly all are eleven digits and a NUL: to read the number would take thrice the time.
        if mtime[0] or mtime.translate(None, _OCTAL) != b"\0\0":
            if mtime[0] not in _ENDS_NUMBER:
                raise ValueError
            int(mtime[1:].rstrip(b"\0"), 8)
        self.mtime = mtime


def _signed_sum_holds(block: bytes, checksum: bytes) -> bool:
    """Whether the checksum was made with signed bytes, as old tars of Sun and NeXT did."""
    rest = memoryview(block[:148] + block[156:])
    return number_in(checksum) == _SPACES + sum(rest.cast("b"))


@functools.lru_cache(maxsize=1 << 14)  # headers of one archive have much in common
def number_in(field: bytes) -> int | None:
    """Read a number: octal text, or base-256 behind a first byte of 0x80 or 0xff; None if none."""
    if field[0] in (0x80, 0xFF):
        number = int.from_bytes(field[1:], "big")
        return number if field[0] == 0x80 else number - (1 << 8 * (len(field) - 1))
    try:
        return int(field.partition(b"\0")[0].decode("ascii").strip() or "0", 8)
    except ValueError:
        return None


def padded(size: int) -> int:
    """Round a size up to whole blocks."""
    return (size + BLOCK - 1) & -BLOCK


def told_by(told: ToldBefore, header: Header, body: bytes) -> ToldBefore | str:
    """Add what an extended header tells; what stands first holds, as with tarfile.

    Gives a text where readers refuse the header, as a predicate of it.
    """
    headers = told.headers + 1
    if header.type == b"L":
        name: bytes | None = shortened(body.partition(b"\0")[0])
        return told._replace(name=name if told.name is None else told.name, headers=headers)
    if header.type == b"K":  # where a link leads
        return told._replace(headers=headers)
    records = _pax_records(body, of=header.size)
    if records is None:
        return "holds a pax record that cannot be read"
    if header.type == b"g":  # what is said of all members: a commit, mostly
        return told._replace(headers=headers)
    name = records.get(b"GNU.sparse.name", records.get(b"path"))
    if name is not None:
        name = shortened(name.rstrip(b"/"))
    size = records.get(b"size")
    sparse = told.sparse or any(key.startswith(b"GNU.sparse.") for key in records)
    return ToldBefore(
        name=name if told.name is None else told.name,
        size=_decimal(size) if told.size is None and size is not None else told.size,
        sparse=sparse,
        headers=headers,
        more=told.more or sparse or size is not None,
    )


def only_path(body: bytes, size: int) -> bytes | None:
    """Give the path that a pax header tells, where it tells nothing else; None where it may."""
    begin = b"%d path=" % size
    if size > LONGEST_NAME or len(body) != size or not body.startswith(begin):
        return None
    return body[len(begin) : -1].rstrip(b"/") if body[-1] == _LINE_FEED else None


def shortened(name: bytes) -> bytes:
    """Give a name that can be held thousands of times; names that are alike in a half stay so.

    The halves are those that webdataset makes of it, before the first dot of the base name and
    behind it.
    """
    if len(name) <= LONGEST_NAME:
        return name
    dot = name.find(b".", name.rfind(b"/") + 1)
    if dot < 0:
        return _short(name)
    return _short(name[:dot]) + b"." + _short(name[dot + 1 :])


def is_shortened(name: str) -> bool:
    """Whether `shortened` has made it."""
    return _LEFT_OUT in name and "bytes, " in name


def _short(half: bytes) -> bytes:
    if len(half) <= LONGEST_NAME // 4:
        return half
    from hashlib import blake2b  # hardly any archive has such names

    begin = half[:_KEPT].replace(b"/", b"_").replace(b".", b"_").decode("utf-8", "ignore")
    digest = blake2b(half, digest_size=8).hexdigest()
    return f"{begin}{_LEFT_OUT}{len(half):,} bytes, {digest})".encode()


def _decimal(value: bytes) -> int:
    """Read the size that a pax record states; tarfile takes what is no number for 0."""
    if value.isdigit() and len(value) > 24:
        return HUGE
    try:
        return int(value)
    except ValueError:
        return 0


def _pax_records(body: bytes, *, of: int) -> dict[bytes, bytes] | None:
    """Read the records `<length> <key>=<value>`, a line each; None where one is not so.

    tarfile has compared all of that since Python 3.12.6 (and 3.11.10); before, it refused a length
    of 0, and guessed at the rest. Where fewer bytes follow than should (`of`), a record that goes
    on behind them is passed over.
    """
    records: dict[bytes, bytes] = {}
    at, end = 0, len(body)
    while at < end and body[at]:
        space = body.find(b" ", at, at + _PAX_LENGTH + 1)
        digits = body[at:space] if space > 0 else b""
        if not digits.isdigit():
            return None if end >= of or end - at > _PAX_LENGTH else records
        behind = at + int(digits)
        if behind < space + 4:  # the shortest is `5 a=` and a line feed
            return None
        if behind > end and end < of and behind <= of:
            return records
        key, equals, value = body[space + 1 : behind - 1].partition(b"=")
        if behind > end or not (key and equals) or body[behind - 1] != _LINE_FEED:
            return None
        records[key] = value
        at = behind
    return records
