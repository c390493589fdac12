"""Reads captions as trainers do, for keys that are made of them."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any, TypeAlias

from preflight.pairing.lengths import LONGEST
from preflight.pairing.tables import CAPTIONS, LONGEST_LINE, MOST

Captions: TypeAlias = tuple[tuple[str, ...], ...]
"""Ways to read the captions of one sample. In each, an entry is made of every one of them."""

# Lines of a table after which it is said again that work goes on.
_OFTEN = 512

_MARK = "\ufeff"


def ways_to_read(text: str) -> Captions:
    """Read a file of captions in the ways in which trainers do.

    As it is; with its ends of lines as Python reads them; stripped; each line for itself, as
    SimpleTuner does; the first line alone, as kohya's scripts do. The mark that Notepad puts at the
    beginning is part of a caption to some, and to others not.
    """
    if text.startswith(_MARK):
        without = ways_to_read(text.removeprefix(_MARK))
        return tuple(dict.fromkeys([(text,), (text.strip(),), *without]))
    if text == text.strip() and "\n" not in text and "\r" not in text:
        return ((text,),)
    plain = text.replace("\r\n", "\n").replace("\r", "\n")
    ways: list[tuple[str, ...]] = [(text,), (plain,), (text.strip(),), (plain.strip(),)]
    ways.append(tuple(line for line in text.split("\n") if line))
    stripped = tuple(line for line in map(str.strip, plain.split("\n")) if line)
    ways += [stripped, stripped[:1]]
    return tuple(dict.fromkeys(way for way in ways if way))


def is_blank(captions: Captions) -> bool:
    """Whether nothing is said in them, as where a caption was left empty on purpose."""
    return not any(text.strip().strip(_MARK) for texts in captions for text in texts)


def of_name(stem: str) -> Captions:
    """Take a file's name for its caption: as it is, and as SimpleTuner does."""
    return tuple(dict.fromkeys([(stem,), (stem.replace("_", " "),)]))


def of_bytes(content: bytes, *, is_json: bool) -> Captions:
    """Read the content of a caption file; nothing where it is no caption."""
    if len(content) > LONGEST:
        return ()
    try:
        if is_json:
            return of_json(json.loads(content))
        return ways_to_read(content.decode("utf-8"))
    except (ValueError, RecursionError):
        return ()


def of_json(value: Any) -> Captions:
    """Find the caption in what a JSON file or a line of a table holds."""
    if isinstance(value, dict):
        value = next((value[key] for key in CAPTIONS if value.get(key) is not None), None)
    if isinstance(value, str):
        return ways_to_read(value)
    if isinstance(value, list) and value and all(isinstance(one, str) for one in value):
        return tuple(dict.fromkeys([tuple(value), (value[0],)]))
    return ()


def read_file(path: str, *, is_json: bool) -> Captions:
    """Read a caption file; nothing where it is gone, or is no caption."""
    try:
        with open(path, "rb", buffering=0) as file:
            content = file.read(LONGEST + 1) or b""
    except OSError:
        return ()
    return of_bytes(content, is_json=is_json)


class Table:
    """A metadata.jsonl: where in it the line of each file begins, and nothing else of it."""

    def __init__(self, path: str, place: str, tell: Callable[[str], object]) -> None:
        """Read it through; names in it are below its folder, the place."""
        self._path = path
        self._offsets: dict[str, int] = {}
        with open(path, "rb") as file:
            for number in range(MOST):
                if not number % _OFTEN:
                    tell(place)
                offset = file.tell()
                line = file.readline(LONGEST_LINE)
                if not line:
                    return
                name = _row(line).get("file_name")
                if isinstance(name, str):
                    self._offsets.setdefault(_below(place, name), offset)

    def find(self, name: str) -> Captions | None:
        """Give the captions of a file, by its name below the data set's folder; None: no line."""
        offset = self._offsets.get(name)
        if offset is None:
            return None
        try:
            with open(self._path, "rb") as file:
                file.seek(offset)
                return of_json(_row(file.readline(LONGEST_LINE)))
        except OSError:
            return ()


def _row(line: bytes) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return {}  # sample-unpaired tells what is wrong with the table
    return row if isinstance(row, dict) else {}


def _below(place: str, name: str) -> str:
    name = os.path.normpath(name.replace("\\", "/")).replace(os.sep, "/")
    return f"{place}/{name}" if place else name
