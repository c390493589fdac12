"""Frozen dataclasses and named tuples to JSON values and back, for travelling between processes.

The child may run in an interpreter that has no pydantic, so this is done with the standard library.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import math
import types
import typing
from collections.abc import Mapping
from typing import Any, TypeVar, Union

T = TypeVar("T")

# What JSON readers keep exactly (RFC 8259, section 6).
_EXACT = 2**53


def to_wire(value: object) -> Any:
    """Turn a frozen value into what `json.dumps` takes: dicts, lists, strings, numbers, None.

    NaN, infinities and integers above 2**53 become strings, since JSON numbers cannot hold them.
    """
    if value is None or isinstance(value, (str, bool)):
        return value
    kind: Any = type(value)
    if (names := _fields_of(kind)) is not None:
        return {name: to_wire(getattr(value, name)) for name in names}
    if type(value).__module__ == "datetime":  # which TOML has, and few need
        return value.isoformat()  # type: ignore[attr-defined]
    if isinstance(value, enum.Enum):
        return value.name.lower() if isinstance(value, int) else value.value
    if isinstance(value, int):
        return value if abs(value) <= _EXACT else str(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, Mapping):
        return {str(key): to_wire(item) for key, item in value.items()}
    if isinstance(value, (tuple, list, frozenset)):
        return [to_wire(item) for item in value]
    raise TypeError(f"{type(value).__name__} is no plain value")


def to_brief(value: object) -> dict[str, Any]:
    """Turn a frozen value into plain ones, and leave out what is, in all of it, as by default."""
    kind: Any = type(value)
    return {
        name: to_wire(own) if not dataclasses.is_dataclass(own) else to_brief(own)
        for name, default in _defaults_of(kind).items()
        if (own := getattr(value, name)) != default
    }


@functools.cache
def _defaults_of(kind: Any) -> Mapping[str, Any]:
    if issubclass(kind, tuple):
        return {name: kind._field_defaults.get(name, dataclasses.MISSING) for name in kind._fields}
    return {
        one.name: one.default
        if one.default_factory is dataclasses.MISSING
        else one.default_factory()
        for one in dataclasses.fields(kind)
    }


@functools.cache
def _fields_of(kind: type) -> tuple[str, ...] | None:
    if not dataclasses.is_dataclass(kind):
        return None
    return tuple(one.name for one in dataclasses.fields(kind))


def from_wire(kind: type[T], plain: Any) -> T:
    """Build a value of this type from what `to_wire` gave.

    Raises:
        TypeError: the plain value does not fit the type.
        KeyError: a mapping lacks a field that has no default.
    """
    builder: Any = _builder
    built: T = builder(kind)(plain)
    return built


@functools.cache
def _builder(kind: Any) -> Any:
    origin = typing.get_origin(kind)
    if origin in (Union, types.UnionType):
        return _build_union(typing.get_args(kind))
    if origin is tuple:
        item = _builder(typing.get_args(kind)[0])
        return lambda plain: tuple(item(one) for one in plain)
    if origin is not None and issubclass(origin, Mapping):
        item = _builder(typing.get_args(kind)[1])
        return lambda plain: {key: item(one) for key, one in plain.items()}
    if dataclasses.is_dataclass(kind):
        return _build_by_name(kind)
    if isinstance(kind, type) and issubclass(kind, tuple):
        return _build_named_tuple(kind)
    if isinstance(kind, type) and issubclass(kind, enum.IntEnum):
        return lambda plain: kind[plain.upper()]
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return kind
    if kind in (int, float):
        return kind
    if kind in (str, bool):
        return lambda plain: _exactly(kind, plain)
    return lambda plain: plain


def _exactly(kind: type, plain: Any) -> Any:
    if not isinstance(plain, kind):
        raise TypeError(f"{type(plain).__name__} is no {kind.__name__}")
    return plain


def to_exact(value: Any) -> Any:
    """Turn what a TOML file can hold into JSON that loses nothing: infinities, dates, big numbers.

    Raises:
        TypeError: a value of another kind.
    """
    if isinstance(value, Mapping):
        return {"table": {str(key): to_exact(item) for key, item in value.items()}}
    if isinstance(value, (list, tuple)):
        return {"array": [to_exact(item) for item in value]}
    if type(value).__module__ == "datetime":
        return {type(value).__name__: value.isoformat()}
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    raise TypeError(f"{type(value).__name__} cannot be handed to a factory")


def from_exact(plain: Any) -> Any:
    """Give back what `to_exact` was given; tuples come back as lists."""
    if not isinstance(plain, dict):
        return plain
    ((kind, value),) = plain.items()
    if kind == "table":
        return {key: from_exact(item) for key, item in value.items()}
    if kind == "array":
        return [from_exact(item) for item in value]
    import datetime

    return getattr(datetime, kind).fromisoformat(value)


def _build_by_name(kind: Any) -> Any:
    hints = typing.get_type_hints(kind)

    @functools.cache  # late, so that a type may hold itself
    def builder_of(name: str) -> Any:
        return _builder(hints[name])

    return lambda plain: kind(**{name: builder_of(name)(value) for name, value in plain.items()})


def _build_named_tuple(kind: Any) -> Any:
    by_name = _build_by_name(kind)
    names = kind._fields

    def build(plain: Any) -> Any:  # in brief, as what is asked for is; or, within it, as a list
        return by_name(
            plain if isinstance(plain, Mapping) else dict(zip(names, plain, strict=True))
        )

    return build


def _build_union(kinds: tuple[Any, ...]) -> Any:
    others = [kind for kind in kinds if kind is not type(None)]
    if len(others) == 1:
        only = _builder(others[0])
        return lambda plain: None if plain is None else only(plain)
    return lambda plain: plain  # scalars of several types, which JSON keeps apart by itself
