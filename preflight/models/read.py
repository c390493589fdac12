"""Looks at whether a model can be copied, at no cost in memory, and who would copy it."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, cast

from preflight.models.facts import Copied, Uncopyable
from preflight.objects import where
from preflight.objects.attributes import classes
from preflight.objects.copying import copying
from preflight.objects.facts import Definition
from preflight.objects.paths import type_name
from preflight.sources.facts import ModelCopy
from preflight.syntax.copies import Code, model_copy
from preflight.syntax.parsing import UnparsableError, parse
from preflight.values.names import name_of


def is_model(thing: object) -> bool:
    """Whether it is a torch module."""
    return issubclass(type(thing), classes("torch.nn", "Module"))


def copy_model(
    model: object, *, name: str, root: str, factory: object | None, sources: Sequence[str]
) -> Copied:
    """Copy a model deeply without its memory, and name everything that cannot be copied.

    It runs what a copy runs of the user's code (`__deepcopy__`, `__setstate__`, `__del__`).
    The job's own sources are read for a line that copies one.
    """
    copy = copying.try_copy(model)
    made = where.defined(model if factory is None else factory, root).at
    found = model_copy([*_parsed(sources, root)])
    copied = Copied(
        name=name,
        defined=made,
        error=copy.error,
        objects=tuple(_uncopyable(one, root, made) for one in copy.stuck),
        bytes=copy.bytes,
        stopped_after=copy.stopped_after,
        parameters=_parameters(model),
        cut=copy.cut,
    )
    return copied if found is None else copied_by(copied, ModelCopy(*found))


def _uncopyable(stuck: copying.Stuck, root: str, made: Definition) -> Uncopyable:
    own = where.defined(stuck.thing, root)
    return Uncopyable(
        type=type_name(type(stuck.thing)),
        error=stuck.error,
        paths=stuck.paths,
        kind=kind_of(stuck.thing),
        defined=where.kept_by_user(stuck.holders, root) or (own.at if own.own else made),
    )


def kind_of(thing: object) -> str:
    """Sort an object that cannot be copied by what it is."""
    names = {base.__name__ for base in type.__dict__["__mro__"].__get__(type(thing))}
    if any("ProcessGroup" in one for one in names):
        return "process-group"
    if issubclass(type(thing), classes("torch", "Tensor")):
        torch: Any = sys.modules["torch"]
        with torch._C.DisableTorchFunctionSubclass():  # noqa: SLF001  the class's own may raise
            if not cast("Any", thing).is_leaf:
                return "non-leaf"
    return "fsdp" if names & {"FSDPModule", "FullyShardedDataParallel"} else "other"


def _parameters(model: object) -> int:
    """Count the numbers in a model's parameters, each once, without calling a method of it."""
    seen: dict[int, Any] = {}
    count = 0
    todo = [model]
    while todo:
        module: Any = todo.pop()
        if id(module) in seen or not is_model(module):
            continue
        seen[id(module)] = module
        variables = object.__getattribute__(module, "__dict__")
        todo += (variables.get("_modules") or {}).values()
        for parameter in (variables.get("_parameters") or {}).values():
            if parameter is not None and id(parameter) not in seen:
                seen[id(parameter)] = parameter
                count += _numel(parameter)
    return count


def _numel(parameter: Any) -> int:
    torch = cast("Any", sys.modules["torch"])
    try:
        with torch._C.DisableTorchFunctionSubclass():  # noqa: SLF001  the class's own may raise
            return int(parameter.numel())
    except (RuntimeError, ValueError):  # a lazy parameter, whose shape is not known yet
        return 0


# --- who copies -----------------------------------------------------------------------------------


def copied_by(copied: Copied, line: ModelCopy) -> Copied:
    """Say which line of the sources copies it."""
    place = Definition(file=line.file, line=line.line, line_text=line.code)
    text = line.code if len(line.code) <= 60 else f"{line.code[:57]}..."
    return replace(copied, copied_at=place, copied_by=text)


def _parsed(sources: Sequence[str], root: str) -> Iterator[Code]:
    for file in sources:
        try:
            with open(file, "rb") as stream:
                yield Code(name_of(file, root), parse(stream.read()))
        except (OSError, UnparsableError):
            continue  # what cannot be read as Python names no line; other checks speak of it
