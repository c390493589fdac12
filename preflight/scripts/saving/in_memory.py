"""Finds the files into which a script writes what it has saved into memory before."""

from __future__ import annotations

import io
import zlib
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from preflight.overlay import on_disk
from preflight.overlay.layer import Layer
from preflight.resuming.moments import Moment

# How often one is looked for, before a step or a save: a thread may write it meanwhile.
_MOST_LOOKS = 5

_AT_ONCE = 1 << 20


class _Held(NamedTuple):
    size: int
    mark: int
    """The checksum of its bytes."""

    before: dict[str, int]
    """When each file was written that was there."""

    moment: Moment
    looks: int = 0


class InMemory:
    """What was saved into memory, and is in no file yet that is known."""

    def __init__(self) -> None:
        self._held: list[_Held] = []

    def take(self, buffer: io.BytesIO, moment: Moment, layer: Layer) -> None:
        """Note a save that was made there."""
        with buffer.getbuffer() as content:
            held = _Held(len(content), zlib.crc32(content), _times(layer), moment)
        self._held.append(held)

    def found(self, layer: Layer) -> Iterator[Moment]:
        """Give the saves that are in files by now, with the paths of these."""
        waiting, self._held = self._held, []
        times = _times(layer) if waiting else {}
        for one in waiting:
            new = (path for path, time in times.items() if one.before.get(path) != time)
            paths = [path for path in new if _is_in(layer.above(path), one)]
            yield from (replace(one.moment, path=path) for path in paths)
            if not paths and one.looks < _MOST_LOOKS:
                self._held.append(one._replace(looks=one.looks + 1))


def _times(layer: Layer) -> dict[str, int]:
    found: dict[str, int] = {}
    for path in layer.written():
        try:
            found[path] = on_disk.stat(layer.above(path)).st_mtime_ns
        except OSError:  # removed meanwhile
            continue
    return found


def _is_in(path: str, held: _Held) -> bool:
    mark = 0
    try:
        if on_disk.stat(path).st_size != held.size:
            return False
        with on_disk.open_file(path, "rb") as file:
            while piece := file.read(_AT_ONCE):
                mark = zlib.crc32(piece, mark)
    except OSError:
        return False
    return mark == held.mark
