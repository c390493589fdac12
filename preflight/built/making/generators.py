"""Takes what gives batches and is no loader for one: generators, iterators, and calls."""

from __future__ import annotations

import inspect
import itertools
import re
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from preflight.batches.facts import Structure
from preflight.batches.structure import structure_of
from preflight.built.making import holders
from preflight.built.making.blame import blaming
from preflight.loaders import sent as loaders
from preflight.loaders.wrappers import BatchSource
from preflight.objects.copying.refusing import is_module
from preflight.objects.paths import type_name

# Of a longer list none is a loader.
_MOST = 100

_LOADER = re.compile("loader|batches", re.IGNORECASE).search


def begun(made: object) -> list[Any]:
    """Begin a generator whose code names a loader, so that the loader is among its variables.

    What it gave first comes back, since it will not come again.
    """
    if type(made) is not types.GeneratorType or not _makes_a_loader(made):
        return []
    with blaming("call"):
        return list(itertools.islice(made, 1))


def _makes_a_loader(generator: types.GeneratorType[Any, Any, Any]) -> bool:
    if inspect.getgeneratorstate(generator) != inspect.GEN_CREATED:
        return False
    holds_one = any(True for _ in holders.parts_of(generator))
    code = generator.gi_code
    names = (*code.co_names, *code.co_varnames)
    return not holds_one and any("loader" in one.lower() for one in names)


def as_loader(made: Any, first: list[Any]) -> object:
    """Take an iterator for a loader, and an object of the job's own that gives one each epoch.

    What holds loaders is taken apart elsewhere; a DataLoader's own iterator does not tell enough.
    Of several things, each that is called a loader, or gives a batch at once, is taken for one.
    """
    if type(made) is dict:
        return {key: _as_part(one, str(key)) for key, one in made.items()}
    if type(made) in (list, tuple) and len(made) <= _MOST:
        return type(made)(_as_part(one, "") for one in made)
    held = [*itertools.islice(holders.parts_of(made), 2)] if _may_give_batches(made) else []
    if isinstance(made, types.GeneratorType) and len(held) < 2:
        batches, what = itertools.chain(first, made), what_gives(made)
        inner = next((part for _, part in held), None)
        is_begun = not first and inspect.getgeneratorstate(made) != inspect.GEN_CREATED
        return BatchSource(batches, what, once=True, generator=made, inner=inner, begun=is_begun)
    if not _may_give_batches(made) or held:
        return made
    return BatchSource(made, what_gives(made), once=isinstance(made, Iterator))


def _as_part(part: Any, key: str) -> object:
    if isinstance(part, Iterator) or not _may_give_batches(part):
        return part
    is_so_called = _LOADER(f"{key} {type_name(type(part))}")
    return as_loader(part, []) if is_so_called or _gives_a_batch(part) else part


def _gives_a_batch(part: Any) -> bool:
    """Whether it has a length and no places, as what gives batches, and gives one."""
    kind = type(part)
    if not hasattr(kind, "__len__") or hasattr(kind, "__getitem__"):
        return False
    with blaming("call"):
        return any(map(is_batch, itertools.islice(part, 1)))


def what_gives(made: Any) -> str:
    """Say what gives batches in a loop, and is no loader; empty of anything else."""
    if not _may_give_batches(made):
        return ""
    if isinstance(made, types.GeneratorType):
        return "a generator of batches"
    name = type_name(type(made))
    what = "an iterator of" if isinstance(made, Iterator) else "an object that gives"
    return f"{what} batches, {name}"


def _may_give_batches(made: Any) -> bool:
    """Whether it gives something in a loop, and is nothing else that is known."""
    known = loaders.is_loader(made) or loaders.is_dataset(made) or is_module(made)
    of_torch = type_name(type(made)).startswith("torch.")
    if known or of_torch or isinstance(made, type) or not isinstance(made, Iterable):
        return False
    return isinstance(made, Iterator) or not hasattr(type(made), "__contains__")


def calls(made: Any, again: Callable[[], Any]) -> BatchSource:
    """Take for a loader what gives one batch each time it is called."""
    one_each = itertools.chain((made,), iter(again, object()))
    return BatchSource(one_each, "a function that gives one batch a call, without end", once=True)


def is_batch(made: object) -> bool:
    """Whether it is a tensor or an array of several samples, or a row or dict that has some."""
    kind = type_name(type(made)).partition(".")[0]
    return (isinstance(made, (tuple, list, dict)) or kind in ("torch", "numpy")) and _has_rows(
        structure_of(made)
    )


def _has_rows(structure: Structure) -> bool:
    return bool(structure.shape) or any(map(_has_rows, structure.parts))
