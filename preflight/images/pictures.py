"""Counts images, their sizes and their damages, in bounded memory, in whatever order they come."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable

from preflight.formats.pictures.shape import Shape
from preflight.images.facts import (
    ImageDamage,
    Pictures,
    Size,
    Undecoded,
    least_ratio,
    most_pixels,
    most_ratio,
    shortest_side,
)
from preflight.values.tally import Counted, Tally

MOST = 10_000
"""Images of a kind of damage that are told one by one: as many findings as a run keeps."""


class Damages:
    """Damaged images, of which there may be as many as there are images."""

    def __init__(self, found: Iterable[ImageDamage] = ()) -> None:
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


class PictureCounts:
    """Images of one shard or folder."""

    def __init__(self) -> None:
        self._formats: Counter[str] = Counter()
        self._modes: Counter[str] = Counter()
        self._sizes = Tally[tuple[int, int]](shortest_side, most_pixels, least_ratio, most_ratio)
        self._unsized = Tally[int](int)
        self._undecoded: Counter[tuple[str, str]] = Counter()

    def add(self, name: str, shape: Shape, undecoded: str = "") -> None:
        """Count one more image; with its format where nothing here decodes it."""
        if undecoded:
            self._undecoded[undecoded, os.path.splitext(name)[1].lower()] += 1
        form, mode, width, height = shape
        self._formats[form] += 1
        self._modes[mode] += 1
        if width:
            self._sizes.add((width, height), name)
        else:
            self._unsized.add(0, name)

    def merge(self, told: Pictures, named: Callable[[str], str]) -> None:
        """Count those of a part, each image named as it is in the whole."""
        self._formats.update(told.formats)
        self._modes.update(told.modes)
        self._formats[""] += told.images - sum(told.formats.values())
        parts = (
            Counted((one.width, one.height), one.images, tuple(map(named, one.names)))
            for one in told.sizes
        )
        self._sizes.merge(parts, told.others)
        self._undecoded.update({one[:2]: one.images for one in told.undecoded})
        if told.unsized:
            names = tuple(map(named, told.unsized_names))
            self._unsized.merge([Counted(0, told.unsized, names)])

    def told(self) -> Pictures:
        """Give what was counted."""
        unsized = next(self._unsized.counted(), Counted(0, 0, ()))
        return Pictures(
            images=self._formats.total(),
            formats={form: count for form, count in sorted(self._formats.items()) if form},
            modes={mode: count for mode, count in sorted(self._modes.items()) if mode},
            sizes=tuple(
                Size(size[0], size[1], images, names)
                for size, images, names in self._sizes.counted()
            ),
            others=self._sizes.others,
            unsized=unsized.things,
            unsized_names=unsized.names,
            undecoded=tuple(
                Undecoded(*which, images) for which, images in sorted(self._undecoded.items())
            ),
        )
