"""Reads a metadata.jsonl: which images it captions, as Hugging Face's `imagefolder` reads it.

Each line is an object: `{"file_name": "a/dog.jpg", "text": "a dog"}`. It is read line by line and
nothing of it is kept but names, since it may be of any size, and of anybody's making.
"""

from __future__ import annotations

import json
import os
import posixpath
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, BinaryIO

from preflight.file_access.facts import Damage
from preflight.file_access.place import HERE
from preflight.kinds.asked import Asked, CannotLookError
from preflight.pairing.facts import Captioned
from preflight.pairing.lengths import Lengths
from preflight.values.names import name_of, shown

LONGEST_LINE = 1 << 22
"""Bytes of one line that are read; none that captions an image is as long."""

MOST = 5_000_000
"""Lines that are read, and as many files: some ten seconds."""

_TOLD = 5
"""Damaged lines that are told one by one."""

_OFTEN = 1024
"""Lines after which it is said again that work goes on."""

CAPTIONS = ("text", "caption", "captions", "prompt", "prompts", "description", "sentence", "txt")
"""Keys of captions in JSON, as data sets and the scripts of diffusers name them."""

_FORMS = ((b"\xff\xfe", "UTF-16"), (b"\xfe\xff", "UTF-16"), (b"\x1f\x8b", "gzip"))

_LONE = re.compile(r"[\ud800-\udfff]").search

Tell = Callable[[str], object]


class _FlawError(ValueError):
    """A line at which a reader stops; the text says why."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(text)
        self.kind = kind


def look(asked: Asked) -> Iterator[Captioned]:
    """Read the table that is asked about."""
    yield read_table(asked.wire["path"], asked.root, asked.alive)


def read_table(path: str, root: str, tell: Tell) -> Captioned:
    """Read one table to its end.

    Raises:
        OSError: it cannot be opened or read.
        CannotLookError: it is larger than what is looked at.
    """
    name = name_of(path, root)
    with open(os.path.join(root, path), "rb") as file:
        return _Table(name).read(file, tell)


class _Table:
    """What was met so far."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.rows = 0
        self.captioned = bytearray()
        self.empty = bytearray()
        self.unnamed = 0
        self.first_unnamed = 0
        self.damage: list[Damage] = []
        self.damaged = 0
        self.lengths = Lengths()
        self._files = 0
        self._kinds: dict[str, type] = {}
        self._place = posixpath.dirname(name)

    def read(self, file: BinaryIO, tell: Tell) -> Captioned:
        size = os.fstat(file.fileno()).st_size
        for number, line in _lines(file):
            if not number % _OFTEN:
                HERE.at, HERE.size = file.tell(), size
                tell(self.name)
            try:
                for row in _rows(line, first=number == 1):
                    self._take(row, number)
            except _FlawError as error:
                self._note(error.kind, f"line {number:,} {error}", number)
                if error.kind == "form":
                    break
        if not self.rows and not self.damaged:
            self._note("empty", "it is empty", None)
        if self.captioned and self.unnamed:
            first = self.first_unnamed
            self._note("unnamed", f"line {first:,} names no file", first)
            self.damaged += self.unnamed - 1
        return Captioned(
            file=self.name,
            rows=self.rows,
            captioned=_text(self.captioned),
            empty=_text(self.empty),
            damage=tuple(self.damage),
            damaged=self.damaged,
            lengths=self.lengths.told(),
        )

    def _note(self, kind: str, text: str, line: int | None) -> None:
        self.damaged += 1
        if len(self.damage) < _TOLD:
            self.damage.append(Damage(kind=kind, text=text, line=line))

    def _take(self, row: dict[str, Any], number: int) -> None:
        self.rows += 1
        files = list(_files(row))
        if not files:
            self.unnamed += 1
            self.first_unnamed = self.first_unnamed or number
        caption = self._caption(row)
        first = ""
        for file in files:
            self._files += 1
            kept = self.captioned if caption else self.empty
            name = self._named(file)
            first = first or name
            kept += name.encode("utf-8", "surrogatepass") + b"\0"
        if first and isinstance(caption, str):
            self.lengths.add(caption, len(caption.encode("utf-8", "surrogatepass")), first)
        if self._files > MOST:
            raise CannotLookError(f"it names more than {MOST:,} files, which are not looked at")

    def _caption(self, row: dict[str, Any]) -> str | bool:
        """Give a row's caption; of anything but a text only whether there is one."""
        found: str | bool = False
        for key in CAPTIONS:
            value = row.get(key)
            if value is None:
                continue
            before = self._kinds.setdefault(key, type(value))
            if type(value) is not before:
                what = f"{_called(type(value))}, and {_called(before)} in the lines before"
                raise _FlawError("type", f"has a {key} that is {what}")
            if not isinstance(value, str):
                return bool(value != [])
            if value.strip():
                return value
            found = ""
        return found

    def _named(self, file: str) -> str:
        plain = file.replace("\\", "/")
        if "\0" in plain or _LONE(plain):
            raise _FlawError("file_name", "has a file_name that no file can have")
        if plain.startswith("/") or plain[1:2] == ":":
            raise _FlawError("outside", f"names {_short(file)}, which is no relative path")
        if plain.startswith(".") or "/." in plain or "//" in plain or plain.endswith("/"):
            plain = posixpath.normpath(plain)
            if plain == ".." or plain.startswith("../"):
                raise _FlawError("outside", f"names {_short(file)}, which lies outside its folder")
        return f"{self._place}/{plain}" if self._place not in ("", "/") else self._place + plain


def _lines(file: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """Give the lines that are not blank, each with its number."""
    number = 0
    while line := file.readline(LONGEST_LINE + 1):
        number += 1
        if len(line) > LONGEST_LINE:
            raise CannotLookError(
                f"line {number:,} has more than {LONGEST_LINE:,} bytes, which are not looked at"
            )
        if number > MOST:
            raise CannotLookError(f"it has more than {MOST:,} lines, which are not looked at")
        if not line.isspace():
            yield number, line


def _rows(line: bytes, *, first: bool) -> Iterator[dict[str, Any]]:
    """Give the objects of a line: one, and where no line ends between them, several."""
    for mark, form in _FORMS if first else ():
        if line.startswith(mark):
            raise _FlawError("form", f"is {form}, and not JSON in UTF-8")
    try:
        text = line.decode("utf-8-sig" if first else "utf-8")
    except UnicodeDecodeError as error:
        raise _FlawError("encoding", f"is no UTF-8, from its byte {error.start + 1:,} on") from None
    text = text.strip(" \t\r\n")
    at = 0
    while at < len(text):
        try:
            row, at = _DECODER.raw_decode(text, at)
        except json.JSONDecodeError as error:
            why = f"is no JSON: {error.msg} in column {error.pos + 1:,}"
            raise _FlawError("json", why) from None
        except RecursionError:
            raise _FlawError("json", "is JSON too deep to be read") from None
        if not isinstance(row, dict):
            raise _FlawError("json", f"is {_called(type(row))}, and not an object with a file_name")
        yield row
        while text[at : at + 1] in (" ", "\t", "\r"):
            at += 1


def _number(digits: str) -> int:
    """Take a number for its length: a million digits would take minutes."""
    return len(digits)


_DECODER = json.JSONDecoder(parse_int=_number, parse_float=_number, parse_constant=_number)


def _files(row: dict[str, Any]) -> Iterator[str]:
    """Give the files that a row names: `file_name`, `mask_file_name`, `file_names`."""
    for key, value in row.items():
        if not key.endswith(("file_name", "file_names")):
            continue
        if key not in ("file_name", "file_names") and "_file_name" not in key:
            continue
        several: Iterable[Any] = value if isinstance(value, list) else (value,)
        for one in several:
            if one is None or one == "":
                continue
            if not isinstance(one, str):
                raise _FlawError("file_name", f"has a {shown(key)} that is {_called(type(one))}")
            yield one


_WORDS = {str: "a text", list: "a list", dict: "an object", bool: "true or false", int: "a number"}


def _called(kind: type) -> str:
    return _WORDS.get(kind, "null")


def _short(text: str) -> str:
    return shown(text if len(text) <= 200 else f"{text[:200]}…")


def _text(names: bytearray) -> str:
    return names[:-1].decode("utf-8", "surrogatepass")
