"""Finds the names of a data set's samples in the lists that it holds, without drawing any."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from preflight.objects.attributes import classes, own_attributes

Names: TypeAlias = Callable[[int], "str | None"]
"""Gives the name of a sample by its number."""

_DEEPEST = 3

# Entries of a list that are looked at, to know whether it holds names.
_FIRST = 3


def names_of(dataset: Any, depth: int = 0) -> Names | None:
    """Find where a data set has its names; None: nobody knows."""
    if depth > _DEEPEST:
        return None
    if isinstance(dataset, (list, tuple)):
        return _in_list(dataset)
    if issubclass(type(dataset), classes("torch.utils.data", "Subset")):
        return _of_subset(dataset, depth)
    try:
        number = len(dataset)
    except Exception:  # noqa: BLE001  the user's own, or there is none
        return None
    held = own_attributes(dataset)
    for one in held.values():
        found = _in_list(one) if _is_list(one) and len(one) == number else None
        if found is not None:
            return found
    return _of_wrapped(held, number, depth)


def _of_subset(subset: Any, depth: int) -> Names | None:
    inner = names_of(subset.dataset, depth + 1)
    if inner is None:
        return None
    return lambda number: inner(int(subset.indices[number]))


def _of_wrapped(held: Mapping[str, Any], number: int, depth: int) -> Names | None:
    """Look into a data set that stands around another one of as many samples."""
    kinds = classes("torch.utils.data", "Dataset")
    for one in held.values():
        if issubclass(type(one), kinds) and hasattr(one, "__len__") and len(one) == number:
            return names_of(one, depth + 1)
    return None


def _is_list(thing: object) -> bool:
    return isinstance(thing, (list, tuple))


def _in_list(items: Sequence[Any]) -> Names | None:
    if not items or any(name_in(one) is None for one in items[:_FIRST]):
        return None
    return lambda number: name_in(items[number])


def name_in(item: Any, depth: int = 0) -> str | None:
    """Give the first text or path of an item: `("dog.png", 3)`; None: it has none."""
    if isinstance(item, str):
        return item
    if isinstance(item, os.PathLike):
        return os.fspath(item) if isinstance(os.fspath(item), str) else None
    parts = item.values() if isinstance(item, Mapping) else item
    if depth or not isinstance(item, (tuple, list, Mapping)):
        return None
    return next((name for one in parts if (name := name_in(one, 1)) is not None), None)


def texts_in(sample: Any, depth: int = 0) -> list[str]:
    """Give all texts of a sample, or of a batch of them."""
    if isinstance(sample, str):
        return [sample]
    if depth > _DEEPEST:
        return []
    if isinstance(sample, os.PathLike):
        return [str(sample)]
    parts = sample.values() if isinstance(sample, Mapping) else sample
    if not isinstance(sample, (list, tuple, Mapping)):
        return []
    return [text for one in parts for text in texts_in(one, depth + 1)]


def is_empty(sample: Any, depth: int = 0) -> bool:
    """Whether a part of a sample holds nothing, as a slice that begins below 0 does."""
    if isinstance(sample, (str, bytes, list, tuple, Mapping)) and not sample:
        return True
    if depth > _DEEPEST or not isinstance(sample, (list, tuple, Mapping)):
        shape = getattr(sample, "shape", None)
        return isinstance(shape, tuple) and 0 in shape
    parts = sample.values() if isinstance(sample, Mapping) else sample
    return any(is_empty(one, depth + 1) for one in parts)


def rows_of(batch: Any) -> list[Any]:
    """Give the samples of a batch, where all of its parts have as many; else the batch alone."""
    is_named = isinstance(batch, Mapping)
    parts = [*batch.values()] if is_named else batch if _is_list(batch) else [batch]
    if type(batch) is list and len({getattr(one, "shape", None) for one in batch}) == 1:
        return batch  # no collate function has put them together
    numbers = {len(one) if _is_list(one) or getattr(one, "shape", False) else None for one in parts}
    if len(numbers) != 1 or None in numbers:
        return [batch]
    rows = [*zip(*parts, strict=True)]
    return [dict(zip(batch, one, strict=True)) for one in rows] if is_named else rows


def keys_in(sample: Any) -> list[str]:
    """Give what tells samples for sure: webdataset's keys, or paths of files."""
    if isinstance(sample, Mapping) and "__key__" in sample:
        place, keys = sample.get("__url__", ""), sample["__key__"]
        each = keys if _is_list(keys) else [keys]
        return [f"{place if isinstance(place, str) else ''} {key}".strip() for key in each]
    return [text for text in texts_in(sample) if _is_path(text)]


def _is_path(text: str) -> bool:
    suffix = os.path.splitext(text)[1]
    return " " not in text and 1 < len(suffix) <= 6 and suffix[1:].isalnum()
