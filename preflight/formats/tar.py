"""Walks over a tar archive from header to header: its members, and where readers would stop.

The way is that of Python's tarfile, since webdataset reads with that; nothing a header says is
believed without being compared with the size of the file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeAlias

from preflight.formats.flaw import Flaw
from preflight.formats.magic import HEAD, what_is, with_article
from preflight.formats.tar_header import (
    BLOCK,
    MAGIC_AT,
    NOTHING_TOLD,
    Header,
    Told,
    padded,
    read_header,
    told_by,
)
from preflight.names import shown, text_of
from preflight.sizes import format_size

Read: TypeAlias = Callable[[int, int], bytes]
"""`read(offset, size)`: that many bytes from there, fewer only where the file ends."""

LONGEST_PADDING = 64 * 1024
"""Bytes of zeros that a writer may leave at the end: 10,240 by default, more with `tar -b`."""

# Small members and the header behind them come with one read of this many bytes.
_WINDOW = 4096

# Names are bounded by PATH_MAX, and attributes by 64 kB each; nothing behind this is a name.
_LONGEST_BODY = 1 << 20

_EXTENDED = frozenset({b"x", b"X", b"L", b"K", b"g"})
_KINDS = {b"0": "file", b"\0": "file", b"7": "file", b"S": "sparse", b"1": "link", b"2": "link"}
_KINDS |= {b"5": "folder", b"3": "device", b"4": "device", b"6": "device"}
# Types that have no content, whatever their size field says (tarfile.SUPPORTED_TYPES).
_BODILESS = frozenset({"link", "folder", "device"})


class Member(NamedTuple):
    """A member. A named tuple: there are millions, and a frozen dataclass takes thrice the time."""

    name: str
    """As tarfile gives it; bytes that are no UTF-8 are lone surrogates."""

    offset: int
    """Where its content begins, in bytes."""

    size: int
    """Of its content as it lies in the archive, in bytes."""

    kind: str
    """`file`, `sparse`, `link`, `folder`, `device`, `other`."""


class _Window:
    """Keeps the last few kilobytes that were read, so that neighbours cost no further read."""

    __slots__ = ("_at", "_bytes", "_read")

    def __init__(self, read: Read) -> None:
        self._read = read
        self._at = 0
        self._bytes = b""

    def at(self, offset: int, size: int) -> bytes:
        begin = offset - self._at
        if begin < 0 or begin + size > len(self._bytes):
            self._bytes = self._read(offset, max(size, _WINDOW))
            self._at = offset
            begin = 0
        return self._bytes[begin : begin + size]


def walk(read: Read, size: int | None, start: int = 0) -> Iterator[Member | Flaw]:
    """Give the members in the order of the archive, and last, where there is one, the flaw.

    A member that the end of the file cuts is not given; it is named in the flaw.

    Args:
        read: gives the archive's bytes.
        size: of the archive in bytes; None where only reading on can tell.
        start: where the first header stands.
    """
    window = _Window(read)
    offset = start
    told = NOTHING_TOLD
    last: Member | None = None
    while True:
        block = window.at(offset, BLOCK)
        header = read_header(block)
        if header is None:
            flaw = _at_no_header(read, block, offset, told, last)
            if flaw is not None:
                yield flaw
            return
        data = offset + BLOCK
        end = data + padded(header.size)
        if header.type in _EXTENDED:
            if _is_past(end, read, size):
                yield _cut_in_header(offset, told)
                return
            told = told_by(told, header, window.at(data, min(header.size, _LONGEST_BODY)))
            offset = end
            continue

        if header.type == b"S":
            data += _sparse_map(window, block, data)
        last = _member(header, told, data)
        end = data if last.kind in _BODILESS else data + padded(last.size)
        if _is_past(end, read, size):
            if not _is_past(data + last.size, read, size):
                yield last
            yield _cut_in(last, offset, read, size)
            return
        yield last
        offset, told = end, NOTHING_TOLD


def behind(read: Read, size: int | None, offset: int) -> Iterator[Member]:
    """Give the members that still stand in the archive behind a damaged header."""
    found: int | None = offset
    while found is not None:
        found = _next_header(read, found + BLOCK)
        if found is None:
            return
        flaw: Flaw | None = None
        for one in walk(read, size, found):
            if isinstance(one, Flaw):
                flaw = one
            else:
                yield one
        if flaw is None or flaw.offset is None:
            return
        found = max(found, flaw.offset)


def named_in(block: bytes) -> str | None:
    """Read the name in a header whose checksum is wrong: a guess, None where it is none."""
    name = block[:100].partition(b"\0")[0]
    return text_of(name) if name and name.isascii() and text_of(name).isprintable() else None


def _is_past(end: int, read: Read, size: int | None) -> bool:
    """Whether the archive ends before this place."""
    return end > size if size is not None else not read(end - 1, 1)


def _sparse_map(window: _Window, block: bytes, at: int) -> int:
    """Measure the further blocks of an old GNU sparse map, in bytes."""
    extended, begin = block[482:483], at
    while extended not in (b"", b"\0"):
        extended = window.at(at, BLOCK)[504:505]
        at += BLOCK
    return at - begin


def _member(header: Header, told: Told, data: int) -> Member:
    name = header.name if told.name is None else told.name
    kind = _KINDS.get(header.type, "other")
    if kind == "folder" or told.name is not None:
        name = name.rstrip(b"/")
    size = header.size if told.size is None else told.size
    if told.sparse and kind == "file":
        kind = "sparse"
    return Member(text_of(name), data, size, kind)


def _at_no_header(
    read: Read, block: bytes, offset: int, told: Told, last: Member | None
) -> Flaw | None:
    """Say what it means that no sound header stands here; None where the archive just ends."""
    quiet = offset > 0 and not told.any
    if offset == 0 and (len(block) < BLOCK or (_magic(block) != b"ustar" and any(block))):
        return _foreign(read(0, HEAD))
    if block and not any(block):
        return _at_zeros(read, offset, last, quiet=quiet)
    if not block and quiet:
        text = f"ends at {offset:,} bytes, between two members, without an end marker"
        return Flaw(kind="no-end-marker", text=text, offset=offset, quiet=True)
    if len(block) < BLOCK:
        return _cut_in_header(offset, told, have=len(block))
    name = named_in(block)
    of = f" of what looks like {shown(name)}" if name else ""
    text = f"has a damaged header at {offset:,} bytes{of}: its checksum is wrong"
    return Flaw(kind="checksum", text=text, offset=offset, member=name, quiet=quiet)


def _magic(block: bytes) -> bytes:
    return block[MAGIC_AT : MAGIC_AT + 5]


def _foreign(head: bytes) -> Flaw:
    if not head:
        return Flaw(kind="empty", text="is empty (0 bytes)", offset=0)
    name = what_is(head)
    if name is None:
        begins = head[:8].hex(" ")
        return Flaw(kind="foreign", text=f"is no tar archive: it begins with {begins}", offset=0)
    return Flaw(kind="foreign", text=f"is {with_article(name)}, and no tar archive", offset=0)


def _at_zeros(read: Read, offset: int, last: Member | None, *, quiet: bool) -> Flaw | None:
    """Tell an end marker with its padding from zeros that stand where something else should be."""
    hollow = last is not None and _ends_in_zeros(read, last)
    rest, end = _after_zeros(read, offset)
    if rest is None:
        zeros = end - offset
        if zeros <= LONGEST_PADDING:
            return None
        if offset == 0:
            text = f"holds nothing but {format_size(zeros)} of zeros"
            return Flaw(kind="foreign", text=text, offset=0)
        if last is not None and hollow:
            text = (
                f"is zeros from inside {shown(last.name)} to its end, {format_size(zeros)} and more"
            )
            return Flaw(kind="cut", text=text, offset=offset, member=last.name, quiet=quiet)
        return None

    zeros = rest // BLOCK * BLOCK - offset
    follows = _next_header(read, rest // BLOCK * BLOCK)
    if zeros >= 2 * BLOCK and follows == rest // BLOCK * BLOCK:
        text = f"goes on behind its end marker, at {follows:,} bytes, with a second archive"
        return Flaw(kind="trailing", text=text, offset=offset, quiet=quiet)
    if follows is None:
        text = f"has bytes behind its end marker, from {rest:,} on, that are no archive"
        return Flaw(kind="trailing", text=text, offset=offset, quiet=quiet)
    text = f"has {zeros or BLOCK:,} zero bytes at {offset:,}, where a header should be"
    return Flaw(kind="zero-block", text=text, offset=offset, quiet=quiet)


def _after_zeros(read: Read, offset: int) -> tuple[int | None, int]:
    """Find the first byte that is not zero, and how far was read; None where there is none."""
    for begin, chunk in _chunks(read, offset):
        if chunk.count(0) != len(chunk):
            return begin + len(chunk) - len(chunk.lstrip(b"\0")), begin
        offset = begin + len(chunk)
    return None, offset


def _chunks(read: Read, offset: int) -> Iterator[tuple[int, bytes]]:
    """Read on in whole blocks: little at first, since what is looked for is mostly near."""
    size = _WINDOW
    while chunk := read(offset, size):
        yield offset, chunk
        offset += len(chunk)
        size = min(2 * size, 1 << 20)


def _next_header(read: Read, offset: int) -> int | None:
    """Find the next header, by its magic and checksum, at a distance of whole blocks."""
    for begin, chunk in _chunks(read, offset):
        at = chunk.find(b"ustar")
        while at >= 0:
            block = at - MAGIC_AT
            if block % BLOCK == 0 and read_header(chunk[block : block + BLOCK]) is not None:
                return begin + block
            at = chunk.find(b"ustar", at + 1)
    return None


def _ends_in_zeros(read: Read, member: Member) -> bool:
    tail = read(member.offset + max(0, member.size - BLOCK), min(BLOCK, member.size))
    return len(tail) == BLOCK and not any(tail)


def _cut_in_header(offset: int, told: Told, have: int | None = None) -> Flaw:
    there = f", after {have:,} of its {BLOCK} bytes" if have else ""
    text = f"ends inside the header at {offset:,} bytes{there}"
    return Flaw(kind="cut", text=text, offset=offset, quiet=offset > 0 and not told.any)


def _cut_in(member: Member, offset: int, read: Read, size: int | None) -> Flaw:
    name = shown(member.name)
    if not _is_past(member.offset + member.size, read, size):
        text = f"ends in the padding behind {name}"
    elif size is None:
        text = f"ends inside {name}, which should have {member.size:,} bytes"
    else:
        have = max(0, size - member.offset)
        text = f"ends inside {name}, after {have:,} of its {member.size:,} bytes"
    return Flaw(kind="cut", text=text, offset=offset, member=member.name)
