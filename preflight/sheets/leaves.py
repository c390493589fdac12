"""Takes a batch apart into what has a value for each of its samples."""

from __future__ import annotations

import dataclasses
from collections import UserDict
from collections.abc import Iterator
from typing import Any, NamedTuple

from preflight.objects.attributes import classes
from preflight.sheets.picture_layouts import layout_of
from preflight.sheets.tensor_values import is_array

# Parts of one whole that are looked at, and wholes in wholes.
_MOST, _DEEPEST = 64, 6

# Dimensions of a batch of pictures.
_BATCHED = 4

PLAIN = (str, bytes, bool, int, float)


class Leaf(NamedTuple):
    """A part of a batch that is not taken apart further."""

    name: str
    thing: Any
    is_listed: bool = False
    """Whether it is a list with one thing for each sample."""


def leaves(batch: Any, name: str = "", depth: int = 0) -> list[Leaf]:
    """Give the parts of a batch, by names such as `image` and `[0]`."""
    try:
        return list(_leaves(batch, name, depth))
    except Exception as error:  # noqa: BLE001  a class of the user's may refuse to be asked
        return [Leaf(name or "batch", NoValue(type(error).__name__))]


def _leaves(batch: Any, name: str, depth: int) -> Iterator[Leaf]:
    inner = _parts(batch) if depth < _DEEPEST else None
    if inner is not None:
        for key, part in inner[:_MOST]:
            yield from leaves(part, _joined(name, key), depth + 1)
    elif isinstance(batch, (list, tuple)) and batch and depth < _DEEPEST:
        yield from _of_row(batch, name, depth)
    else:
        yield Leaf(name or "batch", batch)


def _joined(name: str, key: str) -> str:
    return f"{name}.{key}" if name and not key.startswith("[") else name + key


def _parts(thing: Any) -> list[tuple[str, Any]] | None:
    """Give what is in something that has names for it."""
    if isinstance(thing, (dict, UserDict)):
        return [(str(key), value) for key, value in thing.items()]
    fields = getattr(type(thing), "_fields", None)
    if isinstance(thing, tuple) and isinstance(fields, tuple):
        return list(zip(map(str, fields), thing, strict=False))
    if dataclasses.is_dataclass(thing) and not isinstance(thing, type):
        names = [one.name for one in dataclasses.fields(thing)]
        return [(one, _asked(thing, one)) for one in names]
    return None


def _asked(thing: Any, name: str) -> Any:
    try:
        return getattr(thing, name)
    except Exception as error:  # noqa: BLE001  a property of the user's
        return NoValue(type(error).__name__)


class NoValue:
    """In the place of what could not be had."""

    def __init__(self, error: str) -> None:
        self.error = error


def _of_row(row: Any, name: str, depth: int) -> Iterator[Leaf]:
    """Give a list as one leaf where it has a thing for each sample, else what is in it."""
    first = row[0]
    if _is_column(row):
        yield Leaf(name or "batch", row, is_listed=True)
        return
    parts = _parts(first)
    if parts is None and isinstance(first, (list, tuple)) and _are_samples(row):
        parts = [(f"[{number}]", one) for number, one in enumerate(first)]
    if parts is not None and all(type(one) is type(first) for one in row):
        for key, _ in parts[:_MOST]:
            yield from _column(row, key, _joined(name, key), depth + 1)
        return
    for number, one in enumerate(row[:_MOST]):
        yield from leaves(one, f"{name}[{number}]", depth + 1)


def _column(row: Any, key: str, name: str, depth: int) -> Iterator[Leaf]:
    """Give one part of each of some samples."""
    found = [dict(_parts(one) or _numbered(one)).get(key) for one in row]
    nested = depth < _DEEPEST and all(_parts(one) is not None for one in found)
    if nested:
        yield from _of_row(found, name, depth)
    else:
        yield Leaf(name, found, is_listed=True)


def _numbered(row: Any) -> list[tuple[str, Any]]:
    return [(f"[{number}]", one) for number, one in enumerate(row)]


def _is_column(row: Any) -> bool:
    """Whether a list has one value for each sample, and not one for each part."""
    if all(type(one) in PLAIN for one in row):
        return all(type(one) is str for one in row) or len({type(one) for one in row}) == 1
    if all(isinstance(one, classes("PIL.Image", "Image")) for one in row):
        return True
    if all(map(is_array, row)):
        shapes = [tuple(one.shape) for one in row]
        ranks = {len(shape) for shape in shapes}
        if ranks == {1}:
            return len({*shapes}) > 1
        one_each = all(layout_of(shape, is_whole=False) is not None for shape in shapes)
        return one_each and len(ranks) == 1 and not ranks & {2, _BATCHED}
    return all(_are_ids(one) for one in row) and len({len(one) for one in row}) > 1


def _are_ids(thing: Any) -> bool:
    return isinstance(thing, list) and bool(thing) and all(type(one) is int for one in thing)


def _are_samples(row: Any) -> bool:
    """Whether a list of lists is one of samples: of the same length, and of pictures alone."""
    if len({len(one) for one in row}) > 1 or not all(isinstance(one, (list, tuple)) for one in row):
        return False
    kinds = [[type(part) for part in one] for one in row]
    if any(one != kinds[0] for one in kinds):
        return False
    arrays = [one for one in row[0] if is_array(one)]
    if all(type(one) is str for one in row[0]):  # texts, a list of them for each of several
        return False
    return all(len(one.shape) < _BATCHED for one in arrays)
