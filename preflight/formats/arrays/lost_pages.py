"""Finds pages of a file that hold zeros only, and tells those that were lost from a tensor's own.

A crash of the machine, or a copy that skipped what it could not read, leaves whole pages of zeros.
Tensors hold runs of zeros too: padding, masks, weights that begin at zero. But those begin and end
where rows do, or anywhere; hardly ever do both ends fall on pages and inside of rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import NamedTuple

from preflight.formats.bytes.blocks import Block, Read, pass_over, reads_every
from preflight.formats.bytes.damaged import DamagedError
from preflight.values.names import shown, text_of

PAGE = 4096
"""Bytes of a page: what systems write at a time."""

_ZEROS = bytes(PAGE)

# Runs that are looked at, pieces of such that are kept, and bytes of all. Where there are more,
# zeros are nothing special, as in a file that was laid out and never filled.
_MOST_RUNS = 64
_MOST_KEPT = 4_096
_MOST_ZEROS = 1 << 31

# Bytes that rows and pages have in common at most, where rows begin anywhere in pages.
_ODD = 8

# Bytes of blocks and frames whose length is a power of two, as many are.
_BLOCK = 1024

# Rows of a tensor that holds a sequence in time, such as the channels of a sound.
_MOST_CHANNELS = 8

# Zero bytes that are none of a tensor's own by chance, where at most one in eight elements is zero.
NO_CHANCE = 256
_FEW = 8


class Laid(NamedTuple):
    """Where a tensor of floating point lies."""

    name: bytes
    """Empty where the file holds nothing but it."""

    begin: int
    end: int
    """In bytes from the beginning of the file."""

    element: int
    """Bytes of an element."""

    sides: tuple[int, ...]
    """Its shape; empty for a single number."""

    def moved(self, by: int) -> Laid:
        """Give it with a place so many bytes further on."""
        return self._replace(begin=self.begin + by, end=self.end + by)

    def is_inside_row(self, place: int) -> bool:
        """Whether a place lies in the tensor, and not at the beginning of a row."""
        row = self.element * (self.sides[-1] if self.sides else 1)
        return self.begin < place < self.end and (place - self.begin) % row != 0

    def seldom_begins_at(self, place: int) -> bool:
        """Whether a place lies in the tensor, and zeros of its own hardly ever begin or end there.

        They do where any of its parts begins: a row of numbers, a line of an image, an image. Parts
        of odd lengths come to the beginning of a page only now and then. Where pages begin as the
        tensor does, many a block within its rows ends with one.
        """
        if not self.begin < place < self.end or (place - self.begin) % _BLOCK == 0:
            return False
        part = self.element
        for side in reversed(self.sides[1:]):
            part *= side
            odd = side == 1 or math.gcd(part, PAGE) <= _ODD
            if not odd and (place - self.begin) % part == 0:
                return False
        return True

    def steps_to(self, place: int) -> int:
        """Count the elements from the beginning of its row to a place.

        1 where rows are no sequence in time, or the place lies within an element.
        """
        row = self.sides[-1] if self.sides else 1
        elements, rest = divmod(place - self.begin, self.element)
        is_sequence = row * self.element >= PAGE and math.prod(self.sides[:-1]) <= _MOST_CHANNELS
        return elements % row if is_sequence and not rest else 1

    def last_part(self) -> int:
        """Give where the last of its parts begins, such as a channel of a picture; else its end."""
        sides = [side for side in self.sides if side > 1]
        return self.end - (self.end - self.begin) // sides[0] if len(sides) > 2 else self.end


class ZeroPages:
    """The pages of a file that hold zeros only."""

    __slots__ = ("_end", "_kept")

    def __init__(self, size: int) -> None:
        self._end = size
        self._kept: list[tuple[int, int]] = []

    def look(self, block: Block, at: int) -> None:
        """Look at a stretch of the file that begins here; in any order."""
        first = -at % PAGE
        last_bytes = bytes(block[first + PAGE - 1 :: PAGE])
        found = last_bytes.find(0)
        while found >= 0:
            begin = first + found * PAGE
            end = begin
            while bytes(block[end : end + PAGE]) == _ZEROS:
                end += PAGE
            self._keep(at + begin, at + end)
            found = last_bytes.find(0, max(found + 1, (end - first) // PAGE))
        rest = (at + len(block)) % PAGE
        if rest and at + len(block) == self._end and not any(block[-rest:]):
            self._keep(self._end - rest, self._end)

    def hole(self, begin: int, end: int) -> None:
        """Take a stretch for zeros that nobody has to read."""
        self._keep(begin + -begin % PAGE, end if end == self._end else end - end % PAGE)

    def _keep(self, begin: int, end: int) -> None:
        if begin < end and len(self._kept) <= _MOST_KEPT:
            self._kept.append((begin, end))

    def runs(self) -> list[tuple[int, int]]:
        """Give where each run of such pages begins and ends, in order; none of too many."""
        zeros = sum(end - begin for begin, end in self._kept)
        if len(self._kept) > _MOST_KEPT or zeros > _MOST_ZEROS:
            return []
        runs: list[tuple[int, int]] = []
        for begin, end in sorted(self._kept):
            if runs and runs[-1][1] == begin:
                begin = runs.pop()[0]  # noqa: PLW2901  the run goes on
            runs.append((begin, end))
        return runs if len(runs) <= _MOST_RUNS else []


def refuse_lost_pages(
    read: Read, begin: int, size: int, tensors: Callable[[], Iterable[Laid]]
) -> None:
    """Read all behind a header, where every byte is to be read.

    Raises:
        DamagedError: `pages`.
    """
    if not reads_every(read):
        return
    start = begin - begin % PAGE
    pages = ZeroPages(size)
    pass_over(read, start, size - start, pages.look, pages.hole)
    runs = pages.runs()
    lost = lost_pages(read, runs, tensors(), size) if runs else None
    if lost is None:
        return
    first, last, tensor = lost
    named = shown(text_of(tensor.name[:120])) if tensor.name else None
    text = (
        f"has {last - first:,} zero bytes from {first:,} on, inside a row of "
        f"{named or 'its array'}: whole pages that most likely never reached the disk"
    )
    raise DamagedError("pages", text, offset=first, member=named)


def lost_pages(
    read: Read, runs: Iterable[tuple[int, int]], tensors: Iterable[Laid], size: int
) -> tuple[int, int, Laid] | None:
    """Give the first of the runs that no tensor has of itself, and the tensor it begins in."""
    laid = list(tensors)
    for begin, end in runs:
        inside = next((one for one in laid if one.seldom_begins_at(begin)), None)
        if inside is None or not _is_dense(read, inside, begin):
            continue
        if end < size:
            other = next((one for one in laid if one.seldom_begins_at(end)), None)
            lost = (
                other is not None
                and any(read(end, other.element))
                and not _is_in_steps(inside.steps_to(begin), other.steps_to(end))
            )
        else:
            enough = inside.is_inside_row(begin) and inside.end - begin >= NO_CHANCE
            later = sum(one.end - one.begin for one in laid if begin < one.begin)
            lost = enough and (later >= NO_CHANCE or begin < inside.last_part() < inside.end)
        if lost:
            return begin, end, inside
    return None


def blank_end(read: Read, tensors: Iterable[Laid], size: int) -> int | None:
    """Give where the last pages begin, if they are zeros that a tensor may have of itself.

    They begin behind numbers that are none, inside of a row, or of one channel and not of the one
    before it: so does some padding. Whether they are lost, files beside this one say, where these
    end in numbers.
    """
    begin = size - (size % PAGE or PAGE)
    while begin > 0 and not any(read(begin, min(PAGE, size - begin))):
        begin -= PAGE
    begin += PAGE
    inside = next((one for one in tensors if one.begin < begin < one.end), None)
    if inside is None or inside.end - begin < NO_CHANCE or not _is_dense(read, inside, begin):
        return None
    in_row = inside.seldom_begins_at(begin) and inside.is_inside_row(begin)
    return begin if in_row or _is_of_one_part(read, inside, begin) else None


def _is_of_one_part(read: Read, tensor: Laid, begin: int) -> bool:
    """Whether zeros begin inside of a part, where the one before it has other numbers."""
    part = tensor.end - tensor.last_part()
    if not part or begin - part < tensor.begin or (begin - tensor.begin) % part == 0:
        return False
    before = bytes(read(begin - part, min(NO_CHANCE, tensor.end - begin)))
    element = tensor.element
    zeros = sum(not any(before[at : at + element]) for at in range(0, len(before), element))
    return zeros * element * _FEW <= len(before)


def _is_in_steps(begin: int, end: int) -> bool:
    """Whether a run may begin and end with frames, such as silence of so many times 10 ms.

    Their lengths have an odd divisor, as most have: of pages, two in ten have one in common.
    """
    common = math.gcd(begin, end)
    return common & (common - 1) != 0


def _is_dense(read: Read, tensor: Laid, end: int) -> bool:
    """Whether the tensor's last element before a place is no zero, and few of those before it are.

    Of what is mostly zeros anyway, runs are long.
    """
    element = tensor.element
    last = end - (end - tensor.begin) % element  # the element that a page may begin inside of
    begin = max(tensor.begin, last - NO_CHANCE)
    before = bytes(read(begin, last - begin))
    zeros = sum(not any(before[at : at + element]) for at in range(0, len(before), element))
    return any(before[-element:]) and zeros * element * _FEW <= len(before)
