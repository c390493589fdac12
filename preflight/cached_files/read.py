"""Reads cached files: looks at every byte, if the job wants that, and runs none of them.

Of many, what is usual is told in short, and the rest in full.
"""

from __future__ import annotations

import io
import os
import stat
import time
from array import array
from base64 import b64encode
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from preflight.cached_files.blank_ends import FilesBeside, without_end
from preflight.cached_files.cache_listing import suffix_of
from preflight.cached_files.dcp_part import look_at_part
from preflight.cached_files.dcp_plan import is_plan, look_at_plan
from preflight.cached_files.facts import (
    BROKEN,
    LETTERS,
    MOST_SETS,
    ODD,
    TYPED,
    CacheFacts,
    CachePiece,
)
from preflight.file_access.facts import Damage
from preflight.file_access.large import WINDOW, Large
from preflight.file_access.lfs import refined
from preflight.file_access.opened import reading
from preflight.file_access.outline import look_at_outline
from preflight.formats.by_name import TORCH
from preflight.formats.bytes.blocks import HeldBytes, Read
from preflight.formats.magic import HEAD, what_is
from preflight.formats.stored import StoredFile, look_at_whole
from preflight.formats.stored import look as look_at
from preflight.formats.suffixes.dcp import PART
from preflight.kinds.asked import Asked, reason_of
from preflight.values.names import name_of
from preflight.values.stamps import GONE, YOUNG, Mark, marked, unsure

# Opening a FIFO or a device does not wait for anybody.
_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)

# Windows tells less of an open file than of one by its name.
_SAME = os.name == "posix"

# Seconds after which what was seen is told, where files are large or far away.
_SOON = 0.02


def look(asked: Asked) -> Iterator[CachePiece]:
    """Read the files that are asked about; what was seen up to then is told now and then."""
    folder = os.path.join(asked.wire["folder"], "")
    seen = _Seen()
    told = time.monotonic()
    for place, name in enumerate(asked.wire["names"]):
        now, count = time.monotonic(), len(seen.letters)
        if now - told > _SOON and count:
            asked.some(seen.piece(), count)
            seen, told = _Seen(), now
        asked.opening(place)
        _read(asked, folder + name, seen, FilesBeside(folder, asked.wire["names"], place))
    yield seen.piece()


@dataclass(slots=True)
class _Seen:
    """What was seen and is not told as yet; its fields are those of `CachePiece`."""

    letters: list[str] = field(default_factory=list)
    stamps: array[int] = field(default_factory=lambda: array("q"))
    odd: list[CacheFacts] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)
    sets: dict[tuple[str, ...], str] = field(default_factory=dict)
    arrays: list[str] = field(default_factory=list)

    def note(self, letter: str, mark: Mark, arrays: tuple[str, ...] = ()) -> None:
        self.letters.append(letter)
        if arrays and len(self.sets) < MOST_SETS:
            self.sets.setdefault(arrays, chr(ord("0") + len(self.sets)))
        self.arrays.append(self.sets.get(arrays, "."))
        try:
            self.stamps.extend(mark)
        except OverflowError:  # some file systems number their files beyond 63 bits
            del self.stamps[len(self.stamps) // len(mark) * len(mark) :]
            self.stamps.extend(unsure(mark))

    def piece(self) -> CachePiece:
        return CachePiece(
            seen="".join(self.letters),
            stamps=b64encode(self.stamps).decode(),
            odd=tuple(self.odd),
            broken=tuple(self.broken),
            arrays="".join(self.arrays) if self.sets else "",
            sets=tuple(self.sets),
        )


def _read(asked: Asked, path: str, seen: _Seen, beside: FilesBeside) -> None:
    before = GONE
    try:
        descriptor, status = _open_file(path)
        try:
            before = marked(status if _SAME else os.stat(path))
            held = _look_at_file(descriptor, before[0], path, asked.depth, asked.alive)
            held = _refused(held, asked.wire.get("torch"))
            if asked.depth != "index" and held.flaw is None:
                held = without_end(descriptor, before[0], held, beside)
            after = marked(os.fstat(descriptor) if _SAME else os.stat(path))
        finally:
            os.close(descriptor)
    except (OSError, MemoryError) as error:
        said = f"it takes more than {asked.memory:,} bytes of memory"
        if isinstance(error, OSError):
            said = reason_of(error)
        seen.broken.append(said)
        seen.note(BROKEN, unsure(before))
        return
    if before != after or before[1] > time.time_ns() - YOUNG or is_plan(path):
        before = unsure(before)
    if held.flaw is None and not held.globals and held.unread is None and not held.behind:
        letter = TYPED.get(held.dtype) or LETTERS[held.format, held.verified]
        seen.note(letter, before, held.arrays)
    else:
        seen.odd.append(_facts_of(path, name_of(path, asked.root), before[0], held))
        seen.note(ODD, before, held.arrays if held.flaw is None else ())


def read_cache(
    path: str,
    root: str,
    tell: Callable[[str], None],
    depth: str = "bytes",
    *,
    torch: str | None = None,
) -> CacheFacts:
    """Read one cached file, every byte once, and compare it with all it says of itself.

    Of depth `index` only what tells of its structure is read. What weights_only takes is said by
    the torch in this folder; by a list of our own, where there is none.

    Raises:
        OSError: it cannot be read, or is no file.
    """
    name = name_of(path, root)
    tell(name)
    descriptor, status = _open_file(path)
    try:
        held = _look_at_file(descriptor, status.st_size, path, depth, lambda: tell(name))
    finally:
        os.close(descriptor)
    return _facts_of(path, name, status.st_size, _refused(held, torch))


def _refused(held: StoredFile, torch: str | None) -> StoredFile:
    """Leave out what the job's torch takes."""
    if not held.globals:
        return held
    from preflight.formats.torch.weights_only import refused_by  # most files name nothing odd

    return held._replace(globals=refused_by(torch, held.globals))


def _open_file(path: str) -> tuple[int, os.stat_result]:
    """Open a regular file.

    Raises:
        OSError: it cannot be opened, or is no file.
    """
    descriptor = os.open(path, _FLAGS)
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        os.close(descriptor)
        raise OSError("it is no regular file")
    return descriptor, status


def _look_at_file(
    descriptor: int, size: int, path: str, depth: str, tell: Callable[[], None]
) -> StoredFile:
    """Read what is open, and compare it with all it says of itself.

    Raises:
        OSError: it cannot be read.
    """
    suffix = suffix_of(path)
    if suffix == PART:
        return look_at_part(descriptor, size, depth, tell)
    if is_plan(path):
        return look_at_plan(descriptor, size, path, tell)
    if depth == "index":
        return look_at_outline(descriptor, size, suffix, tell)
    with io.FileIO(descriptor, closefd=False) as file:
        if size > WINDOW:
            read: Read = Large(file, tell)
            held = look_at(read, size, suffix)
        else:
            content = memoryview(reading(file, size)(0, size))
            read, held = HeldBytes(content, tell), look_at_whole(content, suffix, tell)
        is_unknown = suffix in TORCH and held == StoredFile("unknown")
        if is_unknown and what_is(bytes(read(0, HEAD))) == "tar archive":
            from preflight.cached_files.tarred import look_at_tarred  # hardly any file is one

            return look_at_tarred(read, size) or held
    return held


def _facts_of(path: str, name: str, size: int, held: StoredFile) -> CacheFacts:
    """Say of a file what it holds, and what is wrong with it."""
    damage = None
    if (flaw := held.flaw) is not None:
        said = Damage(kind=flaw.kind, text=flaw.text, offset=flaw.offset, member=flaw.member)
        damage = refined(said, path)
    return CacheFacts(
        file=name,
        size=size,
        format=held.format,
        damage=damage,
        verified=held.verified,
        globals=held.globals,
        unread=held.unread,
        behind=held.behind,
    )
