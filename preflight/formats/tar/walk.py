"""Walks over a tar archive from header to header: its members, and where readers would stop.

The way is that of Python's tarfile, since webdataset reads with that; nothing a header says is
believed without being compared with the size of the file.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import NamedTuple, TypeAlias
from zlib import adler32

from preflight.formats.bytes.flaw import Flaw
from preflight.formats.bytes.window import Window
from preflight.formats.tar.end import (
    NextData,
    Read,
    TarBytes,
    at_no_header,
    cut_in,
    cut_in_header,
    next_header,
    refused,
)
from preflight.formats.tar.header import (
    BLOCK,
    COUNTED,
    NOTHING_TOLD,
    Header,
    ToldBefore,
    Usual,
    number_in,
    only_path,
    padded,
    read_header,
    told_by,
    usual_fields,
)
from preflight.values.byte_sizes import format_size
from preflight.values.names import text_of

# Small members and the header behind them come with one read of this many bytes.
_WINDOW = 4096

# Names are bounded by PATH_MAX, and attributes by 64 kB each; nothing behind this is a name.
_LONGEST_BODY = 1 << 20

# tarfile holds all of an extended header in memory, and no writer makes one of this size.
_MOST_BODY = 64 << 20

# Four stand before a member at most: tarfile reads them by recursion, and gives up at some 300.
_MOST_HEADERS = 64

# Blocks of 21 entries of an old sparse map, which tarfile reads to its end wherever that is.
_LONGEST_MAP = 1 << 16

_FILE = ord("0")
_EXTENDED = frozenset({b"x", b"X", b"L", b"K", b"g"})
_KINDS = {b"0": "file", b"\0": "file", b"7": "file", b"S": "sparse", b"1": "link", b"2": "link"}
_KINDS |= {b"5": "folder", b"3": "device", b"4": "device", b"6": "device"}
BODILESS = frozenset({"link", "folder", "device"})
"""Kinds that have no content, whatever their size field says (tarfile.SUPPORTED_TYPES)."""

Found: TypeAlias = tuple[str, int, int, str]
"""A member as a plain tuple, of what `Member` names: to name it takes a tenth of the whole walk."""


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


def walk(read: Read, size: int | None) -> Iterator[Member | Flaw]:
    """Give the members in the order of the archive, and last, where there is one, the flaw.

    A member that the end of the file cuts is not given; it is named in the flaw. Without a `size`
    only reading on can tell where the archive ends.
    """
    flaws: list[Flaw] = []
    for found in hop(read, size, 0, flaws):
        yield Member(*found)
    yield from flaws


def hop(  # noqa: C901, PLR0912, PLR0915  one loop, for speed
    read: Read,
    size: int | None,
    start: int,
    flaws: list[Flaw],
    *,
    next_data: NextData | None = None,
    near: Window | None = None,
) -> Iterator[Found]:
    """Do what `walk` does, for whoever is in a hurry: the flaw, if there is one, is put aside.

    `near` is what is at hand of the archive, where somebody looks into its members too.
    """
    archive = TarBytes(read, size, next_data)
    limit = -1 if size is None else size
    near = near or nearby(read, size)
    offset, told = start, NOTHING_TOLD
    last: Found | None = None
    files, paths = Usual(b"0"), Usual(b"x")
    path: bytes | None = None
    while True:
        held, begin = near.held, offset - near.begins
        if begin < 0 or begin + BLOCK > len(held):
            held, begin = near.come_to(offset), 0
            if len(held) < BLOCK:
                break
        # Most headers are those of plain files, or tell a long name. What `_step` does is done here
        # for them: calls alone would take as long as all the rest.
        name, ids, digits, mtime, checksum, rest = usual_fields(held, begin)
        usual = files
        if rest != files.rest or ids != files.ids:
            if rest[0] != _FILE:
                usual = paths
            if rest != usual.rest or ids != usual.ids:
                usual.learn(ids, rest)
        try:
            if mtime != usual.mtime:
                usual.learn_time(mtime)
            counted = adler32(held[begin : begin + COUNTED]) & 0xFFFF
            content = int(digits, 8) if counted + usual.adds == number_in(checksum) else -1
        except ValueError:
            content = -1
        data = offset + BLOCK
        end = data + (content + 511 & -512)
        if content >= 0 and end <= limit:
            if usual is files and (told is NOTHING_TOLD or not told.more):
                if path is not None:
                    name, path = path, None
                elif told is NOTHING_TOLD or told.name is None:
                    name = name.partition(b"\0")[0]
                else:
                    name = told.name
                try:
                    text = name.decode()
                except UnicodeDecodeError:
                    text = text_of(name)
                last = (text, data, content, "file")
                yield last
                offset, told = end, NOTHING_TOLD
                continue
            if usual is paths and path is None and told is NOTHING_TOLD:
                path = only_path(held[begin + BLOCK : begin + BLOCK + content], content)
                if path is not None:
                    offset = end
                    if near.ahead == _WINDOW:
                        near.ahead = 2 * _WINDOW
                    continue
        if path is not None:
            told, path = ToldBefore(name=path, headers=1), None
        step = _step(archive, held[begin : begin + _WINDOW], offset, told, last)
        if step.gives is not None:
            last = step.gives
            yield last
        if step.flaw is not None:
            flaws.append(step.flaw)
        if step.ends:
            return
        offset, told = step.offset, step.told
    if path is not None:
        told = ToldBefore(name=path, headers=1)
    cut = _step(archive, held, offset, told, last).flaw
    if cut is not None:
        flaws.append(cut)


def nearby(read: Read, size: int | None) -> Window:
    """Give what holds the stretch of an archive that was read last."""
    return Window(read, sys.maxsize if size is None else size, ahead=_WINDOW)


def behind(
    read: Read, size: int | None, offset: int, *, next_data: NextData | None = None
) -> Iterator[Member]:
    """Give the members that still stand in the archive behind a damaged header."""
    archive = TarBytes(read, size, next_data)
    while (found := next_header(archive, offset + BLOCK)) is not None:
        flaws: list[Flaw] = []
        for one in hop(read, size, found, flaws, next_data=next_data):
            yield Member(*one)
        if not flaws or flaws[0].offset is None:
            return
        offset = max(found, flaws[0].offset)


class _Step(NamedTuple):
    """What a header that is not that of a plain file leads to."""

    gives: Member | None = None
    offset: int = 0
    """Where the next header stands."""

    told: ToldBefore = NOTHING_TOLD
    flaw: Flaw | None = None
    ends: bool = True
    """Whether the archive ends here."""


def _step(
    archive: TarBytes, read: bytes, offset: int, told: ToldBefore, last: Found | None
) -> _Step:
    """Take a header of any type, or what stands in its place."""
    data, block = offset + BLOCK, read[:BLOCK]
    header = read_header(block)
    if isinstance(header, str):
        named = last and last[:3]
        inside = told.headers > 0
        return _Step(flaw=at_no_header(archive, block, offset, header, named, inside=inside))
    if header.type in _EXTENDED:
        return _extended(archive, header, read[BLOCK:], offset, told)
    if header.type == b"S":
        blocks = _sparse_map(archive.read, block, data)
        if blocks > _LONGEST_MAP:
            quiet = offset > 0 and not told.headers
            return _Step(flaw=refused("has a map of holes without end", block, offset, quiet=quiet))
        data += blocks * BLOCK
    member = _member(header, told, data)
    if member.size < 0 and member.kind not in BODILESS:
        return _Step(flaw=refused(f"has a size of {member.size:,} bytes", block, offset))
    end = data if member.kind in BODILESS else data + padded(member.size)
    if archive.holds(data, end):
        return _Step(member, end, ends=False)
    whole = not archive.is_past(data + member.size)
    cut = cut_in(archive, member.name, member.offset, member.size, offset)
    return _Step(member if whole else None, flaw=cut)


def _extended(
    archive: TarBytes, header: Header, read: bytes, offset: int, told: ToldBefore
) -> _Step:
    quiet = offset > 0 and not told.headers
    of = "an extended header"
    if header.size < 0:
        what = f"has a size of {header.size:,} bytes"
        return _Step(flaw=refused(what, b"", offset, of=of))
    end = offset + BLOCK + padded(header.size)
    if archive.is_past(end):
        return _Step(flaw=cut_in_header(offset, quiet=quiet))
    if header.size > _MOST_BODY:
        what = f"is {format_size(header.size)} long, all of which tarfile takes into memory"
        return _Step(flaw=refused(what, b"", offset, quiet=quiet, of=of))
    if told.headers >= _MOST_HEADERS:
        what = f"stands behind {told.headers} others, and tarfile gives up at some 300"
        return _Step(flaw=refused(what, b"", offset, of=of))
    size = min(header.size, _LONGEST_BODY)
    body = read[:size] if size <= len(read) else archive.read(offset + BLOCK, size)
    more = told_by(told, header, body)
    if isinstance(more, str):
        return _Step(flaw=refused(more, b"", offset, quiet=quiet, of=of))
    return _Step(offset=end, told=more, ends=False)


def _sparse_map(read: Read, block: bytes, at: int) -> int:
    """Count the further blocks of an old GNU sparse map."""
    extended, blocks = block[482:483], 0
    while extended not in (b"", b"\0") and blocks <= _LONGEST_MAP:
        extended = read(at + blocks * BLOCK, BLOCK)[504:505]
        blocks += 1
    return blocks


def _member(header: Header, told: ToldBefore, data: int) -> Member:
    name = header.name if told.name is None else told.name
    kind = _KINDS.get(header.type, "other")
    if kind == "folder" or told.name is not None:
        name = name.rstrip(b"/")
    size = header.size if told.size is None else told.size
    if told.sparse and kind == "file":
        kind = "sparse"
    return Member(text_of(name), data, size, kind)
