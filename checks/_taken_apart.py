"""What Python says when a loop takes something apart that is made of other parts."""

from __future__ import annotations

from typing import NamedTuple

from preflight.facts import Structure
from preflight.settings.taking import OwnName, Taking, Way
from preflight.values.names import first_of, shown

_NAMES = {"none": "NoneType", "number": "float"}

# Mappings that give their keys when a loop goes through them.
_KEYED = ("", "collections.OrderedDict", "collections.defaultdict", "collections.UserDict")
_KEYED_ENDS = ("BatchEncoding", "BatchFeature", "ModelOutput")

# Those that raise KeyError for a key that they lack.
_LIKE_DICTS = frozenset({"OrderedDict", "UserDict", "BatchEncoding", "BatchFeature"})


class Misfit(NamedTuple):
    """Why a part of a batch cannot be taken as it is."""

    error: str
    """What Python raises; empty: nothing, and names stand for something else."""

    what: str
    """What comes, as `{loop} takes it apart, and {what}`."""


def misfit(taking: Taking, what: Structure) -> Misfit | None:
    """Say what is wrong; None: it fits, or nobody knows."""
    if taking.ways:
        return next(filter(None, (_on_the_way(one, what) for one in taking.ways)), None)
    if taking.parts is None:
        return None
    if name := _without_parts(what):
        return Misfit(f"TypeError: cannot unpack non-iterable {name} object", described(what))
    match what.kind:
        case "tuple" | "list":
            return _of_row(taking, what.length or 0, what.parts)
        case "dict" if what.type in _KEYED or what.type.endswith(_KEYED_ENDS):
            return _of_dict(taking, what)
        case "str" | "bytes":
            inner = what.kind if what.kind == "str" else "int"
            letters = tuple(Structure(kind=inner, length=1) for _ in taking.parts)
            return _of_row(taking, what.length or 0, letters)
        case "tensor" if not what.shape:
            return Misfit("TypeError: iteration over a 0-d tensor", described(what))
        case "array" if not what.shape:
            return Misfit("TypeError: iteration over a 0-d array", described(what))
        case "tensor" | "array":
            row = Structure(kind=what.kind, dtype=what.dtype, shape=what.shape[1:])
            is_number = what.kind == "array" and not row.shape
            rows = () if is_number else tuple(row for _ in taking.parts)
            return _of_row(taking, what.shape[0], rows)
    return None


def _of_row(taking: Taking, length: int, parts: tuple[Structure, ...]) -> Misfit | None:
    wanted = taking.parts or ()
    star = taking.starred
    number = len(wanted)
    if star is not None and length < number - 1:
        text = f"not enough values to unpack (expected at least {number - 1}, got {length})"
        return Misfit(f"ValueError: {text}", f"{length} come")
    if star is None and length > number:
        return Misfit(f"ValueError: too many values to unpack (expected {number})", "")
    if star is None and length < number:
        text = f"not enough values to unpack (expected {number}, got {length})"
        return Misfit(f"ValueError: {text}", "")
    for place, one in enumerate(wanted):
        if place == star:
            continue
        at = place if star is None or place < star else length - number + place
        found = misfit(one, parts[at]) if at < len(parts) else None
        if found is not None:
            return found
    return None


def _of_dict(taking: Taking, what: Structure) -> Misfit | None:
    keys = tuple(Structure(kind="str", length=len(one)) for one in what.keys)
    found = _of_row(taking, what.length or 0, keys)
    if found is not None:
        return found
    names = [shown(one.text) for one in taking.parts or ()]
    given = ", ".join(f"{one} is {key!r}" for one, key in zip(names, what.keys, strict=False))
    return Misfit("", given if taking.starred is None else "they are its keys")


def _on_the_way(way: Way, what: Structure) -> Misfit | None:
    """Say at which step of a way there is nothing to go on with."""
    for step in way:
        if isinstance(step, OwnName):
            error = without_attribute(step.name, what)
            found = Misfit(error, described(what)) if error else None
        else:
            found = _without(step, what)
        if found is not None:
            return found
        inner = _part(step, what)
        if inner is None:
            return None
        what = inner
    return None


def _part(step: str | int | OwnName, what: Structure) -> Structure | None:
    """Give the part to which a step leads; None: nobody knows it."""
    name = step.name if isinstance(step, OwnName) else step
    if isinstance(step, int) and what.kind in {"tuple", "list"}:
        return what.parts[step] if len(what.parts) == what.length else None
    if (what.kind == "dict") == isinstance(step, OwnName) or str(name) not in what.keys:
        return None
    return what.parts[what.keys.index(str(name))]


def _without(key: str | int, what: Structure) -> Misfit | None:
    if name := _without_parts(what):
        return Misfit(f"TypeError: '{name}' object is not subscriptable", described(what))
    if is_plain_dict(what):
        if str(key) not in what.keys:
            return Misfit(f"KeyError: {key!r}", described(what))
    elif what.kind in {"tuple", "list"} and isinstance(key, str):
        if not what.type:
            text = f"{what.kind} indices must be integers or slices, not str"
            return Misfit(f"TypeError: {text}", described(what))
    elif what.kind in {"tuple", "list"} and isinstance(key, int):
        length = what.length or 0
        if not -length <= key < length:
            return Misfit(f"IndexError: {what.kind} index out of range", described(what))
    return None


def _without_parts(what: Structure) -> str:
    """Name the class of what has no parts to take; empty: it may have some."""
    if what.kind in {"int", "float", "bool", "none"}:
        return _NAMES.get(what.kind, what.kind)
    return what.type.rpartition(".")[2] if what.is_bare else ""


_OWN = {one.__name__: one for one in (tuple, list, dict, str, bytes, int, float, bool)}


def without_attribute(name: str, what: Structure) -> str:
    """Say what Python raises where there is no such attribute; empty: there is, or nobody knows."""
    known = what.attributes
    if not what.type and what.kind in _OWN:
        known = tuple(dir(_OWN[what.kind]))
    elif what.kind == "none":
        known = ()
    if not name or name.startswith("_") or known is None or name in known:
        return ""
    kind = what.type.rpartition(".")[2] or _NAMES.get(what.kind, what.kind)
    return f"AttributeError: {kind!r} object has no attribute {name!r}"


def is_plain_dict(what: Structure) -> bool:
    """Whether it is known whole, and raises KeyError for any other key."""
    is_plain = not what.type or what.type.rpartition(".")[2] in _LIKE_DICTS
    return what.kind == "dict" and is_plain and what.length == len(what.keys)


def described(what: Structure, depth: int = 0) -> str:
    """Say for people what a batch, or a part of one, is."""
    match what.kind:
        case "tensor" | "array":
            size = " x ".join(map(str, what.shape)) or "no dimension"
            return f"a {what.kind} of {what.dtype}, {size}"
        case "dict":
            names = first_of([*what.keys], what.length or 0, most=5)
            return f"a {shown(what.type) or 'dict'} with {names}" if what.keys else "an empty dict"
        case "tuple" | "list":
            name = f"a {shown(what.type) or what.kind} of {what.length}"
            if depth or not what.parts or (what.length or 0) > 4:
                return name
            return f"{name} ({'; '.join(described(one, 1) for one in what.parts)})"
        case "none":
            return "None"
        case "str":
            return f"a text of {what.length}"
        case "int" | "float" | "bool" | "bytes":
            return "an int" if what.kind == "int" else f"a {what.kind}"
    return f"a {shown(what.type)}"
