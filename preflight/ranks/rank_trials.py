"""Finds how many ranks a split can do with, for so many items."""

from __future__ import annotations

import time
from collections.abc import Callable

from preflight.kinds.asked import CannotLookError
from preflight.ranks.divide import Splitter, tally
from preflight.ranks.facts import World
from preflight.ranks.made.facts import NEARLY_ALL

# Ranks up to which each number is tried; above, powers of two, and what lies between where it pays.
_EACH = 16

# Ranks that are tried at least, and at most.
_LEAST, _MOST = 64, 1_024

_BAD: tuple[Callable[[World], int], ...] = (
    lambda one: one.idle or one.bare_workers,
    lambda one: one.nobody or one.kept < NEARLY_ALL,
    lambda one: one.several,
)


class RankTrials:
    """One split of so many items, tried with more and more ranks until time is up."""

    def __init__(self, splitter: Splitter, count: int, workers: int, seconds: float) -> None:
        self._splitter = splitter
        self._count = count
        self._workers = workers
        self._until = time.monotonic() + seconds
        self._worlds: dict[int, World] = {}

    def knows(self, world: World) -> None:
        """Take what is known of one number of ranks."""
        self._worlds[world.ranks] = world

    def world(self, ranks: int) -> World:
        """Divide the items among so many ranks."""
        if ranks not in self._worlds:
            found = tally(self._splitter, self._count, ranks, self._workers)
            self._worlds[ranks] = found.world
        return self._worlds[ranks]

    def find(self, ranks: int) -> tuple[tuple[World, ...], tuple[World, ...], int]:
        """Give the worlds of 1, 2, 4, …, the smallest bad ones, and the most ranks tried."""
        top = min(max(_LEAST, 2 * ranks), _MOST)
        powers = [1 << power for power in range(top.bit_length()) if 1 << power <= top]
        # A plan is in order: where time is up, what is left out is larger.
        for number in sorted({*powers, *range(1, min(_EACH, top) + 1)}):
            is_late = len(self._worlds) > 1 and time.monotonic() > self._until
            if is_late or not self._can(number):
                break
        bad = dict.fromkeys(filter(None, map(self._smallest, _BAD)))
        rows = tuple(self._worlds[one] for one in powers if one in self._worlds)
        return rows, tuple(sorted(bad)), max(self._worlds, default=0)

    def _can(self, ranks: int) -> bool:
        """Whether the split does at all with so many: the user's may raise."""
        try:
            self.world(ranks)
        except CannotLookError:
            return False
        return True

    def _smallest(self, is_bad: Callable[[World], int]) -> World | None:
        """Give the smallest world that is bad, as far as numbers between those tried tell."""
        tried = sorted(self._worlds)
        high = next((one for one in tried if is_bad(self._worlds[one])), None)
        if high is None:
            return None
        low = max((one for one in tried if one < high), default=high - 1)
        while high - low > 1 and time.monotonic() < self._until:
            middle = (low + high) // 2
            if not self._can(middle):
                break
            low, high = (low, middle) if is_bad(self.world(middle)) else (middle, high)
        return self.world(high)
