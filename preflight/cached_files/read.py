"""Reads many cached files, one by one: what is usual of them is told in short, the rest in full."""

from __future__ import annotations

import os
import time
from array import array
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import dataclass, field

from preflight.cached_files.dcp_plan import is_plan
from preflight.cached_files.facts import BROKEN, LETTERS, ODD, CacheFacts, CachePiece
from preflight.cached_files.one_file import facts_of, look_at_file, open_file
from preflight.kinds.asked import Asked
from preflight.values.stamps import GONE, YOUNG, Mark, marked, unsure

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
        _read(asked, folder + name, seen)
    yield seen.piece()


@dataclass(slots=True)
class _Seen:
    """What was seen and is not told as yet; its fields are those of `CachePiece`."""

    letters: list[str] = field(default_factory=list)
    stamps: array[int] = field(default_factory=lambda: array("q"))
    odd: list[CacheFacts] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)

    def note(self, letter: str, mark: Mark) -> None:
        self.letters.append(letter)
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
        )


def _read(asked: Asked, path: str, seen: _Seen) -> None:
    before = GONE
    try:
        descriptor, status = open_file(path)
        try:
            before = marked(status if _SAME else os.stat(path))
            held = look_at_file(descriptor, before[0], path, asked.depth, asked.alive)
            after = marked(os.fstat(descriptor) if _SAME else os.stat(path))
        finally:
            os.close(descriptor)
    except (OSError, MemoryError) as error:
        said = f"it takes more than {asked.memory:,} bytes of memory"
        if isinstance(error, OSError):
            said = f"{error.strerror or error} ({type(error).__name__})"
        seen.broken.append(said)
        seen.note(BROKEN, unsure(before))
        return
    if before != after or before[1] > time.time_ns() - YOUNG or is_plan(path):
        before = unsure(before)
    if held.flaw is None and not held.globals and held.unread is None:
        seen.note(LETTERS[held.format, held.verified], before)
    else:
        seen.odd.append(facts_of(path, asked.root, before[0], held))
        seen.note(ODD, before)


# Windows tells less of an open file than of one by its name.
_SAME = os.name == "posix"
