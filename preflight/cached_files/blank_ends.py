"""Tells files whose last pages are zeros, where files beside them end in numbers.

A crash of the machine leaves files that have their length and not all of their pages. By itself
such an end may be padding; where no file of the same sort is padded, it is none.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from preflight.cached_files.cache_listing import suffix_of
from preflight.file_access.opened import reading
from preflight.formats.arrays import npy, safetensors
from preflight.formats.arrays.lost_pages import NO_CHANCE, Laid, blank_end
from preflight.formats.bytes.blocks import Read
from preflight.formats.bytes.flaw import Flaw
from preflight.formats.stored import StoredFile

_FLOATS: Mapping[str, Callable[[Read, int], list[Laid]]] = {
    "npy": npy.floats_in,
    "safetensors": safetensors.floats_in,
}

_FEWEST, _MOST = 4, 16
"""Files beside it that are asked."""


class FilesBeside(NamedTuple):
    """The files of a folder that are asked about together, and one of them."""

    folder: str
    names: Sequence[str]
    place: int

    def others(self) -> Iterator[str]:
        """Give the paths of others of its sort and its place, the nearest first."""
        own = self.names[self.place]
        for away in range(1, len(self.names)):
            for at in (self.place - away, self.place + away):
                name = self.names[at] if 0 <= at < len(self.names) else ""
                if suffix_of(name) == suffix_of(own) and _folder_of(name) == _folder_of(own):
                    yield self.folder + name


def without_end(descriptor: int, size: int, held: StoredFile, beside: FilesBeside) -> StoredFile:
    """Say of a file that is whole by itself whether its end was lost."""
    floats = _FLOATS.get(held.format)
    if floats is None or size < NO_CHANCE:
        return held
    with io.FileIO(descriptor, closefd=False) as file:
        read = reading(file, size)
        if any(read(size - NO_CHANCE, NO_CHANCE)):
            return held
        begin = blank_end(read, floats(read, size), size)
    others = 0 if begin is None else _end_in_numbers(beside)
    if begin is None or not others:
        return held
    text = (
        f"has {size - begin:,} zero bytes from {begin:,} on, up to its end, and none of {others:,} "
        "files beside it ends so: whole pages that most likely never reached the disk"
    )
    return StoredFile(held.format, Flaw(kind="pages", text=text, offset=begin))


def _end_in_numbers(beside: FilesBeside) -> int:
    """Count the nearest files beside it; none where they are few, or one of them ends in zeros."""
    seen = 0
    for path in beside.others():
        try:
            with open(path, "rb", buffering=0) as file:
                size = os.fstat(file.fileno()).st_size
                end = reading(file)(max(0, size - NO_CHANCE), NO_CHANCE)
        except OSError:
            continue
        if not any(end):
            return 0
        seen += 1
        if seen == _MOST:
            break
    return seen if seen >= _FEWEST else 0


def _folder_of(name: str) -> str:
    return name.rpartition("/")[0]
