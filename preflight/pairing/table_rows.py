"""Reads a table line by line, as Hugging Face's `imagefolder` reads it: JSON Lines, or CSV.

A row is an object of names and values: `{"file_name": "a/dog.jpg", "text": "a dog"}`. In CSV the
first line has the names, and a value that is empty is none. Of any size, and of anybody's making.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator
from typing import Any, BinaryIO, TypeAlias

from preflight.kinds.asked import CannotLookError

LONGEST_LINE = 1 << 22
"""Bytes of one line that are read; none that captions an image is as long."""

MOST = 5_000_000
"""Lines that are read, and as many files: some ten seconds."""

_FORMS = ((b"\xff\xfe", "UTF-16"), (b"\xfe\xff", "UTF-16"), (b"\x1f\x8b", "gzip"))


_PARTED_OTHERWISE = re.compile(r"file_names?\s*[;|\t]|[;|\t]\s*file_name").search

Line: TypeAlias = tuple[int, bytes]
"""A line with its number."""


class FlawError(ValueError):
    """A line at which a reader stops; the text says why."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(text)
        self.kind = kind


def lines_of(file: BinaryIO) -> Iterator[Line]:
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


def objects_in(line: bytes, *, first: bool) -> Iterator[dict[str, Any]]:
    """Give the objects of a line: one, and where no line ends between them, several."""
    text = _text_of(line, first=first).strip(" \t\r\n")
    at = 0
    while at < len(text):
        try:
            row, at = _DECODER.raw_decode(text, at)
        except json.JSONDecodeError as error:
            why = f"is no JSON: {error.msg} in column {error.pos + 1:,}"
            raise FlawError("json", why) from None
        except RecursionError:
            raise FlawError("json", "is JSON too deep to be read") from None
        if not isinstance(row, dict):
            raise FlawError("json", f"is {called(type(row))}, and not an object with a file_name")
        yield row
        while text[at : at + 1] in (" ", "\t", "\r"):
            at += 1


def csv_rows(lines: Iterator[Line]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Give the rows of a CSV file, each with the number of its last line.

    Raises:
        FlawError: pandas, by which imagefolder reads it, raises here.
        CannotLookError: a value is longer than what is looked at.
    """
    number = 0

    def texts() -> Iterator[str]:
        nonlocal number
        for number, line in lines:
            yield _text_of(line, first=number == 1)
        yield "\n"  # a row of nothing, unless quotes are open

    reader = csv.reader(texts())
    try:
        names = next(reader)
        if len(names) == 1 and _PARTED_OTHERWISE(names[0]):
            raise FlawError("commas", "parts its names by something else than commas")
        row = names
        for row in reader:
            if len(row) > len(names):
                raise FlawError("fields", f"has {len(row)} values, and line 1 {len(names)} names")
            if row:
                yield number, {name: value or None for name, value in zip(names, row, strict=False)}
        if row:
            raise FlawError("quote", "is the last, and a quote before its end is not closed")
    except csv.Error as error:
        raise CannotLookError(f"line {number:,} cannot be taken apart: {error}") from None


def _text_of(line: bytes, *, first: bool) -> str:
    """Decode a line.

    Raises:
        FlawError: it is no UTF-8.
    """
    for mark, form in _FORMS if first else ():
        if line.startswith(mark):
            raise FlawError("form", f"is {form}, and no text in UTF-8")
    try:
        return line.decode("utf-8-sig" if first else "utf-8")
    except UnicodeDecodeError as error:
        raise FlawError("encoding", f"is no UTF-8, from its byte {error.start + 1:,} on") from None


def _number(digits: str) -> int:
    """Take a number for its length: a million digits would take minutes."""
    return len(digits)


_DECODER = json.JSONDecoder(parse_int=_number, parse_float=_number, parse_constant=_number)

_WORDS = {str: "a text", list: "a list", dict: "an object", bool: "true or false", int: "a number"}


def called(kind: type) -> str:
    """Say what a value of JSON is, for people."""
    return _WORDS.get(kind, "null")
