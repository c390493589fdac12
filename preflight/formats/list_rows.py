"""Reads the rows of lists (CSV, JSON, JSON Lines, texts, Parquet), each as texts by their names."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeAlias

from preflight.formats.suffixes.images import is_image

_MOST_ROWS = 2_000_000
_FEWEST = 4
_DEEPEST = 6

_NUMBERED = re.compile(r"(?:\d+\s+)?(.+?\.\w{2,5})(?=[\s,;|]|$)").match
_PARTS = re.compile(r"[\s,;|]")

Row: TypeAlias = dict[str, str]


def rows_of(path: str) -> Iterator[Row]:
    """Give the rows of a list, as far as it is one."""
    try:
        if path.endswith(".parquet"):
            yield from _of_parquet(path)
            return
        with open(path, encoding="utf-8-sig", newline="") as file:
            if path.endswith(".json"):
                yield from _of_json(json.load(file))
            elif path.endswith(".jsonl"):
                yield from _of_json([json.loads(line) for line in file if not line.isspace()])
            elif path.endswith((".csv", ".tsv")):
                yield from _of_table(file.read().splitlines())
            else:
                lines = [line.strip() for line in file]
                yield from ({"": _first(line)} for line in lines if line)
    except (OSError, ValueError, NotImplementedError, RecursionError, MemoryError, csv.Error):
        return  # nobody has said that it is a list


def _first(line: str) -> str:
    """Give what a line of a text names, behind a number and before labels."""
    match = _NUMBERED(line)
    return match[1] if match and is_image(match[1]) else _PARTS.split(line)[0]


def _of_table(lines: Sequence[str]) -> Iterator[Row]:
    first = lines[0] if lines else ""
    delimiter = max(",\t;|", key=first.count)
    rows = csv.reader(lines, delimiter=delimiter)
    names = next(rows, [])
    if any(map(is_image, names)):  # it has no names of columns
        yield {str(place): value for place, value in enumerate(names)}
        names = [str(place) for place in range(len(names))]
    for row in rows:
        yield {name: value.strip() for name, value in zip(names, row, strict=False)}


def _of_parquet(path: str) -> Iterator[Row]:
    """Give the columns of texts, where pyarrow is there to read them."""
    try:
        import pyarrow.parquet
    except ImportError:
        return  # it is told as not read
    with pyarrow.parquet.ParquetFile(path) as file:
        texts = [
            one.name for one in file.schema_arrow if str(one.type) in ("string", "large_string")
        ]
        if texts and file.metadata.num_rows <= _MOST_ROWS:
            for part in file.iter_batches(columns=texts):
                rows = part.to_pylist()
                yield from ({name: text or "" for name, text in row.items()} for row in rows)


def _of_json(value: Any) -> Iterator[Row]:
    """Give the texts of the objects in a value, by their places in it; keys may be names, too."""
    stack: list[tuple[Any, str, int]] = [(value, "", 0)]
    left = _MOST_ROWS
    while stack and left:
        one, place, depth = stack.pop()
        left -= 1
        if isinstance(one, dict):
            if len(one) >= _FEWEST and all(map(is_image, one)):
                yield from ({place: name} for name in one)
            plain = {
                f"{place}.{key}".lstrip("."): str(text)
                for key, text in one.items()
                if isinstance(text, (str, int)) and not isinstance(text, bool)
            }
            if depth and plain:
                yield plain
            inner: Iterable[tuple[str, Any]] = ((f"{place}.{key}", two) for key, two in one.items())
        elif isinstance(one, list):
            yield from ({place: text} for text in one if isinstance(text, str))
            inner = ((place, two) for two in reversed(one))
        else:
            continue
        if depth < _DEEPEST:
            stack += [(two, at, depth + 1) for at, two in inner if isinstance(two, (dict, list))]
