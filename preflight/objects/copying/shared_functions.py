"""Finds in a copy what it shares with the original by which it has, or uses, its weights.

`copy.deepcopy` hands a function on as it is, with all that it was made with. A bound method and a
partial are made anew, for the copy. A `__deepcopy__` may hand on whatever it likes.
"""

from __future__ import annotations

import collections
import functools
import itertools
import types
import weakref
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, TypeAlias

from preflight.objects.attributes import own_attributes, slots
from preflight.objects.copying.code_uses import CACHED, given_to, of_class, used_of
from preflight.objects.copying.refusing import is_module
from preflight.objects.paths import ITSELF, attribute, item, parts_of_partial, written
from preflight.objects.source_trees import names_used

_NODES = 500_000
_ITEMS = 2_000
_FUNCTIONS = (types.FunctionType, CACHED)
_PLAIN = frozenset({bool, bytes, complex, float, int, str, type(None)})
_BUILT_IN = frozenset({dict, frozenset, list, set, tuple})
_TABLES = ("._modules", "._parameters")
# What is called when a state is saved or loaded: of a copy, that is no computation.
_OF_STATES = "state_dict"

_Steps: TypeAlias = tuple[tuple[object, str], ...]


class SharedFunction(NamedTuple):
    """One function of a copy. It holds the function, so it does not outlive a look."""

    thing: object
    path: str
    uses: str
    """Weights of the original, from the model: `blocks[0].proj`."""

    holders: _Steps
    """The instances on the way to it, innermost first, each with the attribute that leads on."""

    is_called: bool = True
    """Whether a call of the copy comes to it, as far as the names in its methods tell."""


def shared_functions(original: object, copy: object) -> Iterator[SharedFunction]:
    """Find what a copy would compute with the weights of the original, or has of them to train."""
    known = _weights_of(original)
    if not known:
        return
    for thing, steps in _shared_in(copy, known):
        uses = known.get(id(thing)) or _uses(thing, steps, known)
        if uses is None:
            continue
        holders = tuple(
            (holder, step[1:]) for holder, step in reversed(steps) if step[1:].isidentifier()
        )
        path = written("", "".join(step for _, step in steps)) or ITSELF
        is_called = id(thing) in known or _is_called(holders)
        yield SharedFunction(thing, path, uses, holders, is_called)


def wrapped_method(function: Any) -> types.MethodType | None:
    """Give the bound method that a function was made of, such as by `torch.no_grad()(self.fn)`."""
    closure = given_to(function) if type(function) is types.FunctionType else {}
    inner = (*own_attributes(function).values(), *closure.values())
    return next((one for one in inner if type(one) is types.MethodType), None)


def _weights_of(model: object) -> dict[int, str]:
    """Name the modules, parameters and buffers of a model that hold weights, by id."""
    known: dict[int, str] = {}
    todo: list[tuple[object, str]] = [(model, "")]
    while todo:
        module, path = todo.pop()
        if id(module) in known:
            continue
        known[id(module)] = written("", path) or ITSELF
        held = own_attributes(module)
        for table in ("_parameters", "_buffers"):
            for name, tensor in (held.get(table) or {}).items():
                if tensor is not None:
                    known.setdefault(id(tensor), written("", path + attribute(name)))
        for name, part in (held.get("_modules") or {}).items():
            if part is not None:
                todo.append((part, f"{path}._modules{item(name)}"))
    return known


def _shared_in(copy: object, known: Mapping[int, str]) -> Iterator[tuple[object, _Steps]]:
    """Give each function in a copy, and each weak reference to the original, with the way to it.

    So with each part of the original that is one of the copy, if it is there to be trained.

    It goes breadth first, so that the way is one of the shortest, and not into the original.
    """
    todo: collections.deque[tuple[object, _Steps]] = collections.deque([(copy, ())])
    seen: dict[int, object] = {}  # keeps each alive, since ids are used again
    while todo and len(seen) < _NODES:
        thing, way = todo.popleft()
        if id(thing) in seen:
            continue
        if id(thing) in known:
            if _is_part(way) and _is_trained(thing):
                seen[id(thing)] = thing
                yield thing, way
            continue
        seen[id(thing)] = thing
        if type(thing) in _FUNCTIONS:
            yield thing, way
        elif type(thing) is weakref.ref:
            if id(thing()) in known:
                yield thing, way
        else:
            todo.extend(
                (part, (*way, (thing, step)))
                for step, part in _parts(thing)
                if type(part) not in _PLAIN
            )


def _is_part(way: _Steps) -> bool:
    """Whether all that leads to it are tables of modules: what else knows it may not use it."""
    return all(
        step in _TABLES if is_module(holder) else isinstance(holder, dict) for holder, step in way
    )


def _is_trained(thing: Any) -> bool:
    """Whether a parameter is trained, or one that a module holds."""
    if not is_module(thing):
        return getattr(thing, "requires_grad", False) is True
    held = own_attributes(thing)
    tables = (held.get(name.removeprefix(".")) for name in _TABLES)
    return any(_is_trained(one) for table in tables for one in (table or {}).values())


def _parts(thing: Any) -> Iterator[tuple[str, object]]:
    kind = type(thing)
    if issubclass(kind, (type, types.ModuleType)):
        return
    if kind is types.MethodType:
        yield ".__func__", thing.__func__
        yield ".__self__", thing.__self__
    elif issubclass(kind, functools.partial):
        yield from parts_of_partial(thing)
    elif issubclass(kind, dict):
        pairs = itertools.islice(dict.items(thing), _ITEMS)
        yield from ((item(key), value) for key, value in pairs)
    elif issubclass(kind, (list, tuple, set, frozenset)):
        yield from ((item(n), one) for n, one in enumerate(itertools.islice(thing, _ITEMS)))
    if kind in _BUILT_IN:
        return
    for name, value in (*own_attributes(thing).items(), *slots(thing)):
        if not (_OF_STATES in str(name) and is_module(thing)):
            yield attribute(name), value


def _uses(thing: Any, way: _Steps, known: Mapping[int, str]) -> str | None:
    """Say what of the original a call of a function uses, or what follows a weak reference."""
    if type(thing) is not weakref.ref:
        return used_of(thing, known)
    holder = next((one for one, _ in reversed(way) if is_module(one)), None)
    forward = of_class(holder, "forward")
    if type(forward) is not types.FunctionType:
        return None
    return used_of(types.MethodType(forward, holder), known)


def _is_called(holders: _Steps) -> bool:
    """Whether the module that keeps a function asks for it where it is called itself."""
    module, name = next((one for one in holders if is_module(one[0])), (None, ""))
    if module is None or name in ("forward", "_forward_hooks", "_forward_pre_hooks"):
        return True  # a copy that follows weights computes no gradients, so calls no other hooks
    todo, read = ["forward"], set[str]()
    while todo:
        method = of_class(module, todo.pop())
        method = method.fget if type(method) is property else method
        if type(method) is types.FunctionType:
            fresh = names_used(method.__code__) - read
            read |= fresh
            todo += fresh
    return name in read
