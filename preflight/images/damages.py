"""Holds the damaged images of one shard or folder: the first of each kind, and how many more."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from preflight.images.facts import ImageDamage

MOST = 10_000
"""Images of a kind of damage that are told one by one: as many findings as a run keeps."""


class Damages:
    """Damaged images, of which there may be as many as there are images."""

    def __init__(self, found: Iterable[ImageDamage] = ()) -> None:
        """Take in what was found so far."""
        self.told: list[ImageDamage] = []
        self._count: Counter[str] = Counter()
        for one in found:
            self.add(one)

    def add(self, one: ImageDamage) -> None:
        """Take in one more."""
        self._count[one.kind] += 1
        if self._count[one.kind] <= MOST:
            self.told.append(one)

    @property
    def more(self) -> int:
        """How many are not told one by one."""
        return self._count.total() - len(self.told)
