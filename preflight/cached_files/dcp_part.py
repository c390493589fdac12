"""Reads one part of a checkpoint of torch.distributed.checkpoint, item by item.

Its own bytes say where its items lie. Whether all are there that `.metadata` names is asked where
that is read: dcp_plan.py.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator, Sequence

from preflight.file_access.large import WINDOW, Large
from preflight.file_access.opened import reading
from preflight.file_access.outline import Outline
from preflight.formats.arrays import safetensors
from preflight.formats.bytes import causes
from preflight.formats.bytes.blocks import Block, LongRead, Look, Read, blocks, exactly
from preflight.formats.bytes.crc import crc32_for
from preflight.formats.bytes.flaw import Flaw
from preflight.formats.magic import HEAD, is_lfs_pointer, what_is, with_article
from preflight.formats.stored import StoredFile, look
from preflight.formats.torch.distcp import Item, gaps, whole_items
from preflight.formats.torch.pickle_globals import is_dangerous
from preflight.formats.torch.pickle_machine import MOST_DANGEROUS
from preflight.formats.torch.quick import read_whole
from preflight.formats.zip.directory import MAGIC

# How it is said of a file that it was cut; of one with others around it that is said otherwise.
_ENDS_EARLY = "ends at "

# What names a byte.
_NUMBERED = re.compile(r"\b(?:at|byte) (?:byte )?\d")

# Bytes of a stretch that are read with what lies around them: what tells of structure is short.
_SHORT = 1024


def look_at_part(descriptor: int, size: int, depth: str, tell: Callable[[], None]) -> StoredFile:
    """Say what a part holds and what is wrong with its items.

    Raises:
        OSError: it cannot be read.
    """
    if not size:
        return StoredFile("unknown")  # of a rank or a thread that had nothing to write
    outline = Outline(descriptor, size, tell)
    items = whole_items(outline, size)
    with io.FileIO(descriptor, closefd=False) as file:
        large = outline if depth == "index" else Large(file, tell)
        found: list[tuple[Item, StoredFile]] = []
        for run in _runs(items) if large.every else [[item] for item in items]:
            tell()
            begin, length = run[0].begin, run[-1].end - run[0].begin
            if large.every and length <= WINDOW:
                content = memoryview(exactly(reading(file), begin, length))
                small = [content[item.begin - begin : item.end - begin] for item in run]
                found += zip(run, map(_look_at_small, small), strict=True)
            else:
                for item in run:
                    stretch = _Stretch(outline, large, item)
                    found.append((item, _look_at_archive(stretch, item.end - item.begin)))
        for gap in gaps(items, size):
            found.append((gap, _look_at_gap(_Stretch(outline, large, gap), gap, size)))
    return _together(sorted(found), len(items))


def _runs(items: Sequence[Item]) -> Iterator[list[Item]]:
    """Put neighbours together that are small enough to be read at once."""
    run: list[Item] = []
    for item in items:
        if run and (item.begin != run[-1].end or item.end - run[0].begin > WINDOW):
            yield run
            run = []
        run.append(item)
    if run:
        yield run


def _look_at_archive(read: Read, size: int) -> StoredFile:
    held = look(read, size, "")
    if held.format != "unknown":
        return held
    begins = bytes(read(0, len(MAGIC))).hex(" ")
    text = f"has lost its first header, and begins with the bytes {begins}"
    return StoredFile("torch zip", Flaw(kind="structure", text=text, offset=0))


def _look_at_small(content: memoryview) -> StoredFile:
    whole = read_whole(content, crc32_for(len(content)))
    if whole is not None:
        return StoredFile("torch zip", verified=whole.verified, globals=whole.globals)
    return _look_at_archive(lambda offset, size: content[offset : offset + size], len(content))


class _Stretch(LongRead):
    """An item of a part, read as a file of its own."""

    def __init__(self, outline: Outline, large: LongRead, item: Item) -> None:
        self.every = large.every
        self._outline = outline
        self._large = large
        self._item = item

    def __call__(self, offset: int, size: int) -> Block:
        begin = self._item.begin + offset
        size = max(0, min(size, self._item.end - begin))
        return (self._outline if size <= _SHORT else self._large)(begin, size)

    def checksum(self, offset: int, size: int) -> int:
        if size <= _SHORT:
            return crc32_for(size)(self(offset, size), 0)
        return self._large.checksum(self._item.begin + offset, size)

    def pass_over(self, offset: int, size: int, look: Look | None = None, _: object = None) -> None:
        shift = self._item.begin
        if look is None:
            self._large.pass_over(shift + offset, size)
        else:
            self._large.pass_over(shift + offset, size, lambda block, at: look(block, at - shift))


def _look_at_gap(read: Read, gap: Item, size: int) -> StoredFile:
    """Judge what is no archive with an end, as far as that is certain.

    What a planner of the user's own writes, and what is packed, is left alone.
    """
    length = gap.end - gap.begin
    head = bytes(read(0, HEAD))
    if head[: len(MAGIC)] == MAGIC[: len(head)]:
        return _look_at_broken(read, gap, size)
    if gap.end == size and safetensors.is_safetensors(head, length):
        return look(read, length, "")
    name = what_is(head)
    if name == "run of zero bytes" and gap.end == size and _is_zero(read, length):
        text = f"is {length:,} zero bytes: {causes.NEVER_WRITTEN}"
        return StoredFile("unknown", Flaw(kind="zeros", text=text, offset=0))
    if length == size and (is_lfs_pointer(head) or name == "HTML page"):
        text = f"is {with_article(str(name))}, not a part of a checkpoint"
        return StoredFile("unknown", Flaw(kind="foreign", text=text, offset=0))
    unread = f"its bytes {gap.begin:,} to {gap.end:,}, which are no archive of torch.save"
    return StoredFile("unknown", unread=unread)


def _look_at_broken(read: Read, gap: Item, size: int) -> StoredFile:
    """Say what is wrong with an archive that has no end, or is not where that says."""
    length = gap.end - gap.begin
    flaw = look(read, length, ".pt").flaw
    if flaw is None or flaw.kind == "foreign" or flaw.text.startswith(_ENDS_EARLY):
        if gap.end == size:
            flaw = Flaw(kind="cut", text="", offset=length)
        else:
            text = f"has no end within {length:,} bytes, where the next one begins"
            flaw = Flaw(kind="structure", text=text, offset=0)
    return StoredFile("torch zip", flaw)


def _is_zero(read: Read, size: int) -> bool:
    return not any(bytes(block).strip(b"\0") for block in blocks(read, 0, size))


def _together(found: Sequence[tuple[Item, StoredFile]], archives: int) -> StoredFile:
    """Put together what is to be said of a part.

    Of what its pickles name, only what can do harm: objects that are no tensors are loaded with
    weights_only=False, which refuses nothing.
    """
    kind = "torch zip" if archives else next((held.format for _, held in found), "unknown")
    flaws = [(item, held.flaw) for item, held in found if held.flaw is not None]
    if flaws:
        return StoredFile(kind, _placed(*flaws[0], len(flaws), len(found)))
    left = [held.unread for _, held in found if held.unread is not None]
    named = dict.fromkeys(name for _, held in found for name in held.globals if is_dangerous(name))
    return StoredFile(
        kind,
        verified=all(held.verified for _, held in found),
        globals=tuple(named)[:MOST_DANGEROUS],
        unread=left[0] if left else None,
    )


def _placed(item: Item, flaw: Flaw, damaged: int, count: int) -> Flaw:
    """Say in which of its items something is wrong."""
    at = None if flaw.offset is None else item.begin + flaw.offset
    if not flaw.text:
        guess = f": {causes.MID_WRITE}" if not item.end % causes.PAGE else ""
        text = f"ends at {item.end:,} bytes, inside the item that begins at {item.begin:,}{guess}"
    else:
        text = flaw.text.removesuffix(f": {causes.SEVERAL}")  # each part is of one rank
    if flaw.text and count > 1:
        which = f"{damaged:,} damaged items of {count:,}; the first" if damaged > 1 else "an item"
        counted = ", counted from there," if _NUMBERED.search(text) else ""
        text = f"holds {which} at byte {item.begin:,} that{counted} {text}"
    return Flaw(kind=flaw.kind, text=text, offset=at, member=flaw.member)
