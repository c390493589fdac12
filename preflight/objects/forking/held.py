"""Finds what a forked worker would share with this process: open handles, and memory on a GPU.

It goes by what objects hold, and not by what pickle would send of them, since a fork copies also
what `__getstate__` leaves out. It calls nothing of the user's: no property, no `__iter__`.
"""

from __future__ import annotations

import collections
import contextlib
import functools
import itertools
import logging
import threading
import types
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from preflight.objects.attributes import classes, own_attributes, slots
from preflight.objects.forking.handles import Handle, handle_of, is_cuda
from preflight.objects.paths import (
    PATHS,
    attribute,
    holders_on,
    item,
    parts_of_partial,
    type_name,
    ways_to,
    written,
)

_NODES = 300_000
_ITEMS = 2_000

Steps: TypeAlias = Iterable[tuple[str, object]]

# Nothing can be below these, and most of what a data set holds is of them.
_ATOMS = frozenset(
    {type(None), bool, int, float, complex, str, bytes, bytearray, range, type(...), types.CodeType}
)

# What stands for the whole process, and not for a part of the loader.
_ENDS = (type, types.ModuleType, logging.Logger, logging.Handler, threading.Thread)

# Whoever maps a file reads it through the map; the file beside it has no say.
_MAPS = frozenset({"mmap.mmap", "numpy.memmap"})

_LISTS = (list, tuple, set, frozenset, collections.deque)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OpenHandle:
    """Something open. It holds the object itself, so it does not outlive a look."""

    thing: object
    handle: Handle
    paths: tuple[str, ...]
    holders: tuple[tuple[object, str], ...]
    """The instances on the first path, innermost first, each with the attribute that leads on."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class HandleWalk:
    """All that is open below some roots."""

    found: tuple[OpenHandle, ...] = ()
    cut: tuple[str, ...] = ()
    """What was not looked at, where there may be more that is open."""


def walk(roots: Sequence[tuple[str, object]]) -> HandleWalk:
    """Find everything below these roots that two processes must not share over a fork."""
    walker = _Walker(roots)
    walker.run()
    return HandleWalk(found=tuple(walker.named()), cut=tuple(walker.cut))


class _Walker:
    """The objects below some roots, breadth first, and by which steps it comes to each."""

    def __init__(self, roots: Sequence[tuple[str, object]]) -> None:
        self.cut: list[str] = []
        self._todo: collections.deque[object] = collections.deque()
        self._things: dict[int, object] = {}  # keeps each alive, since ids are used again
        # For each object the steps that lead to it: from what, and how that is written.
        self._ways: dict[int, list[tuple[int, str]]] = {}
        # What is open, by what tells one handle from another, with all objects that use it.
        self._open: dict[object, tuple[Handle, list[object]]] = {}
        self._told: set[int] = set()  # tensors that their module stands for
        for name, thing in roots:
            self._add(0, name, thing)

    def run(self) -> None:
        """Visit every object once."""
        while self._todo:
            thing = self._todo.popleft()
            handle = _of_module(thing, self._told) or handle_of(thing)
            if handle is not None and id(thing) not in self._told:
                self._note(handle, thing)
            if handle is not None and handle.key != ("module", id(thing)):
                continue
            try:
                if not all(self._add(id(thing), *step) for step in self._children(thing)):
                    return
            except RuntimeError:  # another thread adds to it just now
                self.cut.append(f"{self._path(id(thing))}: changed while it was looked at")

    def _add(self, parent: int, text: str, thing: object) -> bool:
        """Note a step to an object; False where there are too many objects."""
        kind = type(thing)
        try:
            if kind in _ATOMS or issubclass(kind, _ENDS):
                return True
        except TypeError:  # a metaclass with an `__eq__` and no `__hash__`
            return True
        self._ways.setdefault(id(thing), []).append((parent, text))
        if id(thing) in self._things:
            return True
        if len(self._things) >= _NODES:
            self.cut.append(f"{self._path(id(thing))}: not looked at, nor what comes after it")
            return False
        self._things[id(thing)] = thing
        self._todo.append(thing)
        return True

    def _note(self, handle: Handle, thing: object) -> None:
        known, things = self._open.setdefault(handle.key, (handle, []))
        things.append(thing)
        if handle.kind == "zip" and known.kind == "file":  # an archive, and the file that it reads
            self._open[handle.key] = (handle, things)

    # --- what an object holds ---------------------------------------------------------------------

    def _children(self, thing: Any) -> Iterator[tuple[str, object]]:
        kind = type(thing)
        if issubclass(kind, (*_LISTS, dict)):
            yield from self._items(thing)
        elif issubclass(kind, functools.partial):
            yield from parts_of_partial(thing)
        elif kind is types.FunctionType:
            yield from _of_function(thing)
        elif kind is types.MethodType:
            yield ".__func__", thing.__func__
        elif kind is types.MappingProxyType:
            return
        elif issubclass(kind, classes("sqlite3", "Cursor")):
            cursor: Any = classes("sqlite3", "Cursor")[0]
            yield ".connection", cursor.connection.__get__(thing)
        if kind is types.MethodType or kind is types.BuiltinMethodType:
            yield ".__self__", thing.__self__
        yield from self._attributes(thing)

    def _items(self, thing: Any) -> Iterator[tuple[str, object]]:
        """Give a container's items; many that can hold nothing are passed over at once."""
        if issubclass(type(thing), collections.defaultdict):
            own: Any = collections.defaultdict
            yield ".default_factory", own.default_factory.__get__(thing)
        if issubclass(type(thing), dict):
            if not self._too_many(thing, dict.values(thing), dict.__len__(thing)):
                pairs = list(itertools.islice(dict.items(thing), _ITEMS))
                yield from ((item(key), value) for key, value in pairs)
            return
        base: Any = next(one for one in _LISTS if issubclass(type(thing), one))
        if self._too_many(thing, base.__iter__(thing), base.__len__(thing)):
            return
        ordered = not issubclass(base, (set, frozenset))
        for number, value in enumerate(list(itertools.islice(base.__iter__(thing), _ITEMS))):
            yield (item(number) if ordered else ".<element>"), value

    def _too_many(self, thing: object, items: Iterable[object], many: int) -> bool:
        """Whether a container holds nothing to go to; where it is too long, that is said."""
        with contextlib.suppress(TypeError):  # a class whose metaclass has no hash is none of them
            if _ATOMS.issuperset(map(type, items)):
                return True
        if many > _ITEMS:
            self.cut.append(f"{self._path(id(thing))}: {_ITEMS:,} of {many:,} items looked at")
        return False

    def _attributes(self, thing: object) -> Steps:
        held = [*list(dict.items(dict(own_attributes(thing)))), *slots(thing)]
        mapped = any(type_name(type(value)) in _MAPS for _, value in held)
        for name, value in held:
            if mapped:
                handle = handle_of(value)
                if handle is not None and handle.kind == "file":
                    continue
            yield attribute(name), value

    # --- paths ------------------------------------------------------------------------------------

    def named(self) -> Iterator[OpenHandle]:
        """Give what is open, with the paths to every object that uses it."""
        for handle, things in self._open.values():
            ways = [way for thing in things for way in ways_to(thing, self._ways, 0, tries=10_000)]
            paths = dict.fromkeys(written("", "".join(step for _, step in way)) for way in ways)
            yield OpenHandle(
                thing=things[0],
                handle=handle,
                paths=tuple(paths)[:PATHS],
                holders=holders_on(ways[0], self._things) if ways else (),
            )

    def _path(self, at: int) -> str:
        """Write the first way to an object, which is one of the shortest."""
        steps: list[str] = []
        while at:
            at, step = self._ways[at][0]
            steps.append(step)
        return written("", "".join(reversed(steps)))


def _of_function(function: types.FunctionType) -> Steps:
    names = function.__code__.co_freevars
    for name, cell in zip(names, function.__closure__ or (), strict=False):
        try:
            yield f".<closure {name}>", cell.cell_contents
        except ValueError:  # the cell is empty: the name is not set yet
            continue
    for number, value in enumerate(function.__defaults__ or ()):
        yield f".__defaults__[{number}]", value
    for key, value in (function.__kwdefaults__ or {}).items():
        yield f".__kwdefaults__{item(key)}", value


def _of_module(thing: object, told: set[int]) -> Handle | None:
    """Let a module of torch stand for all of its tensors on a GPU, and note that it does."""
    kind = classes("torch.nn", "Module")
    if not issubclass(type(thing), kind) or id(thing) in told:
        return None
    todo, tensors = [thing], set()
    while todo:
        module = todo.pop()
        if id(module) in told:
            continue
        told.add(id(module))
        held = own_attributes(module)
        todo += (one for one in _values(held.get("_modules")) if issubclass(type(one), kind))
        for part in ("_parameters", "_buffers"):
            tensors |= {id(one) for one in _values(held.get(part)) if is_cuda(one)}
    told |= tensors
    told.discard(id(thing))
    return Handle(kind="cuda-tensor", key=("module", id(thing))) if tensors else None


def _values(table: object) -> Iterable[object]:
    return dict.values(table) if issubclass(type(table), dict) else ()  # type: ignore[arg-type]
