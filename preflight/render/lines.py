"""Lines of a page: pieces of text, measured in terminal cells, that any console can take."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple, TypeAlias

from preflight.render.groups import is_command
from preflight.values.names import shown

MARK = "…"
"""The one sign of ours that is not ASCII; `..` where the console cannot say it."""

MEASURE = 100
"""Columns at most; longer lines are hard to read, and far places hard to match with their text."""

_NARROWEST = 40

# A member of an archive may have a name of 64 KiB; no page needs more of it than this.
_LONGEST_WORD = 500
_LONGEST_TEXT = 2_000

# A word with the space behind it; what stands between backticks is one word.
_WORD = re.compile(r"((?:[^\s`]*`[^`\n]{1,200}`[^\s`]*)|\S+)(\s*)")


class Span(NamedTuple):
    """A piece of a line, what it is (`place`, `id`, `verdict.go`; never a colour), and its link."""

    text: str
    style: str = ""
    link: str | None = None


Line: TypeAlias = tuple[Span, ...]


class Paper(NamedTuple):
    """How wide the page is, and what its console can say."""

    width: int
    encoding: str
    mark: str
    """What stands for text that was left out."""

    @classmethod
    def of(cls, width: int, encoding: str) -> Paper:
        """Take the width up to where reading is easy; an unknown encoding counts as ASCII."""
        try:
            name = codecs.lookup(encoding).name
        except LookupError:
            name = "ascii"
        mark = MARK if MARK.encode(name, "ignore") else ".."
        return cls(min(max(width, _NARROWEST), MEASURE), name, mark)

    def say(self, text: str) -> str:
        """Escape what a console would obey, and what this one has no character for."""
        text = shown(_clipped(text, _LONGEST_TEXT)).replace(MARK, self.mark)
        return text.encode(self.encoding, "backslashreplace").decode(self.encoding)

    def wrap(self, text: str, width: int, *, commands: bool = False) -> list[str]:
        """Break text between words; a word that is longer than the line stands alone on its own.

        A command, which stands behind two spaces and ends as no sentence, may be kept in one piece.
        """
        prose, gap, command = text.rpartition("  ") if commands else (text, "", "")
        if not (gap and is_command(command)):
            prose, command = text, ""
        words = [
            (self.say(_clipped(word, _LONGEST_WORD)), gap) for word, gap in _WORD.findall(prose)
        ]
        if command:
            words = [*words[:-1], *((word, "  ") for word, _ in words[-1:]), (command, "")]
        lines: list[str] = []
        line, gap = "", ""
        for word, space in words:
            if line and cells(line + gap + word) > width:
                lines.append(line)
                line = word
            else:
                line = line + gap + word
            gap = space
        return [*lines, line] if line else lines

    def shorten(self, text: str, width: int) -> str:
        """Cut text behind a word, with a mark, so that it is no wider than this."""
        if cells(text) <= width:
            return text
        room = width - cells(self.mark)
        whole = ""
        for word, space in _WORD.findall(text):
            if cells(whole + word) > room:
                break
            whole += word + space
        is_narrow = bool(whole) and room < _NARROWEST  # there, what is left of a word says nothing
        kept = whole if is_narrow or cells(whole) > room // 2 else _first_cells(text, room)
        return kept.rstrip(" ,;:(") + self.mark

    def shorten_path(self, path: str, width: int) -> str:
        """Cut a path in front, where a folder begins if possible, since its end tells most."""
        if cells(path) <= width:
            return path
        room = width - cells(self.mark)
        tail = _first_cells(path[::-1], room)[::-1]
        _, slash, below = tail.partition("/")
        return self.mark + (slash + below if below else tail)


def cells(text: str) -> int:
    """How many columns a terminal gives this text: two for each Chinese character or emoji."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def spread(left: Line, right: Span, width: int) -> Line:
    """Put one piece at the right edge of a line; the caller has made sure that it fits."""
    used = sum(cells(span.text) for span in left)
    gap = max(width - used - cells(right.text), 1)
    return (*left, Span(" " * gap), right)


def hanging(head: Line, pieces: Iterable[str]) -> Iterator[Line]:
    """Put pieces of a text beside its head, one below the other."""
    for piece in pieces:
        yield (*head, Span(piece))
        head = (Span(" " * sum(cells(span.text) for span in head)),)


def padded(text: str, width: int) -> str:
    """Fill up with spaces to this many cells."""
    return text + " " * (width - cells(text))


def _clipped(text: str, length: int) -> str:
    """Leave out the middle of what is longer than any reader would follow."""
    return text if len(text) <= length else f"{text[: length // 2]}{MARK}{text[-length // 2 :]}"


def _first_cells(text: str, width: int) -> str:
    used = 0
    for index, character in enumerate(text):
        used += cells(character)
        if used > width:
            return text[:index]
    return text
