"""Finds the tokenizer of a loader, and writes token ids as the text that they stand for."""

from __future__ import annotations

import functools
import types
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from preflight.objects.paths import type_name
from preflight.sheets.column import Column

_NAMES = ("tokenizer", "processor", "processing_class")

# What wraps a data set, or a function.
_INNER = ("dataset", "datapipe", "source", "func", "__wrapped__")
_DEEPEST = 4

# What a tokenizer has beside `decode`.
_ENCODE = ("encode", "batch_decode")

_SHOWN = 4_000

# Whole numbers of a sample that may as well be its labels.
_LABELS = 8


class Tokenizer(NamedTuple):
    """What decodes, and where it was found."""

    decode: Any
    said: str
    """`BertTokenizer of collate_fn`."""


def tokenizer_of(parts: Mapping[str, Any]) -> Tokenizer | None:
    """Find a tokenizer in the parts of a loader: its collate function, then its data set."""
    for name, part in parts.items():
        for thing, is_named in _below(part, 0):
            decode = _asked(thing, "decode")
            # A pipeline of samples has a `decode`, too.
            if callable(decode) and (is_named or any(_asked(thing, one) for one in _ENCODE)):
                return Tokenizer(decode, f"{type_name(type(thing))} of {name}")
    return None


def _below(thing: Any, depth: int, *, is_named: bool = False) -> Iterator[tuple[Any, bool]]:
    """Give what may be a tokenizer in something, and whether it is called one."""
    if thing is None or depth > _DEEPEST or isinstance(thing, (str, bytes, type)):
        return
    if isinstance(thing, types.MethodType):
        yield from _below(thing.__self__, depth + 1)
    elif isinstance(thing, types.FunctionType):
        for one in _held(thing):
            yield from _below(one, depth + 1, is_named=True)
    else:
        yield thing, is_named
    if isinstance(thing, functools.partial):
        for one in thing.args:
            yield from _below(one, depth + 1)
        for name, one in thing.keywords.items():
            yield from _below(one, depth + 1, is_named=name in _NAMES)
    for name in _NAMES:
        yield from _below(_asked(thing, name), depth + 1, is_named=True)
    for name in _INNER:
        yield from _below(_asked(thing, name), depth + 1)


def _held(function: types.FunctionType) -> Iterator[Any]:
    """Give what a function takes from around it by the name of a tokenizer."""
    around = {name: function.__globals__.get(name) for name in function.__code__.co_names}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=False):
        try:
            around[name] = cell.cell_contents
        except ValueError:  # it is not filled as yet
            continue
    for name, held in sorted(around.items(), key=lambda one: one[0]):
        if any(one in name.lower() for one in _NAMES):
            yield held


def _asked(thing: Any, name: str) -> Any:
    try:
        return getattr(thing, name, None)
    except Exception:  # noqa: BLE001  the user's `__getattr__`
        return None


def decode(column: Column, tokenizer: Tokenizer | None) -> str:
    """Write the ids of a column as texts, and say by what."""
    if tokenizer is None:
        column.texts = [", ".join(map(str, row)) for row in column.ids]
        is_text = max(map(len, column.ids), default=0) > _LABELS
        return "not decoded, for want of a tokenizer" if is_text else ""
    try:
        # What a loss leaves out is marked by a number below 0.
        texts = [tokenizer.decode([one for one in row if one >= 0]) for row in column.ids]
        column.texts = [str(one)[:_SHOWN] for one in texts]
    except BaseException as error:  # noqa: BLE001  the user's tokenizer
        column.texts = [", ".join(map(str, row)) for row in column.ids]
        return f"not decoded, since {tokenizer.said} raises {type(error).__name__}"
    return f"decoded by {tokenizer.said}"
