"""Finds out how a data set is asked for a sample, and whether it may swallow an error then."""

from __future__ import annotations

import os
import types
from collections.abc import Iterator
from typing import Any, NamedTuple

from preflight.flow.requests import Function
from preflight.flow.stage import catches
from preflight.objects.attributes import classes, own_attributes
from preflight.users_code.frames import is_users

# Data sets within data sets that are looked into.
_DEEPEST, _MOST_HELD = 5, 50

_ASKS = ("__getitem__", "__getitems__")


class MapDataset(NamedTuple):
    """A data set that is asked by index, and may swallow an error."""

    kind: type
    """The class of what is asked, where it is the job's own."""

    own: types.FunctionType
    asked: tuple[Function, ...]
    held: tuple[Function, ...]
    """What is asked of the data sets that it holds."""


def asked_of(dataset: object, root: str) -> MapDataset | None:
    """Say how it is asked; None: it is a stream, or nothing of the job's may swallow an error."""
    if isinstance(dataset, classes("torch.utils.data", "IterableDataset")):
        return None
    every = [*_data_sets(dataset, 0)]
    mine = [
        (type(one), function)
        for one in every
        for function in _functions(type(one))
        if is_users(function.__code__.co_filename, root)
    ]
    if not any(_may_swallow(kind, root) for kind in dict.fromkeys(kind for kind, _ in mine)):
        return None
    kind, own = mine[0]
    outer = [one for one in every if not _only_picks(one)]
    asked = tuple(dict.fromkeys(_key(one) for each in outer for one in _functions(type(each))))
    held = tuple(
        dict.fromkeys(
            _key(one) for each in outer for base in type(each).__mro__ for one in _functions(base)
        )
    )
    return MapDataset(kind, own, asked, held)


def _only_picks(thing: object) -> bool:
    """Whether it hands on which samples are wanted, several at a time."""
    return type(thing) in (
        *classes("torch.utils.data", "Subset"),
        *classes("torch.utils.data", "StackDataset"),
    )


def _data_sets(thing: object, depth: int) -> Iterator[object]:
    """Give a data set and those that it holds, the outer ones first."""
    yield thing
    for held in list(own_attributes(thing).values())[:_MOST_HELD] if depth < _DEEPEST else ():
        for one in held[:_MOST_HELD] if type(held) in (list, tuple) else (held,):
            if any(_functions(type(one))) and not isinstance(one, classes("torch", "Tensor")):
                yield from _data_sets(one, depth + 1)


def _functions(kind: type) -> Iterator[types.FunctionType]:
    for name in _ASKS:
        function: Any = getattr(kind, name, None)
        if type(function) is types.FunctionType:
            yield function


def _key(function: types.FunctionType) -> Function:
    code = function.__code__
    return os.path.abspath(code.co_filename), code.co_firstlineno, code.co_name


def _may_swallow(kind: type, root: str) -> bool:
    """Whether a function catches exceptions, of the job's classes and of the files they are in."""
    homes = [dict(vars(base)) for base in kind.__mro__]
    asked = [*_functions(kind)]
    homes += [function.__globals__ for function in asked]
    homes += [_closed_over(function) for function in asked]
    seen = (one for home in homes for one in list(home.values()))
    inner = (each for one in seen for each in (vars(one).values() if _is_class(one) else (one,)))
    return any(
        type(one) is types.FunctionType
        and is_users(one.__code__.co_filename, root)
        and catches(one.__code__)
        for one in inner
    )


def _is_class(thing: object) -> bool:
    return isinstance(thing, type)


def _closed_over(function: types.FunctionType) -> dict[str, Any]:
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=False)
    return {name: cell.cell_contents for name, cell in cells}
