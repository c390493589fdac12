"""Takes apart what is no loader and holds some: modules of data, trainers, wrappers, generators.

They are known by the names of their methods and classes: the packages need not be installed.
"""

from __future__ import annotations

import dataclasses
import inspect
import itertools
import os
import sys
import traceback
import types
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

from preflight.built.making.blame import blaming
from preflight.kinds.asked import CannotLookError
from preflight.loaders import sent as loader
from preflight.loaders.wrappers import BatchSource
from preflight.objects.attributes import own_attributes, slots
from preflight.objects.copying.refusing import is_module
from preflight.users_code.frames import is_users
from preflight.values.code_name import Step, write_pick
from preflight.values.own_files import passes_on

Part: TypeAlias = tuple[tuple[Step, ...], object]
"""The way to a part, and the part."""

# Of a list of ten thousand things none is a loader.
_MOST = 1_000
# What holds loaders may be held itself; more is nobody's code.
_DEEPEST = 3

_OF_DATA = ("train_dataloader", "val_dataloader")
_OF_TRAINER = ("get_train_dataloader", "get_eval_dataloader")

# Classes that have these methods, and raise in them.
_BASES = frozenset({"LightningDataModule", "DataHooks"})


def parts_of(made: object) -> Iterator[Part]:
    """Give what a thing is made of, or holds, or gives when it is asked for its loaders."""
    if isinstance(made, (tuple, list)):
        names = getattr(type(made), "_fields", None)
        for index, part in enumerate(made[:_MOST]):
            yield ((("attr", names[index]) if names else ("item", index)),), part
    elif isinstance(made, dict):
        for key, part in itertools.islice(made.items(), _MOST):
            yield (("item", key if isinstance(key, int) else str(key)),), part
    elif _is_data_module(made):
        ready(made)
        yield from _given(made, _OF_DATA)
    elif _has_method(made, _OF_TRAINER[0]):
        yield from _given(made, _OF_TRAINER)
    elif dataclasses.is_dataclass(made) and not isinstance(made, type):
        for field in dataclasses.fields(made):
            yield (("attr", field.name),), getattr(made, field.name, None)
    else:
        yield from _loaders_in(variables_of(made))


def walk(
    name: str, made: object, look_at: Callable[[str, object], list[Any] | None], depth: int = 0
) -> list[Any] | None:
    """Look at what was made, or at the loaders and models that it holds; None: there are none."""
    found = look_at(name, made)
    if isinstance(made, BatchSource) and made.taken_from:
        return [*(found or []), *(walk(name, made.generator, look_at, depth + 1) or [])]
    if found is not None or depth > _DEEPEST:
        return found
    looks = [
        walk(name + write_pick(steps), part, look_at, depth + 1) for steps, part in parts_of(made)
    ]
    known = [one for one in looks if one is not None]
    return [facts for one in known for facts in one] if known else None


def variables_of(made: object) -> Mapping[str, object]:
    """Give what an instance holds; of a generator, what it was called with and what it knows."""
    if isinstance(made, types.GeneratorType):
        return {} if made.gi_frame is None else dict(made.gi_frame.f_locals)
    return {**own_attributes(made), **dict(slots(made))}


def ready(made: object) -> None:
    """Have a module of data get its data, as its trainer would; leave anything else alone."""
    if not _is_data_module(made):
        return
    for name, args in (("prepare_data", ()), ("setup", ("fit",))):
        method = getattr(made, name, None)
        if callable(method):
            _call(made, method, args if _takes(method, args) else ())


def called(made: object) -> object:
    """Call what was picked, where it is a function that gives something: `.train_dataloader`."""
    if inspect.ismethod(made):
        return _call(made.__self__, made)
    return _call(made, made) if inspect.isfunction(made) and _takes(made, ()) else made


def _is_data_module(made: object) -> bool:
    return _has_method(made, "train_dataloader") and _has_method(made, "setup")


def _has_method(made: object, name: str) -> bool:
    return not isinstance(made, type) and inspect.isfunction(getattr(type(made), name, None))


def _given(made: object, names: tuple[str, ...]) -> Iterator[Part]:
    own = own_attributes(made)  # `LightningDataModule.from_datasets` has them there
    for name in names:
        home = next((one for one in type(made).__mro__ if name in vars(one)), None)
        has_none = home is None or home.__name__ in _BASES
        if (has_none and not callable(own.get(name))) or _has_no_data(made, name):
            continue
        yield (("attr", name),), _call(made, getattr(made, name))


def _has_no_data(trainer: object, name: str) -> bool:
    """Whether a trainer was given nothing to evaluate on, and raises when it is asked to."""
    return name == "get_eval_dataloader" and getattr(trainer, "eval_dataset", None) is None


@passes_on
def _call(owner: object, method: Callable[..., object], args: tuple[object, ...] = ()) -> object:
    with blaming("call"):
        try:
            return method(*args)
        except AttributeError as error:
            line = traceback.extract_tb(error.__traceback__)[-1].line or ""
            if "trainer" not in line or getattr(owner, "trainer", owner) is not None:
                raise
            raise CannotLookError(
                f"{method.__name__} of {type(owner).__qualname__} asks its trainer, and has none "
                f"before it is fitted: {error}",
                fix="Name a function that gives its DataLoaders without a trainer.",
            ) from error


def _takes(method: Callable[..., object], args: tuple[object, ...]) -> bool:
    try:
        inspect.signature(method).bind(*args)
    except TypeError:
        return False
    except ValueError:  # some things made in C have no signature
        return True
    return True


def _loaders_in(
    variables: Mapping[str, object], seen: set[int] | None = None, depth: int = 0
) -> Iterator[Part]:
    """Give the loaders among what a thing holds, each once; data sets and the rest stay inside."""
    seen = set() if seen is None else seen
    for name, value in variables.items():
        yield from _inside((("attr", name),), value, seen, depth)


def _inside(way: tuple[Step, ...], thing: object, seen: set[int], depth: int) -> Iterator[Part]:
    """Give it, or the loaders that it holds: a row of things, or an object of the job's own."""
    if id(thing) in seen or len(seen) > _MOST:
        return
    if loader.is_loader(thing):
        seen.add(id(thing))
        yield way, thing
    elif depth <= _DEEPEST and isinstance(thing, (tuple, list, dict)):
        seen.add(id(thing))
        for steps, part in parts_of(thing):
            yield from _inside((*way, *steps), part, seen, depth + 1)
    elif depth <= _DEEPEST and _is_of_the_job(thing):
        seen.add(id(thing))
        for steps, part in _loaders_in(variables_of(thing), seen, depth + 1):
            yield (*way, *steps), part


def _is_of_the_job(thing: object) -> bool:
    """Whether it is an object of a class of the job's own that may well hold loaders."""
    kind = type(thing)
    file = getattr(sys.modules.get(kind.__module__), "__file__", None)
    is_known = loader.is_dataset(thing) or is_module(thing) or hasattr(kind, "__iter__")
    return isinstance(file, str) and not is_known and is_users(file, os.path.dirname(file))
