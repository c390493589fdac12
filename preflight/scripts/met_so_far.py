"""What a script has met so far, and how often; what is met again and again is told now and then."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Any, NamedTuple

from preflight.scripts.facts import Met

# What one line does is told each time until then.
_FEW = 5


class CountedMet(NamedTuple):
    """Something that was met, with its place among all."""

    place: int
    met: Met


class MetSoFar:
    """One of each that a line has met."""

    def __init__(self) -> None:
        self._met: dict[tuple[Any, ...], CountedMet] = {}
        self._untold: dict[tuple[Any, ...], None] = {}
        self._lock = threading.Lock()

    def add(self, met: Met) -> list[CountedMet]:
        """Count it, and give what is to be told of it; nothing: that is told later."""
        at = met.at
        key = (met.what, met.name, at and (at.file, at.line))
        with self._lock:
            known = self._met.get(key)
            if known is None:
                counted = CountedMet(len(self._met), met)
            else:
                before = known.met
                count, epochs = before.count + met.count, before.epochs + met.epochs
                counted = known._replace(met=replace(met, count=count, epochs=epochs))
            self._met[key] = counted
            if known is not None and counted.met.count > _FEW:
                self._untold[key] = None
                return []
        return [counted]

    def has(self, *kinds: str) -> bool:
        """Whether one of these was met."""
        return any(one.met.what in kinds and one.met.count > 0 for one in [*self._met.values()])

    def untold(self) -> list[CountedMet]:
        """Give what was met since it was told."""
        with self._lock:
            keys, self._untold = [*self._untold], {}
        return [self._met[key] for key in keys]
