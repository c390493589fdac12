"""Reads off a live data set which number it gives to the files of each folder."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from preflight.objects.attributes import own_attributes
from preflight.objects.rows_of_names import MOST, NAMED, cells
from preflight.pipelines.facts import ClassNumber

_DEEPEST = 6

# What stands in a data set and has its rows: that of torch's Subset, and of timm's ImageDataset.
_INNER = ("dataset", "reader")


def class_numbers(dataset: object, depth: int = 0) -> tuple[ClassNumber, ...]:
    """Give the folders of its files with their labels, where each folder has one of its own.

    By the rows themselves, `(path, label)`, or by a list of paths beside one of labels:
    `class_to_idx` says what they were before somebody changed them.
    """
    own = own_attributes(dataset)
    if own.get("target_transform") is not None:
        return ()
    for rows in _labelled(own):
        found = _numbers(rows)
        if len(found) > 1:
            return tuple(ClassNumber(*one) for one in sorted(found.items()))
    for name in _INNER if depth < _DEEPEST else ():
        if own.get(name) is not None and (found_there := class_numbers(own[name], depth + 1)):
            return found_there
    return ()


def _labelled(own: Mapping[str, Any]) -> Iterator[list[tuple[str, int]]]:
    """Give each list of paths with labels, and the only two lists that are such side by side."""
    lists = [one[:MOST] for one in own.values() if type(one) in (list, tuple) and len(one) > 1]
    yield from filter(None, map(_pairs, lists))
    paths = [one for one in lists if all(type(row) is str for row in one)]
    vectors = filter(None, map(_vector, own.values()))
    beside = [one for one in (*lists, *vectors) if paths and len(one) == len(paths[0])]
    labels = [one for one in beside if all(type(row) is int for row in one)]
    if len(paths) == len(labels) == 1:
        yield list(zip(paths[0], labels[0], strict=True))


def _pairs(rows: Sequence[object]) -> list[tuple[str, int]]:
    found: list[tuple[str, int]] = []
    for row in rows:
        values: Any = row.values() if isinstance(row, dict) else row
        if not (type(row) in (list, dict) or issubclass(type(row), tuple)):
            return []
        texts = [text for _, text in cells(row)]
        paths = texts if len(texts) == 1 else [one for one in texts if NAMED(one)]
        labels = [one for one in values if type(one) is int]
        if len(paths) != 1 or len(labels) != 1:
            return []
        found.append((paths[0], labels[0]))
    return found


def _vector(value: Any) -> list[object]:
    """Give what is in a vector of torch or numpy."""
    if type(value).__module__ not in ("numpy", "torch") or getattr(value, "is_meta", False):
        return []
    is_vector = type(value).__name__ in ("ndarray", "Tensor") and value.ndim == 1
    return value.tolist() if is_vector and 1 < len(value) <= MOST else []


def _numbers(rows: list[tuple[str, int]]) -> dict[str, int]:
    found: dict[str, int] = {}
    for path, label in rows:
        folder = os.path.basename(os.path.dirname(path))
        if found.setdefault(folder, label) != label:
            return {}
    many = len(rows) > len(found)  # of one file each, a number may count anything
    return found if many and len(set(found.values())) == len(found) else {}
