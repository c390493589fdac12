"""Reads a table (metadata.jsonl, metadata.csv): which images it captions, as `imagefolder` does.

Nothing of it is kept but names, since it may be of any size, and of anybody's making.
"""

from __future__ import annotations

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
from preflight.pairing.table_rows import (
    MOST,
    FlawError,
    Line,
    called,
    csv_rows,
    lines_of,
    objects_in,
)
from preflight.values.names import name_of, shown

_TOLD = 5
"""Damaged lines that are told one by one."""

_OFTEN = 1 << 16
"""Bytes after which it is said again that work goes on."""

CAPTIONS = ("text", "caption", "captions", "prompt", "prompts", "description", "sentence", "txt")
"""Names of captions in a row, as data sets and the scripts of diffusers name them."""

_LONE = re.compile(r"[\ud800-\udfff]").search

Tell = Callable[[str], object]


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
        self._line = 0
        self._files = 0
        self._kinds: dict[str, type] = {}
        self._place = posixpath.dirname(name)

    def read(self, file: BinaryIO, tell: Tell) -> Captioned:
        lines = self._told(file, tell)
        if self.name.endswith(".csv"):
            self._read_csv(lines)
        else:
            self._read_objects(lines)
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

    def _told(self, file: BinaryIO, tell: Tell) -> Iterator[Line]:
        size = os.fstat(file.fileno()).st_size
        silent = 0
        for self._line, line in lines_of(file):
            silent += len(line)
            if silent > _OFTEN:
                HERE.at, HERE.size = file.tell(), size
                tell(self.name)
                silent = 0
            yield self._line, line

    def _read_objects(self, lines: Iterator[Line]) -> None:
        for number, line in lines:
            try:
                for row in objects_in(line, first=number == 1):
                    self._take(row, number)
            except FlawError as error:
                self._stops(error)
                if error.kind == "form":
                    break

    def _read_csv(self, lines: Iterator[Line]) -> None:
        try:
            for number, row in csv_rows(lines):
                try:
                    self._take(row, number)
                except FlawError as error:
                    self._stops(error)
        except FlawError as error:  # nothing behind it is read
            self._stops(error)

    def _stops(self, error: FlawError) -> None:
        self._note(error.kind, f"line {self._line:,} {error}", self._line)

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
                what = f"{called(type(value))}, and {called(before)} in the lines before"
                raise FlawError("type", f"has a {key} that is {what}")
            if not isinstance(value, str):
                return bool(value != [])
            if value.strip():
                return value
            found = ""
        return found

    def _named(self, file: str) -> str:
        plain = file.replace("\\", "/")
        if "\0" in plain or _LONE(plain):
            raise FlawError("file_name", "has a file_name that no file can have")
        if plain.startswith("/") or plain[1:2] == ":":
            raise FlawError("outside", f"names {_short(file)}, which is no relative path")
        if plain.startswith(".") or "/." in plain or "//" in plain or plain.endswith("/"):
            plain = posixpath.normpath(plain)
            if plain == ".." or plain.startswith("../"):
                raise FlawError("outside", f"names {_short(file)}, which lies outside its folder")
        return f"{self._place}/{plain}" if self._place not in ("", "/") else self._place + plain


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
                raise FlawError("file_name", f"has a {shown(key)} that is {called(type(one))}")
            yield one


def _short(text: str) -> str:
    return shown(text if len(text) <= 200 else f"{text[:200]}…")


def _text(names: bytearray) -> str:
    return names[:-1].decode("utf-8", "surrogatepass")
