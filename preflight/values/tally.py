"""Counts things, of which there may be millions, in bounded memory: by a key, or by their names."""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Iterable, Iterator
from heapq import nsmallest
from typing import Any, Generic, NamedTuple, TypeVar

K = TypeVar("K")

NAMES = 3
"""Things of one key that are named."""

ENDS = 10
"""Keys at each end whose things are named."""

NAMED = 20
"""Names that are kept of each kind."""


class Counted(NamedTuple):
    """How many things have a key."""

    key: Any
    things: int
    names: tuple[str, ...]
    """Of the first few by their names; only of keys at an end."""


class Tally(Generic[K]):
    """Counts by key, and names examples: the same in whatever order things and parts come.

    Of more keys than are kept, the first by their order are, and those at the other ends: whatever
    is among the first of all keys was so from when it was met, and was counted every time.
    """

    def __init__(self, *ends: Callable[[K], Any], most: int = 1_000, names: int = NAMES) -> None:
        """Put keys in order by each of the ends, of which the first decides which are kept."""
        self._named = names
        self.others = 0
        """Things whose keys are not kept."""

        self._ends = ends
        self._most = most
        self._rows: dict[K, list[Any]] = {}
        """By key, how many, and the names of the first few."""

    def add(self, key: K, name: str) -> None:
        """Count one more thing."""
        row = self._rows.get(key)
        if row is None:
            self._rows[key] = [1, name]
            if len(self._rows) > 2 * self._most:
                self._keep_first()
            return
        row[0] += 1
        if len(row) <= self._named or name < row[-1]:
            insort(row, name, 1)
            del row[self._named + 1 :]

    def merge(self, parts: Iterable[Counted], others: int = 0) -> None:
        """Count what another has counted."""
        self.others += others
        for key, things, names in parts:
            row = self._rows.setdefault(key, [0])
            row[0] += things
            row[1:] = sorted([*row[1:], *names])[: self._named]
        if len(self._rows) > 2 * self._most:
            self._keep_first()

    def counted(self) -> Iterator[Counted]:
        """Give the keys that are kept, in their order."""
        if len(self._rows) > self._most:
            self._keep_first()
        rows = self._rows
        named = {key for end in self._ends for key in nsmallest(ENDS, rows, key=end)}
        for key in sorted(rows, key=self._ends[0]):
            things, *names = rows[key]
            yield Counted(key, things, tuple(names) if key in named else ())

    def _keep_first(self) -> None:
        rows, (first, *others) = self._rows, self._ends
        kept = nsmallest(self._most, rows, key=first)
        for end in others:
            kept += nsmallest(ENDS, rows, key=end)
        before = sum(row[0] for row in rows.values())
        self._rows = {key: rows[key] for key in kept}
        self.others += before - sum(row[0] for row in self._rows.values())


class First:
    """The first few of many names, in their order."""

    def __init__(self) -> None:
        self.count = 0
        self.names: list[str] = []

    def add(self, name: str) -> None:
        """Count one more."""
        self.count += 1
        if len(self.names) < NAMED or name < self.names[-1]:
            insort(self.names, name)
            del self.names[NAMED:]
