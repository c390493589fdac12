"""Lays out one batch: a heading, its parts in words, and its samples in a grid."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from preflight.sheets.column import Column, in_words
from preflight.sheets.lettering import Lettering
from preflight.sheets.pixels import SIDE, PixelRange, drawn, scale_of
from preflight.sheets.shown import shown_of

_MARGIN, _GAP, _ACROSS = 16, 14, 4

WIDTH = 2 * _MARGIN + _ACROSS * SIDE + (_ACROSS - 1) * _GAP
"""Of every sheet."""

_INSIDE = WIDTH - 2 * _MARGIN

_INK, _GREY, _RED, _LINE, _PAPER, _FRAME = "#111", "#666", "#b00020", "#ccc", "white", "#ddd"

# Lines of what stands below a picture, of a text that stands alone, and of a part in words.
_BELOW, _ALONE, _IN_WORDS = 4, 8, 3

# Parts with texts that are written below each sample.
_MOST_TEXTS = 6

_NUMBER_WIDTH = 40


class Written(NamedTuple):
    """A line of text: where, what, in which letters and colour."""

    at: tuple[int, int]
    text: str
    letters: Lettering
    fill: str


class Panel:
    """What is drawn of one batch, from top to bottom."""

    def __init__(self, name: str, columns: Sequence[Column]) -> None:
        self._large, self._small = Lettering(20), Lettering(13)
        self._columns = columns
        self._pictures = [(one, scale_of(one)) for one in columns if one.pictures]
        self._texts = [one for one in columns if one.texts][:_MOST_TEXTS]
        self._lines: list[Written] = []
        self._images: list[tuple[tuple[int, int], Any]] = []
        self._y = _MARGIN
        self._heading(name)
        if self._pictures:
            self._grid()
        else:
            self._rows()
        self._y += _MARGIN

    @property
    def samples(self) -> int:
        """How many are shown."""
        shown = [*self._columns_shown(), 0]
        return max(shown)

    def _columns_shown(self) -> list[int]:
        return [max(len(one.pictures), len(one.texts)) for one in self._columns]

    def _write(self, lines: Sequence[str], x: int, letters: Lettering, fill: str = _INK) -> None:
        for line in lines:
            self._lines.append(Written((x, self._y), line, letters, fill))
            self._y += letters.height

    def _heading(self, name: str) -> None:
        """Name the loader, and say of each part what it is and what its numbers are."""
        self._write(self._large.wrap(name, _INSIDE, 2), _MARGIN, self._large)
        of = max([one.total for one in self._columns] or [0])
        many = f", {shown_of(self.samples, of)}" if self.samples else ""
        self._write([f"first batch{many}"], _MARGIN, self._small, _GREY)
        self._y += 4
        for one in self._columns:
            self._in_words(one)
        self._y += _GAP

    def _in_words(self, column: Column) -> None:
        text = f"{column.name}: {column.about}"
        if column.stats is not None and (column.stats.low is not None or column.stats.odd):
            text += f", {in_words(column.stats, by_channel=bool(column.pictures))}"
        said = [scale.said for one, scale in self._pictures if one is column and scale.said]
        text += "".join(f"; {one}" for one in [column.note, *said] if one)
        self._write(self._small.wrap(text, _INSIDE, _IN_WORDS), _MARGIN, self._small)
        if column.stats is not None and column.stats.odd:
            line = f"{column.name}: {column.stats.odd}, painted magenta"
            line = line if column.pictures else line.partition(", painted")[0]
            self._write(
                [self._small.cut(self._small.sayable(line), _INSIDE)], _MARGIN, self._small, _RED
            )

    # --- samples with pictures

    def _grid(self) -> None:
        """Set samples side by side, the pictures of each one below the other, then its texts."""
        for begin in range(0, self.samples, _ACROSS):
            numbers = range(begin, min(begin + _ACROSS, self.samples))
            for column, scale in self._pictures:
                self._below_one_another(numbers, column, scale)
            self._all_below(numbers, self._texts_of)
            self._y += _GAP

    def _below_one_another(self, numbers: range, column: Column, scale: PixelRange) -> None:
        top = self._y
        shown = [
            drawn(column.pictures[one], scale) if one < len(column.pictures) else None
            for one in numbers
        ]
        for place, image in enumerate(shown):
            if image is not None:
                self._images.append(((self._left(place), top), image))
        self._y = top + max((one.height for one in shown if one is not None), default=0) + 3
        several = len(self._pictures) > 1

        def said(number: int) -> list[tuple[str, str]]:
            if number >= len(column.pictures):
                return []
            picture = column.pictures[number]
            size = f"{picture.width} x {picture.height}"
            lines = [(f"{column.name}, {size}" if several else size, _GREY)]
            lines += [(text, _GREY) for text in (in_words(picture.stats), scale.said) if text]
            odd = picture.stats.odd
            return [*lines, *([(odd, _RED)] if odd else [])]

        self._all_below(numbers, said)
        self._y += _GAP // 2

    def _all_below(self, numbers: range, said: Any) -> None:
        """Write below each sample of a row what there is to say, and go on below the longest."""
        top = lowest = self._y
        for place, number in enumerate(numbers):
            self._y = top
            for text, fill in said(number):
                line = self._small.cut(self._small.sayable(text), SIDE)
                self._write([line], self._left(place), self._small, fill)
            lowest = max(lowest, self._y)
        self._y = lowest

    def _texts_of(self, number: int) -> list[tuple[str, str]]:
        """Give the captions and labels of a sample."""
        lines = []
        for one in self._texts:
            if number < len(one.texts):
                said = one.texts[number] or '""'
                head = f"{one.name}: "
                lines += [(line, _INK) for line in self._small.wrap(head + said, SIDE, _BELOW)]
        return lines

    def _left(self, place: int) -> int:
        return _MARGIN + place * (SIDE + _GAP)

    # --- samples without pictures

    def _rows(self) -> None:
        """Write samples one below the other."""
        left = _MARGIN + _NUMBER_WIDTH
        room = WIDTH - _MARGIN - left
        for number in range(self.samples):
            self._lines.append(Written((_MARGIN, self._y), str(number + 1), self._small, _GREY))
            for one in self._texts:
                if number < len(one.texts):
                    said = one.texts[number] or '""'
                    text = f"{one.name}: {said}" if len(self._texts) > 1 else said
                    self._write(self._small.wrap(text, room, _ALONE), left, self._small)
            self._y += _GAP // 2

    # --- the picture

    def drawn(self) -> Any:
        """Draw it."""
        from PIL import Image, ImageDraw

        image = Image.new("RGB", (WIDTH, self._y), _PAPER)
        draw = ImageDraw.Draw(image)
        for at, picture in self._images:
            x, y = at
            edge = (x - 1, y - 1, x + picture.width, y + picture.height)
            draw.rectangle(edge, outline=_FRAME)
            image.paste(picture, at)
        for one in self._lines:
            one.letters.write(draw, one.at, one.text, one.fill)
        bottom = self._y - 1
        draw.line((0, bottom, WIDTH, bottom), fill=_LINE)
        return image
