"""Says what it means that no sound header stands where the next one should: an end, or a damage."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeAlias

from preflight.formats.bytes.flaw import Flaw
from preflight.formats.magic import HEAD, what_is, with_article
from preflight.formats.tar.header import BLOCK, MAGIC, MAGIC_AT, WRONG_CHECKSUM, Header, read_header
from preflight.values.byte_sizes import format_size
from preflight.values.names import shown, text_of

Read: TypeAlias = Callable[[int, int], bytes]
"""`read(offset, size)`: that many bytes from there, fewer only where the file ends."""

NextData: TypeAlias = Callable[[int], int | None]
"""`next_data(offset)`: where bytes stand on the disk again, from there on; None where none do."""

USUAL_RECORD = 10_240
"""Bytes that tar and tarfile write at once, unless they are told otherwise."""

USUAL_PADDING = USUAL_RECORD + 1024
"""Bytes of zeros that writers leave at the end, unless they are told to leave more."""

LONGEST_PADDING = 64 * 1024
"""Bytes of zeros that a writer may leave at the end: 10,240 by default, more with `tar -b`."""

HELD = 64 << 20
"""Bytes of a member that are held at once where an archive is read once, and forwards."""

_FEWEST_ZEROS = 64
"""Bytes of zeros, and nothing else, that are no content of a small file before a tail of zeros."""

_PIECE = 4096

_TYPE_AT, _DEVICE = 156, slice(329, 345)

_PAX_OF_TARFILE = b"././@PaxHeader\0"

_BESIDE = 8
"""Bytes before a page that has become zeros that may be zeros by themselves."""


class TarBytes(NamedTuple):
    """An archive's bytes, and what is known of where they end."""

    read: Read
    size: int | None
    """In bytes; None where only reading on can tell."""

    next_data: NextData | None = None

    def is_past(self, end: int) -> bool:
        """Whether the archive ends before this place."""
        return end > self.size if self.size is not None else not self.read(end - 1, 1)

    def holds(self, begin: int, end: int) -> bool:
        """Whether a stretch is there to its end; all of it can then still be read."""
        if self.size is not None or end - begin > HELD:
            return not self.is_past(end)
        return len(self.read(begin, end - begin)) == end - begin


Named: TypeAlias = tuple[str, int, int]
"""A member: its name, where its content begins, and how long that is."""


def at_no_header(
    archive: TarBytes, block: bytes, offset: int, why: str, last: Named | None, *, inside: bool
) -> Flaw | None:
    """Say what it means that no sound header stands here; None where the archive just ends.

    The block is shorter than a header where the archive ends; `why` is what `read_header` said of
    it. `inside`: an extended header before it has begun a member, so that readers raise.
    """
    quiet = offset > 0 and not inside
    if offset == 0 and (len(block) < BLOCK or (any(block) and block[MAGIC_AT:][:5] != MAGIC)):
        return _foreign(archive.read(0, HEAD))
    if block and not any(block):
        return _at_zeros(archive, offset, last, quiet=quiet)
    if not block and quiet:
        text = f"ends at {offset:,} bytes, between two members, without an end marker"
        return Flaw(kind="no-end-marker", text=text, offset=offset, quiet=True)
    if len(block) < BLOCK:
        return cut_in_header(offset, have=len(block), quiet=quiet)
    if why != WRONG_CHECKSUM:
        return refused(why, block, offset, quiet=quiet)
    name = named_in(block)
    of = f" of what looks like {shown(name)}" if name else ""
    text = f"has a damaged header at {offset:,} bytes{of}: its checksum is wrong"
    return Flaw(kind="checksum", text=text, offset=offset, member=name, quiet=quiet)


def refused(
    what: str, block: bytes, offset: int, *, quiet: bool = False, of: str = "a header"
) -> Flaw:
    """Say of a header whose checksum is right that readers refuse it, or should."""
    name = named_in(block)
    named = f" ({shown(name)})" if name else ""
    text = f"has {of} at {offset:,} bytes{named} that {what}"
    return Flaw(kind="header", text=text, offset=offset, member=name, quiet=quiet)


def cut_in_header(offset: int, *, quiet: bool, have: int | None = None) -> Flaw:
    """Say that the archive ends inside a header."""
    there = f", after {have:,} of its {BLOCK} bytes" if have else ""
    text = f"ends inside the header at {offset:,} bytes{there}"
    return Flaw(kind="cut", text=text, offset=offset, quiet=quiet)


def cut_in(archive: TarBytes, name: str, data: int, size: int, offset: int) -> Flaw:
    """Say that the archive ends inside a member, or in the padding behind it."""
    if not archive.is_past(data + size):
        text = f"ends in the padding behind {shown(name)}"
    elif archive.size is None:
        text = f"ends inside {shown(name)}, which should have {size:,} bytes"
    else:
        have = max(0, archive.size - data)
        text = f"ends inside {shown(name)}, after {have:,} of its {size:,} bytes"
    return Flaw(kind="cut", text=text, offset=offset, member=name)


def next_header(archive: TarBytes, offset: int) -> int | None:
    """Find the next header, by its magic and checksum, at a distance of whole blocks."""
    for begin, chunk in _chunks(archive, offset):
        at = chunk.find(MAGIC)
        while at >= 0:
            block = at - MAGIC_AT
            if block % BLOCK == 0 and isinstance(read_header(chunk[block : block + BLOCK]), Header):
                return begin + block
            at = chunk.find(MAGIC, at + 1)
    return None


def named_in(block: bytes) -> str | None:
    """Read the name in a header whose checksum is wrong: a guess, None where it is none."""
    name = block[:100].partition(b"\0")[0]
    return text_of(name) if name and name.isascii() and text_of(name).isprintable() else None


def _foreign(head: bytes) -> Flaw:
    if not head:
        return Flaw(kind="empty", text="is empty (0 bytes)", offset=0)
    name = what_is(head)
    if name is None:
        begins = head[:8].hex(" ")
        return Flaw(kind="foreign", text=f"is no tar archive: it begins with {begins}", offset=0)
    return Flaw(kind="foreign", text=f"is {with_article(name)}, and no tar archive", offset=0)


def record_of(zeros: int, size: int) -> int:
    """Give the size of the records of which a writer leaves so many zeros at an archive's end.

    It fills up the last one: `tar -b 2048` makes them of so many blocks. Short ones may have any
    number of blocks; a large number is a power of two, by itself or of the usual ones, or a round
    one. 0: no record explains them.

    Where one does, nobody can tell a copy that was cut between two members from a whole archive of
    those before: tar with this record writes the same, byte by byte. Other shards may tell.
    """
    short = range(USUAL_PADDING, LONGEST_PADDING, BLOCK)
    powers = [one << power for one in (LONGEST_PADDING, USUAL_RECORD) for power in range(11)]
    rounds = (BLOCK * first * 10**power for power in (2, 3, 4) for first in (1, 2, 5))
    fitting = (one for one in (*short, *powers, *rounds) if zeros - 2 * BLOCK < one)
    return min((one for one in fitting if size % one == 0), default=0)


def fills_short_records(block: bytes) -> bool:
    """Whether the first header is one that tarfile writes, whose records are 10,240 bytes always.

    It leaves the numbers of a device out. GNU tar does so in its own format, and in headers of pax.
    """
    name, magic = block[: len(_PAX_OF_TARFILE)], block[MAGIC_AT:][:8]
    is_pax = block[_TYPE_AT:][:1] in (b"x", b"g")
    named = not is_pax or name == _PAX_OF_TARFILE
    return magic == b"ustar\x0000" and not any(block[_DEVICE]) and named


def _at_zeros(archive: TarBytes, offset: int, last: Named | None, *, quiet: bool) -> Flaw | None:
    """Tell an end marker with its padding from zeros that stand where something else should be."""
    # Asked first: a packed stream is read once, and forwards.
    of_member = 0 if last is None else _zeros_in(archive.read, last)
    rest, end = _after_zeros(archive, offset)
    if rest is None:
        hollow = last if _is_hollow(of_member, last, end - offset) else None
        return _zeros_to_the_end(offset, end - offset, hollow, quiet=quiet)
    zeros = rest // BLOCK * BLOCK - offset
    follows = next_header(archive, rest // BLOCK * BLOCK)
    if zeros >= 2 * BLOCK and follows == rest // BLOCK * BLOCK:
        text = f"goes on behind its end marker, at {follows:,} bytes, with a second archive"
        return Flaw(kind="trailing", text=text, offset=offset, quiet=quiet)
    if follows is None:
        text = f"has bytes behind its end marker, from {rest:,} on, that are no archive"
        return Flaw(kind="trailing", text=text, offset=offset, quiet=quiet)
    text = f"has {zeros or BLOCK:,} zero bytes at {offset:,}, where a header should be"
    return Flaw(kind="zero-block", text=text, offset=offset, quiet=quiet)


def _zeros_to_the_end(offset: int, zeros: int, hollow: Named | None, *, quiet: bool) -> Flaw | None:
    """Pass padding of any length; a tail of zeros that began inside a member is a cut."""
    if not quiet and offset > 0:
        text = f"has {zeros:,} zero bytes at {offset:,}, where the header of a member should be"
        return Flaw(kind="zero-block", text=text, offset=offset)
    if zeros <= USUAL_PADDING or (zeros <= LONGEST_PADDING and not hollow):
        return None
    if offset == 0:
        text = f"holds nothing but {format_size(zeros)} of zeros"
        return Flaw(kind="foreign", text=text, offset=0, quiet=True)
    if hollow is None:
        return None
    text = f"is zeros from inside {shown(hollow[0])} to its end, {format_size(zeros)} and more"
    return Flaw(kind="cut", text=text, offset=offset, member=hollow[0], quiet=quiet)


def _after_zeros(archive: TarBytes, offset: int) -> tuple[int | None, int]:
    """Find the first byte that is not zero, and how far was read; None where there is none."""
    for begin, chunk in _chunks(archive, offset):
        if chunk.count(0) != len(chunk):
            return begin + len(chunk) - len(chunk.lstrip(b"\0")), begin
        offset = begin + len(chunk)
    return None, offset if archive.size is None else archive.size


def _chunks(archive: TarBytes, offset: int) -> Iterator[tuple[int, bytes]]:
    """Read on in whole blocks, over holes: little at first, since what is looked for is near."""
    size = _PIECE
    while chunk := archive.read(offset, size):
        yield offset, chunk
        offset += len(chunk)
        if size >= 1 << 20 and archive.next_data is not None:
            data = archive.next_data(offset)
            if data is None:
                return
            offset += (data - offset) & -BLOCK
        size = min(2 * size, 1 << 20)


def _zeros_in(read: Read, last: Named) -> int:
    """Count the zeros at the end of a member, of its last block's."""
    _, data, size = last
    tail = read(data + max(0, size - BLOCK), min(BLOCK, size))
    return len(tail) - len(tail.rstrip(b"\0"))


def _is_hollow(zeros: int, last: Named | None, behind: int) -> bool:
    """Whether a member ends in zeros because nothing was written from within it on.

    A few may be its own, unless they begin just where a page of the file does.
    """
    if last is None or not zeros:
        return False
    _, data, size = last
    if -(data + size - zeros) % _PIECE < _BESIDE and zeros < min(BLOCK, size):
        return True
    return zeros == min(BLOCK, size) >= _FEWEST_ZEROS and behind > LONGEST_PADDING
