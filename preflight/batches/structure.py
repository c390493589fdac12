"""Says what a batch is made of, as plain values; none of its data is kept."""

from __future__ import annotations

import itertools
import math
from types import FunctionType
from typing import Any

from preflight.batches.facts import Structure
from preflight.objects.attributes import classes, own_attributes, slots
from preflight.objects.paths import type_name

# Of a longer one, the first: a batch of a thousand texts has a thousand parts that are alike.
_MOST = 64

_DEEPEST = 6

# Attributes of a thing that are told, and at which depth: those of parts are asked for in a loop.
_MOST_ATTRIBUTES, _TOLD = 200, 1

# What JSON holds of a number for certain, and the fields of a batch of which one may be a count.
_LARGEST, _MOST_FIELDS = 2**53, 16

# Ends of names of classes that give what they hold by a key as an attribute, too.
_BY_KEY = ("BatchEncoding", "BatchFeature")

_PLAIN = {str: "str", bytes: "bytes", int: "int", float: "float", bool: "bool"}


def structure_of(thing: Any, depth: int = 0) -> Structure:
    """Say what a batch, or a part of one, is made of."""
    kind = type(thing)
    if thing is None:
        return Structure(kind="none")
    if kind in _PLAIN:
        sized = kind in (str, bytes)
        return Structure(kind=_PLAIN[kind], length=len(thing) if sized else None)
    name = type_name(kind)
    if issubclass(kind, classes("torch", "Tensor")):
        own = "" if name in ("torch.Tensor", "torch.nn.parameter.Parameter") else name
        size = thing.numel() * thing.element_size()
        dtype = str(thing.dtype).removeprefix("torch.")
        shape = tuple(map(int, thing.shape))
        return Structure(kind="tensor", type=own, dtype=dtype, shape=shape, bytes=size)
    if issubclass(kind, classes("numpy", "ndarray")):
        own = "" if name == "numpy.ndarray" else name
        shape, dtype = tuple(map(int, thing.shape)), str(thing.dtype)
        size = math.prod(shape) * thing.dtype.itemsize
        return Structure(kind="array", type=own, dtype=dtype, shape=shape, bytes=size)
    if depth < _DEEPEST and isinstance(thing, (tuple, list)):
        made = _of_row(thing, name, depth)
    elif depth < _DEEPEST and (isinstance(thing, dict) or _is_mapping(thing)):
        made = _of_dict(thing, name, depth)
    else:
        made = _of_object(thing, name, depth)
    return _with_attributes(thing, made) if made.type and depth <= _TOLD else made


def _with_attributes(thing: Any, made: Structure) -> Structure:
    """Say which attributes it has, and which of them are None, without calling any of its code."""
    kind = type(thing)
    own = {**own_attributes(thing), **dict(slots(thing))}
    names = {*dir(kind), *own}
    if hasattr(kind, "__getattr__"):
        if not (made.kind == "dict" and made.type.endswith(_BY_KEY)):
            return made
        names |= {*made.keys}
    public = sorted(one for one in names if isinstance(one, str) and not one.startswith("_"))
    if isinstance(kind.__getattribute__, FunctionType) or len(public) > _MOST_ATTRIBUTES:
        return made
    nothing = tuple(one for one in public if one in own and own[one] is None)
    return made._replace(attributes=tuple(public), nothing=nothing)


def _of_object(thing: Any, name: str, depth: int) -> Structure:
    """Look into the fields that a class declares: of a dataclass, of attrs, of pydantic."""
    kind = type(thing)
    declared = [
        *getattr(kind, "__dataclass_fields__", ()),
        *(one.name for one in getattr(kind, "__attrs_attrs__", ())),
        *getattr(kind, "__pydantic_fields__", ()),
    ]
    held = {**own_attributes(thing), **dict(slots(thing))} if declared else {}
    names = [one for one in dict.fromkeys(declared) if one in held][:_MOST]
    is_bare = not (hasattr(kind, "__iter__") or hasattr(kind, "__getitem__"))
    bare = Structure(kind="other", type=name, is_bare=is_bare)
    if not names or depth >= _DEEPEST:
        return bare
    parts = tuple(structure_of(held[one], depth + 1) for one in names)
    return bare._replace(length=len(names), keys=tuple(names), parts=parts)


def _of_row(thing: Any, name: str, depth: int) -> Structure:
    fields = getattr(type(thing), "_fields", ())
    return Structure(
        kind="tuple" if isinstance(thing, tuple) else "list",
        type="" if type(thing) in (tuple, list) else name,
        length=len(thing),
        keys=tuple(map(str, fields[:_MOST])) if isinstance(fields, tuple) else (),
        parts=_parts(thing[:_MOST], depth),
    )


def _is_mapping(thing: object) -> bool:
    """Whether it holds values by keys without being a dict, as a `BatchEncoding` does."""
    from collections import UserDict

    return isinstance(thing, UserDict)


def _of_dict(thing: Any, name: str, depth: int) -> Structure:
    items = list(itertools.islice(thing.items(), _MOST))
    return Structure(
        kind="dict",
        type="" if type(thing) is dict else name,
        length=len(thing),
        keys=tuple(str(key) for key, _ in items),
        parts=_parts([value for _, value in items], depth),
    )


def form_of(made: Structure) -> tuple[object, ...]:
    """Give what is the same for batches that differ only in how much there is in them."""
    parts: object = tuple(map(form_of, made.parts))
    if made.kind in ("tuple", "list") and len(made.parts) > _MOST_FIELDS:
        parts = frozenset(map(form_of, made.parts))
    return (made.kind, made.type, made.dtype, len(made.shape), made.keys, parts)


def rows_agree(made: Structure) -> bool:
    """Whether all parts of a batch that have rows have as many."""
    arrays = {one.shape[0] for one in made.parts if one.shape}
    rows = {one.length for one in made.parts if one.kind in ("tuple", "list")}
    return len(arrays | rows) <= 1


def _parts(things: Any, depth: int) -> tuple[Structure, ...]:
    """Say what each part is made of; of an int among few fields of the batch, what it is."""
    parts = tuple(structure_of(one, depth + 1) for one in things)
    if depth or len(parts) > _MOST_FIELDS:
        return parts
    return tuple(
        one._replace(value=thing) if one.kind == "int" and abs(thing) < _LARGEST else one
        for one, thing in zip(parts, things, strict=True)
    )
