"""One stage of a pipeline: what it is called, its exception handler, and functions of the user."""

from __future__ import annotations

import copy
import functools
import types
from collections.abc import Callable, Iterator
from typing import Any

from preflight.flow.counting import Handler, StageCounts
from preflight.objects.attributes import own_attributes
from preflight.pipelines.handlers import handler_of, named
from preflight.pipelines.live import applied

_MOST_WORDS = 3


def called(name: str, args: Any, stage: object) -> str:
    """Write a stage as the user does, with the names of what it is given."""
    if name == "map" and args and named(type(args[0])) == "Decoder":
        return ".decode()"
    handler = handler_in(stage)
    given = [one for one in args if one is not handler]
    words = [_word(one) for one in given[:_MOST_WORDS]]
    more = [", …"] if len(given) > _MOST_WORDS else []
    if name == "map_dict":
        parts = own_attributes(stage).get("kw") or {}
        words = [f"{key}={_word(one)}" for key, one in parts.items() if key != "handler"][:3]
    if applied(stage, own_attributes(stage))[0] in (None, stage):
        return name
    return f".{name}({', '.join(words)}{''.join(more)})"


def _word(thing: object) -> str:
    if type(thing) in (str, int, float, bool):
        return repr(thing) if len(repr(thing)) < 40 else "…"
    name = named(thing)
    return "…" if name.startswith("<") else name


def handler_in(stage: object) -> Callable[..., Any] | None:
    """Give the exception handler that a stage was given."""
    parts = own_attributes(stage)
    function, args, given = applied(stage, parts)
    at = _place(function)
    if "handler" in given:
        handler = given["handler"]
    elif function is not None and at is not None and at < len(args):
        handler = args[at]
    else:
        handler = parts.get("handler")
    raises = handler is None or handler_of(handler)[0] == "raises"
    return None if raises or not callable(handler) else handler


def _place(function: object) -> int | None:
    """Give the place of a handler among the arguments behind the data."""
    if type(function) is not types.FunctionType:
        return None
    code = function.__code__
    names = code.co_varnames[: code.co_argcount]
    return names.index("handler") - 1 if "handler" in names[1:] else None


def with_handler(stage: Any, tally: StageCounts, number: int) -> Any:
    """Give a copy of a stage whose handler counts; where none swallows anything, the stage."""
    handler = handler_in(stage)
    if handler is None:
        return stage
    counts = Handler(tally, number, handler)
    parts = own_attributes(stage)
    function, args, given = applied(stage, parts)
    at = _place(function)
    if "handler" in given:
        given = {**given, "handler": counts}
    elif function is not None and at is not None and at < len(args):
        args = (*args[:at], counts, *args[at + 1 :])
    if type(stage) is functools.partial:
        return functools.partial(stage.func, *args, **given)
    copied = copy.copy(stage)
    own = own_attributes(copied)
    assert isinstance(own, dict)  # noqa: S101  for the type checker
    own.update({"args": tuple(args), "kw": dict(given)} if function else {"handler": counts})
    return copied


def functions_of(stage: object) -> Iterator[types.FunctionType]:
    """Give the functions of a stage, and those that it was given."""
    parts = own_attributes(stage)
    function, args, given = applied(stage, parts)
    things = [*args, *(one for name, one in given.items() if name != "handler")]
    for thing in (function if function is not None else stage, *things):
        if named(type(thing)) == "Decoder":
            decoders = own_attributes(thing).get("handlers") or ()
            yield from filter(None, map(function_of, decoders))
        found = function_of(thing)
        if found is not None:
            yield found


def function_of(thing: object) -> types.FunctionType | None:
    """Give the code of the user's that runs when a thing is called or iterated over."""
    if type(thing) is functools.partial:
        return function_of(thing.func)
    if type(thing) is types.MethodType:
        return function_of(thing.__func__)
    if type(thing) is types.FunctionType:
        return thing
    for name in ("run", "__call__", "__iter__"):
        for kind in type(thing).__mro__:
            method = vars(kind).get(name)
            if type(method) is types.FunctionType:
                return method
    return None


def catches(code: types.CodeType) -> bool:
    """Whether it catches exceptions, as far as its instructions tell."""
    import dis

    return any(one.opname == "POP_EXCEPT" for one in dis.get_instructions(code))
