"""The models of a process and their parameters, each by its name and the line that keeps it."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import Any, NamedTuple

from preflight.objects.attributes import subclasses

# By which what a model is wrapped into keeps it.
_WRAPPERS = {
    "DistributedDataParallel": "module",
    "DataParallel": "module",
    "OptimizedModule": "_orig_mod",
    "AveragedModel": "module",
}

# They keep parameters in pieces, of which most have no gradient of their own.
_IN_PIECES = {"FullyShardedDataParallel", "DeepSpeedEngine", "PipelineModule"}


class NamedParameter(NamedTuple):
    """One parameter of a model."""

    parameter: Any
    name: str
    """From the model: `head.weight`."""

    holders: tuple[tuple[Any, str], ...]
    """Each module that leads to it, with the attribute, the innermost first."""


class Found(NamedTuple):
    """A model that is no part of another."""

    module: Any
    name: str
    """Its class, or that of what is wrapped."""

    replicated: Any
    """The DistributedDataParallel that it is in, or holds; None: none."""

    parameters: list[NamedParameter]


def models() -> list[Found]:
    """Give all models that are there, those with the fewest parameters first.

    The garbage collector knows them all, also those that are never called by themselves, as those
    of Lightning are not; nothing of them is asked but what kind they are.
    """
    from torch import nn

    kinds = {nn.Module, *subclasses(nn.Module)}
    every = [one for one in gc.get_objects() if type(one) in kinds]
    inner = {id(child) for one in every for _, child in _children(one)}
    found = (_look(one) for one in every if id(one) not in inner)
    return sorted((one for one in found if one is not None), key=lambda one: len(one.parameters))


def _children(module: Any) -> Iterator[tuple[str, Any]]:
    inside = vars(module).get("_modules")
    if isinstance(inside, dict):
        yield from ((name, child) for name, child in inside.items() if child is not None)


def _look(root: Any) -> Found | None:
    """Walk over a model; None: it has no parameters, or keeps them in pieces."""
    parameters: list[NamedParameter] = []
    seen: set[int] = set()
    replicated = None
    todo: list[tuple[Any, str, tuple[tuple[Any, str], ...]]] = [(root, "", ())]
    while todo:
        module, path, above = todo.pop()
        if id(module) in seen or vars(module).get("_is_replica"):
            continue
        seen.add(id(module))
        kind = type(module).__name__
        if kind in _IN_PIECES:
            return None
        replicated = module if kind == "DistributedDataParallel" else replicated
        for name, one in (vars(module).get("_parameters") or {}).items():
            if one is not None and id(one) not in seen:
                seen.add(id(one))
                parameters.append(NamedParameter(one, path + name, ((module, name), *above)))
        todo += reversed(
            [
                (child, _past(kind, path, name), ((module, name), *above))
                for name, child in _children(module)
            ]
        )
    if not parameters:
        return None
    return Found(root, type(_unwrapped(root)).__name__, replicated, parameters)


def _past(kind: str, path: str, name: str) -> str:
    """Name a child; what only wraps a model is no part of the name."""
    return path if _WRAPPERS.get(kind) == name else f"{path}{name}."


def _unwrapped(module: Any) -> Any:
    for _ in range(10):
        inside = dict(_children(module)).get(_WRAPPERS.get(type(module).__name__, ""))
        if inside is None:
            break
        module = inside
    return module
