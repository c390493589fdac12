"""Gives names of files that stand in lists, tables and arrays; no code of the user is called."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from preflight.objects.attributes import own_attributes

MOST = 100_000
"""Files that are told; of longer lists some from all over."""

_LONGEST = 4_096
_CELLS = 16
NAMED = re.compile(r"[^\r\n]*\.[A-Za-z0-9]{1,8}").fullmatch
"""Whether a text may be the name of a file."""


def lists_in(value: Any, picked: Sequence[int] | None) -> Iterator[tuple[list[str], int]]:
    """Give each column of a list that holds names of files, and how many rows there are."""
    kind = type(value)
    home = kind.__module__.partition(".")[0]
    if kind in (list, tuple):
        yield from named_in(value, picked)
    elif kind is dict:
        if value and all(type(one) in (list, tuple) for one in islice(value.values(), _CELLS)):
            for one in islice(value.values(), _CELLS):
                yield from named_in(one, picked)
        rows = list(islice(value.items(), MOST))
        yield from ((names, len(value)) for names, _ in named_in(rows, None))
    elif home == "numpy" and kind.__name__ == "ndarray" and value.ndim and value.dtype.kind in "UO":
        for names, _ in named_in(value[drawn(len(value), picked)].tolist(), None):
            yield names, len(value if picked is None else picked)
    elif home == "pandas" and kind.__name__ in ("Series", "DataFrame"):
        for one in [value] if kind.__name__ == "Series" else [value[name] for name in value]:
            rows = one.iloc[drawn(len(value), picked)].tolist()
            yield from ((names, len(value)) for names, _ in named_in(rows, None))


def drawn(rows: int, picked: Sequence[int] | None) -> list[int]:
    """Give places from all over a list, no more of them than are told."""
    if picked is not None and picked and max(picked) < rows:
        return list(picked[:: len(picked) // MOST + 1])
    return list(range(0, rows, rows // MOST + 1))


def named_in(rows: Sequence[Any], picked: Sequence[int] | None) -> Iterator[tuple[list[str], int]]:
    """Give the columns of rows that hold names of files, each with how many rows they stand for."""
    if not any(cells(one) for one in rows[: _CELLS * 2]):
        return  # numbers, tensors: nothing that could be a name
    places = drawn(len(rows), picked)
    columns: dict[object, list[str]] = {}
    for place in places:
        for key, name in cells(rows[place]):
            columns.setdefault(key, []).append(name)
    total = len(picked) if picked is not None and len(places) < len(rows) else len(rows)
    for names in columns.values():
        if all(map(NAMED, names)):
            yield names, round(total * len(names) / len(places))


def cells(row: object) -> list[tuple[object, str]]:
    """Give what may be names of files in a row, each with the name of its column."""
    path = path_in(row)
    if path is not None:
        return [("", path)]
    cells: Mapping[Any, object] = {}
    if issubclass(type(row), tuple) or type(row) is list:
        cells = dict(enumerate(row[:_CELLS]))  # type: ignore[index]
    elif type(row) is dict:
        cells = dict(islice(row.items(), _CELLS))
    else:
        cells = own_attributes(row)
    named = ((key, path_in(value)) for key, value in islice(cells.items(), _CELLS))
    return [(key, one) for key, one in named if one is not None]


def path_in(value: object) -> str | None:
    """Give a text, or a path of the standard library, as a text."""
    if type(value).__module__ in ("pathlib", "pathlib._local"):  # no user's own kind of path
        value = os.fspath(value)  # type: ignore[call-overload]
    return value if type(value) is str and 0 < len(value) < _LONGEST else None
