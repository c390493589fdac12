"""Says which of some objects a function uses when it is called, by what its code names.

Nothing is called: names in the code are looked up where the function would find them, in its
closure, its defaults and its globals, and attributes in what instances and classes hold.
"""

from __future__ import annotations

import dis
import functools
import itertools
import types
import weakref
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from preflight.objects.attributes import classes, own_attributes, slots

_DEEP = 20
_FUNCTIONS = 300
_ITEMS = 1_000

_TABLES = ("_parameters", "_buffers", "_modules")

CACHED: type = type(functools.lru_cache(len))
"""What `functools.lru_cache` makes, which every copy shares."""

# Where only these are wanted of a tensor, its values are not.
_NOT_VALUES = frozenset(
    {"device", "dim", "dtype", "is_cuda", "ndim", "numel", "requires_grad", "shape", "size"}
)
_OF_NO_USE = frozenset({"hasattr", "id", "isinstance", "len", "print", "repr", "str", "type"})
_BETWEEN = frozenset({"CACHE", "COPY", "DUP_TOP", "EXTENDED_ARG", "NOP", "PRECALL", "PUSH_NULL"})
_CALLS = frozenset({"CALL", "CALL_FUNCTION", "CALL_METHOD"})

_UNKNOWN = object()


def used_of(function: object, known: Mapping[int, str]) -> str | None:
    """Give the name of one of the objects (by id) that a call of this uses; None: of none."""
    return _Reading(known).called(function, 0)


class _Reading:
    """What was read on the way through the code of one function and those that it calls."""

    def __init__(self, known: Mapping[int, str]) -> None:
        self._known = known
        self._read: set[tuple[types.CodeType, int]] = set()

    def called(self, thing: Any, depth: int) -> str | None:
        """Give what a call of something uses."""
        kind = type(thing)
        if kind is types.MethodType:
            return self._method(thing.__func__, thing.__self__, depth)
        if kind is types.FunctionType:
            return self._code(thing, given_to(thing), id(thing.__closure__), depth)
        if kind is CACHED:
            return self.called(own_attributes(thing).get("__wrapped__"), depth + 1)
        if issubclass(kind, functools.partial):
            own = functools.partial
            parts = (*own.args.__get__(thing), *own.keywords.__get__(thing).values())
            held = (self._held(part) for part in parts)
            return next(filter(None, held), None) or self.called(own.func.__get__(thing), depth + 1)
        call = of_class(thing, "__call__")
        return self._method(call, thing, depth) if type(call) is types.FunctionType else None

    def _method(self, function: Any, instance: object, depth: int) -> str | None:
        """Give what a function of a class uses with its first argument bound to an instance."""
        if type(function) is not types.FunctionType:
            return None
        first = dict.fromkeys(function.__code__.co_varnames[:1], instance)
        return self._code(function, {**given_to(function), **first}, id(instance), depth)

    def _code(
        self, function: types.FunctionType, given: dict[str, object], bound: int, depth: int
    ) -> str | None:
        code = function.__code__
        if depth > _DEEP or len(self._read) > _FUNCTIONS or (code, bound) in self._read:
            return None
        self._read.add((code, bound))
        found = (self._used(*one, function.__globals__, depth) for one in _values(code, given))
        return next(filter(None, found), None)

    def _used(
        self, name: str, given: Mapping[str, object], steps: list[str], own: Any, depth: int
    ) -> str | None:
        """Give what is used of the value that a name and attributes of it stand for."""
        value = given.get(name, _UNKNOWN)
        is_global = value is _UNKNOWN
        if is_global:
            value = own.get(name, _UNKNOWN)
        for step in steps:
            if isinstance(value, (types.ModuleType, type)):
                return None
            if issubclass(type(value), classes("torch", "Tensor")):
                return None if step in _NOT_VALUES else self._held(value)
            if step == "()":
                if type(value) is not weakref.ref:
                    break
                value = value()
                continue
            found = _attribute(value, step)
            if type(found) is property:
                return self._method(found.fget, value, depth + 1)
            value = found
        if type(value) is types.FunctionType and is_global and value.__globals__ is not own:
            return None  # of another file, which does not know this model
        if value is _UNKNOWN or isinstance(value, (types.ModuleType, type)):
            return None
        return self._held(value) or self.called(value, depth + 1)

    def _held(self, value: Any) -> str | None:
        """Give what is known of a value: itself, an item of it, or a part of a module."""
        if id(value) in self._known:
            return self._known[id(value)]
        kind = type(value)
        parts: Iterable[object] = ()
        if kind in (list, tuple, set):
            parts = itertools.islice(value, _ITEMS)
        elif kind is dict:
            parts = itertools.islice(value.values(), _ITEMS)
        elif issubclass(kind, classes("torch.nn", "Module")):
            parts = _below(value)
        return next((self._known[id(one)] for one in parts if id(one) in self._known), None)


def given_to(function: types.FunctionType) -> dict[str, object]:
    """Give what a function's names stand for before it is called: its closure and its defaults."""
    code = function.__code__
    defaults = function.__defaults__ or ()
    given = dict(zip(code.co_varnames[code.co_argcount - len(defaults) :], defaults, strict=False))
    given |= function.__kwdefaults__ or {}
    for name in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]:
        given.setdefault(name, _UNKNOWN)
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        try:
            given[name] = cell.cell_contents
        except ValueError:  # a cell that is empty as yet
            given[name] = _UNKNOWN
    return given


def _values(
    code: types.CodeType, given: dict[str, object]
) -> Iterator[tuple[str, dict[str, object], list[str]]]:
    """Give each name that code loads and does something with, with the attributes asked of it.

    That of functions within it follows: they know what it knows.
    """
    cells = frozenset((*code.co_cellvars, *code.co_freevars))
    every = [one for one in dis.get_instructions(code) if one.opname not in _BETWEEN]
    for number, one in enumerate(every):
        if one.opname.startswith("STORE_FAST") or one.opname in ("STORE_DEREF", "STORE_NAME"):
            given = given | dict.fromkeys(_names(one)[:1], _UNKNOWN)
        loaded = _names(one) if one.opname.startswith(("LOAD_", "STORE_FAST_LOAD")) else ()
        is_name = "FAST" in one.opname or one.opname in _NAMED
        if not is_name or (number and _of_builtin(every[number - 1])):
            continue
        for name in loaded[1:] if one.opname.startswith("STORE") else loaded:
            if "FAST" in one.opname and name in cells:
                continue  # handed to a function within this one
            steps = _steps(every[number + 1 :]) if name == loaded[-1] else []
            if steps is not None:
                yield name, given, steps
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            own = dict.fromkeys(inner.co_varnames, _UNKNOWN)
            yield from _values(inner, {**given, **own})


_NAMED = frozenset(
    {"LOAD_CLASSDEREF", "LOAD_DEREF", "LOAD_FROM_DICT_OR_DEREF", "LOAD_GLOBAL", "LOAD_NAME"}
)


def _names(instruction: dis.Instruction) -> tuple[str, ...]:
    named = instruction.argval
    return named if isinstance(named, tuple) else (named,)


def _of_builtin(before: dis.Instruction) -> bool:
    """Whether what comes next is given to a function that wants nothing of its values."""
    return before.opname == "LOAD_GLOBAL" and before.argval in _OF_NO_USE


def _steps(after: list[dis.Instruction]) -> list[str] | None:
    """Give the attributes that are asked for, one of another; None where the value is not used."""
    steps: list[str] = []
    rest = iter(after)
    for one in rest:
        if one.opname in ("LOAD_ATTR", "LOAD_METHOD"):
            steps.append(one.argval)
        elif one.opname in _CALLS and not one.arg:
            steps.append("()")
        else:
            following = next(rest, one).opname
            is_compared = one.opname == "LOAD_CONST" and following == "IS_OP"
            unused = ("STORE_ATTR", "DELETE_ATTR", "IS_OP", "POP_JUMP", "TO_BOOL", "LOAD_SUPER")
            return None if is_compared or one.opname.startswith(unused) else steps
    return steps


def _attribute(thing: Any, name: str) -> Any:
    """Give an attribute as an instance would, without running code of its class."""
    if thing is _UNKNOWN:
        return _UNKNOWN
    held = own_attributes(thing)
    if name in held:
        return held[name]
    for table in _TABLES if issubclass(type(thing), classes("torch.nn", "Module")) else ():
        entries = held.get(table)
        if isinstance(entries, dict) and name in entries:
            return entries[name]
    for slot, value in slots(thing):
        if slot == name:
            return value
    found = of_class(thing, name)
    if type(found) is types.FunctionType:
        return types.MethodType(found, thing)
    return found.__func__ if type(found) is staticmethod else found


def of_class(thing: object, name: str) -> Any:
    """Find what a class has by a name; the methods of every module tell of no weights."""
    for cls in type.__dict__["__mro__"].__get__(type(thing)):
        if cls in classes("torch.nn", "Module") or cls is object:
            break
        found = type.__dict__["__dict__"].__get__(cls).get(name, _UNKNOWN)
        if found is not _UNKNOWN:
            return found
    return _UNKNOWN


def _below(module: object) -> Iterator[object]:
    """Give all parts of a module, without a method of it."""
    todo, seen = [module], {id(module)}
    while todo:
        held = own_attributes(todo.pop())
        for table in _TABLES:
            for part in (held.get(table) or {}).values():
                yield part
                if table == "_modules" and part is not None and id(part) not in seen:
                    seen.add(id(part))
                    todo.append(part)
