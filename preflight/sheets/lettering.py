"""Writes text on a picture with the fonts that are at hand, and escapes what none of them has."""

from __future__ import annotations

import functools
import importlib.util
import os
from collections.abc import Iterator
from typing import Any

from preflight.secrets.hiding import Secrets
from preflight.values.names import shown

# Where systems have them: most of Latin, Greek and Cyrillic first, then what has other scripts.
_FONTS = (
    "DejaVuSans.ttf",
    "NotoSans-Regular.ttf",
    "LiberationSans-Regular.ttf",
    "arial.ttf",
    "Arial.ttf",
    "Arial Unicode.ttf",
    "NotoSansCJK-Regular.ttc",
    "wqy-microhei.ttc",
    "DroidSansFallbackFull.ttf",
    "msyh.ttc",
    "msgothic.ttc",
    "malgun.ttf",
    "PingFang.ttc",
    "AppleGothic.ttf",
    "NotoSansArabic-Regular.ttf",
    "NotoSansHebrew-Regular.ttf",
    "NotoSansDevanagari-Regular.ttf",
    "NotoSansThai-Regular.ttf",
)

# No font has this one.
_NOBODYS = "\U0010ffff"


class Lettering:
    """One size of letters, in the first font that has each."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.height = round(size * 1.35)
        self._fonts: list[Any] = []
        self._more = _fonts(size)
        self._by_letter: dict[str, Any] = {}
        self._secrets = Secrets.known(os.environ)

    def _font(self, index: int) -> Any:
        """Give one of the fonts, which are looked for only where they are needed."""
        while len(self._fonts) <= index:
            font = next(self._more, None)
            if font is None:
                return None
            self._fonts.append(font)
        return self._fonts[index]

    def _font_of(self, letter: str) -> Any:
        """Give the font that has a letter; None: there is none."""
        if letter not in self._by_letter:
            index, font = 0, self._font(0)
            while font is not None and not _has(font, letter):
                index += 1
                font = self._font(index)
            self._by_letter[letter] = font
        return self._by_letter[letter]

    def sayable(self, text: str) -> str:
        """Escape what no font has, and what would change the page; leave out what is secret."""
        plain = shown(" ".join(self._secrets.text(text).split()))
        if plain.isascii():
            return plain
        return "".join(one if self._font_of(one) is not None else _escaped(one) for one in plain)

    def _runs(self, text: str) -> Iterator[tuple[str, Any]]:
        """Divide a text where the font changes."""
        run, font = "", None
        for letter in text:
            own = self._font_of(letter)
            if run and own is not font:
                yield run, font
                run = ""
            run, font = run + letter, own
        if run:
            yield run, font

    def width(self, text: str) -> float:
        """Say how wide a text is."""
        return float(sum(font.getlength(run) for run, font in self._runs(text)))

    def wrap(self, text: str, width: int, most: int) -> list[str]:
        """Break a text into lines, at most so many; a longer one ends in an ellipsis."""
        lines: list[str] = []
        left = self.sayable(text)
        while left and len(lines) < most:
            fits = self._fitting(left, width)
            if fits < len(left) and len(lines) == most - 1:
                return [*lines, self.cut(left, width)]
            if fits < len(left):
                space = left.rfind(" ", 1, fits + 1)
                fits = space if space > fits // 3 else fits
            lines.append(left[:fits].rstrip())
            left = left[fits:].lstrip()
        return lines

    def cut(self, text: str, width: int) -> str:
        """Have a text end in an ellipsis where it does not fit."""
        if self.width(text) <= width:
            return text
        return text[: self._fitting(text, width - round(self.width("...")))].rstrip() + "..."

    def _fitting(self, text: str, width: int) -> int:
        """Count the letters that fit into a line, at least one."""
        low, high = 1, min(len(text), width)
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if self.width(text[:middle]) <= width else (low, middle - 1)
        return low

    def write(self, draw: Any, at: tuple[int, int], text: str, fill: str) -> None:
        """Write one line, with its upper left corner at a place."""
        left: float = at[0]
        base = at[1] + self.size
        for run, font in self._runs(text):
            anchored = hasattr(font, "getmetrics")  # the smallest font of Pillow's is no outline
            where = (left, base) if anchored else (left, at[1])
            draw.text(where, run, fill=fill, font=font, **({"anchor": "ls"} if anchored else {}))
            left += font.getlength(run)


def _escaped(letter: str) -> str:
    code = ord(letter)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _fonts(size: int) -> Iterator[Any]:
    """Give the fonts at hand, each opened when it is its turn."""
    from PIL import ImageFont

    found = False
    for name in _FONTS:
        try:
            font = ImageFont.truetype(_of_matplotlib(name) or name, size)
        except (OSError, ImportError):
            continue
        found = True
        yield font
    if not found:
        try:
            yield ImageFont.load_default(size)
        except TypeError:  # Pillow before 10.1
            yield ImageFont.load_default()


@functools.cache
def _of_matplotlib(name: str) -> str | None:
    """Give a font that matplotlib brings along."""
    try:
        spec = importlib.util.find_spec("matplotlib")
    except (ImportError, ValueError):
        return None
    if spec is None or not spec.origin:
        return None
    path = os.path.join(os.path.dirname(spec.origin), "mpl-data", "fonts", "ttf", name)
    return path if os.path.isfile(path) else None


def _has(font: Any, letter: str) -> bool:
    """Whether a font has a letter, and does not draw a box in its place."""
    if letter.isascii():
        return True
    try:
        return _shape(font, letter) != _shape(font, _NOBODYS)
    except (UnicodeEncodeError, ValueError):  # a font of Latin letters alone
        return False


def _shape(font: Any, letter: str) -> tuple[Any, bytes]:
    from PIL import Image, ImageDraw

    box = font.getbbox(letter)
    image = Image.new("L", (max(1, int(box[2]) + 2), max(1, int(box[3]) + 2)))
    ImageDraw.Draw(image).text((0, 0), letter, fill=255, font=font)
    return box, image.tobytes()
