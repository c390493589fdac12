"""Says what an exception handler of a pipeline does, by its name or by its code; none is called."""

from __future__ import annotations

import dis
import types
from typing import Any

_GOES_ON = frozenset({"warn_and_continue", "ignore_and_continue"})
_STOPS = frozenset({"warn_and_stop", "ignore_and_stop"})


def named(thing: object) -> str:
    """Give the name of a class or function, or else of the class of a thing."""
    if issubclass(type(thing), type):
        return type.__dict__["__name__"].__get__(thing)  # type: ignore[no-any-return]
    if type(thing) in (types.FunctionType, types.BuiltinFunctionType):
        return thing.__name__  # type: ignore[attr-defined, no-any-return]
    return type(thing).__name__


def handler_named(name: str) -> str:
    """Say what one of webdataset's handlers does; of another one nothing is known by its name."""
    if name == "reraise_exception":
        return "raises"
    if name in _GOES_ON | _STOPS:
        return "goes-on" if name in _GOES_ON else "stops"
    return "unknown"


def handler_of(handler: object) -> tuple[str, str]:
    """Say what an exception handler does, by its name or by its code, and how it is called."""
    if handler is None:
        return "", ""
    name = named(handler)
    if type(handler) is not types.FunctionType:
        return "unknown", name
    if handler_named(name) != "unknown":
        return handler_named(name), name
    steps = list(dis.get_instructions(handler.__code__))
    raises = any(one.opname == "RAISE_VARARGS" for one in steps)
    given = {_given(before, one) for before, one in zip([steps[0], *steps], steps, strict=False)}
    given.discard(...)
    if raises and not given - {None}:
        return "raises", name
    if raises or len(given) != 1:
        return "unknown", name
    said = given.pop()
    return {True: "goes-on", False: "stops", None: "stops"}.get(said, "unknown"), name


def _given(before: dis.Instruction, one: dis.Instruction) -> Any:
    """Give the constant that is returned here; `...` where nothing is returned."""
    if one.opname == "RETURN_CONST":
        said = one.argval
    elif one.opname == "RETURN_VALUE":
        said = before.argval if before.opname in ("LOAD_CONST", "RETURN_CONST") else "?"
    else:
        return ...
    return said if said is None or type(said) is bool else "?"
