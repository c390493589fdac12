"""Makes dataclasses as the standard library does, and compiles nothing for it.

The standard decorator writes the source of each method of each class and compiles it, which is half
of the time between the start of a command and its first look at a file. Here all classes have the
same few methods, which go over their fields. For type checkers it is the standard one.
"""

from __future__ import annotations

import dataclasses
import reprlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, Field, FrozenInstanceError
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from dataclasses import dataclass

__all__ = ["dataclass"]

_put = object.__setattr__


def _dataclass(
    cls: type | None = None,
    /,
    *,
    frozen: bool = False,
    slots: bool = False,
    kw_only: bool = False,
    eq: bool = True,
) -> Any:
    """Make a class a dataclass; without the options that nobody here needs."""

    def make(cls: type) -> Any:
        written = vars(cls).keys() & {"__repr__", "__eq__", "__hash__"}
        bare = dataclasses.dataclass(init=False, repr=False, eq=False, slots=slots, kw_only=kw_only)
        made: Any = bare(cls)
        fields = dataclasses.fields(made)
        methods: dict[str, Any] = {"__init__": _init(made, fields), "__repr__": _repr(fields)}
        if eq:
            methods["__eq__"] = _eq(fields)
            methods["__hash__"] = _hash(fields) if frozen else None
        if frozen:
            methods |= {"__setattr__": _refuse, "__delattr__": _refuse}
        if frozen and slots:
            methods |= {"__getstate__": _state, "__setstate__": _restore}
        for name, method in methods.items():
            if name not in written:
                setattr(made, name, method)
        return made

    return make if cls is None else make(cls)


if not TYPE_CHECKING:
    dataclass = _dataclass


class _Taken(NamedTuple):
    """What a class is made of."""

    name: str
    names: tuple[str, ...]
    """Of what can be given."""

    places: tuple[str, ...]
    """Of what can be given without a name, in this order."""

    defaults: Mapping[str, Any]
    factories: Mapping[str, Callable[[], Any]]


def _init(cls: type, fields: Sequence[Field[Any]]) -> Callable[..., None]:
    """Give what takes each field by its name, or by its place where that is allowed."""
    given_ones = [one for one in fields if one.init]
    taken = _Taken(
        cls.__name__,
        tuple(one.name for one in given_ones),
        tuple(one.name for one in given_ones if not one.kw_only),
        {one.name: one.default for one in fields if one.default is not MISSING},
        {one.name: one.default_factory for one in fields if one.default_factory is not MISSING},
    )
    _, names, _, defaults, factories = taken
    others = [one.name for one in fields if not one.init]
    others = [name for name in others if name in defaults or name in factories]
    ends = hasattr(cls, "__post_init__")

    def init(self: Any, *args: Any, **given: Any) -> None:
        if args:
            _name(taken, args, given)
        count = 0
        for name in names:
            if name in given:
                _put(self, name, given[name])
                count += 1
            elif name in defaults:
                _put(self, name, defaults[name])
            else:
                _put(self, name, _made(taken, name))
        if count < len(given):
            unknown = next(name for name in given if name not in names)
            raise TypeError(f"{taken.name}() has no argument {unknown!r}")
        for name in others:
            _put(self, name, defaults[name] if name in defaults else factories[name]())
        if ends:
            self.__post_init__()

    return init


def _name(taken: _Taken, args: Sequence[Any], given: dict[str, Any]) -> None:
    """Name what was given by its place."""
    if len(args) > len(taken.places):
        raise TypeError(f"{taken.name}() takes {len(taken.places)} arguments without a name")
    for name, value in zip(taken.places, args, strict=False):
        if name in given:
            raise TypeError(f"{taken.name}() has two values for the argument {name!r}")
        given[name] = value


def _made(taken: _Taken, name: str) -> Any:
    """Make what was not given."""
    if name not in taken.factories:
        raise TypeError(f"{taken.name}() lacks the argument {name!r}")
    return taken.factories[name]()


def _repr(fields: Sequence[Field[Any]]) -> Callable[[Any], str]:
    names = tuple(one.name for one in fields if one.repr)

    @reprlib.recursive_repr()
    def represent(self: Any) -> str:
        values = ", ".join(f"{name}={getattr(self, name)!r}" for name in names)
        return f"{type(self).__qualname__}({values})"

    return represent


def _eq(fields: Sequence[Field[Any]]) -> Callable[[Any, object], Any]:
    names = tuple(one.name for one in fields if one.compare)

    def equal(self: Any, other: object) -> Any:
        if other.__class__ is not self.__class__:
            return NotImplemented
        mine = [getattr(self, name) for name in names]
        return mine == [getattr(other, name) for name in names]

    return equal


def _hash(fields: Sequence[Field[Any]]) -> Callable[[Any], int]:
    counted = [one for one in fields if (one.compare if one.hash is None else one.hash)]
    names = tuple(one.name for one in counted)

    def hashed(self: Any) -> int:
        return hash(tuple([getattr(self, name) for name in names]))

    return hashed


def _refuse(_self: object, name: str, *_: object) -> None:
    raise FrozenInstanceError(f"cannot change field {name!r}")


def _state(self: Any) -> list[Any]:
    return [getattr(self, one.name) for one in dataclasses.fields(self)]


def _restore(self: Any, state: Sequence[Any]) -> None:
    for one, value in zip(dataclasses.fields(self), state, strict=True):
        _put(self, one.name, value)
