"""Reads many cached files, one by one: what is usual of them is told in short, the rest in full."""

from __future__ import annotations

import os
import time
from array import array
from base64 import b64encode
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from preflight.cached_files.dcp_plan import is_plan
from preflight.cached_files.facts import BROKEN, LETTERS, ODD, CacheFacts, CachePiece
from preflight.cached_files.one_file import facts_of, look_at_file, open_file
from preflight.kinds.asked import Asked
from preflight.values.stamps import GONE, YOUNG, Mark, marked, unsure

# Seconds after which what was seen is told, where files are large or far away.
_SOON = 0.02


def look(asked: Asked) -> Iterator[CachePiece]:
    """Read the files that are asked about."""
    files = Files(
        root=asked.root,
        depth=asked.depth,
        memory=asked.memory,
        opening=asked.opening,
        tell=asked.alive,
        some=asked.some,
    )
    yield files.read(asked.wire["folder"], asked.wire["names"])


@dataclass(slots=True, kw_only=True)
class Files:
    """Reads cached files."""

    root: str
    """The job's folder, by which reports name files."""

    depth: str
    """How deep the job has us look."""

    memory: int
    """Bytes that a reader of files is given."""

    opening: Callable[[int], None]
    """Called with the place of a file before it is opened."""

    tell: Callable[[], None]
    """Called again and again while one is read."""

    some: Callable[[CachePiece, int], None]
    """Called after a while with what was seen of so many files up to then."""

    _seen: list[str] = field(default_factory=list)
    _stamps: array[int] = field(default_factory=lambda: array("q"))
    _odd: list[CacheFacts] = field(default_factory=list)
    _broken: list[str] = field(default_factory=list)

    def read(self, folder: str, names: Sequence[str]) -> CachePiece:
        """Read files, and give what was seen of those of which nothing was said as yet."""
        begin = os.path.join(folder, "")
        told = time.monotonic()
        for place, name in enumerate(names):
            now, count = time.monotonic(), len(self._seen)
            if now - told > _SOON and count:
                self.some(self._given(), count)
                told = now
            self.opening(place)
            self._read(begin + name)
        return self._given()

    def _read(self, path: str) -> None:
        before = GONE
        try:
            descriptor, status = open_file(path)
            try:
                before = marked(status if _SAME else os.stat(path))
                held = look_at_file(descriptor, before[0], path, self.depth, self.tell)
                after = marked(os.fstat(descriptor) if _SAME else os.stat(path))
            finally:
                os.close(descriptor)
        except OSError as error:
            self._broken.append(f"{error.strerror or error} ({type(error).__name__})")
            self._note(BROKEN, unsure(before))
            return
        except MemoryError:
            self._broken.append(f"it takes more than {self.memory:,} bytes of memory")
            self._note(BROKEN, unsure(before))
            return
        if before != after or before[1] > time.time_ns() - YOUNG or is_plan(path):
            before = unsure(before)
        if held.flaw is None and not held.globals and held.unread is None:
            self._note(LETTERS[held.format, held.verified], before)
        else:
            self._odd.append(facts_of(path, self.root, before[0], held))
            self._note(ODD, before)

    def _note(self, letter: str, mark: Mark) -> None:
        self._seen.append(letter)
        try:
            self._stamps.extend(mark)
        except OverflowError:  # some file systems number their files beyond 63 bits
            del self._stamps[len(self._stamps) // len(mark) * len(mark) :]
            self._stamps.extend(unsure(mark))

    def _given(self) -> CachePiece:
        piece = CachePiece(
            seen="".join(self._seen),
            stamps=b64encode(self._stamps).decode(),
            odd=tuple(self._odd),
            broken=tuple(self._broken),
        )
        for one in (self._seen, self._stamps, self._odd, self._broken):
            del one[:]
        return piece


# Windows tells less of an open file than of one by its name.
_SAME = os.name == "posix"
