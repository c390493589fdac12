"""How the place of an object inside another one is written: `dataset.pipeline[7].args[0]`."""

from __future__ import annotations

import collections
import functools
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

_PLAIN = (str, bytes, int, float, bool, type(None))

# A module keeps its parts in three dicts; everybody writes `blocks[0].attn` for what lies in them.
_NUMBERED = re.compile(r"\._(?:modules|parameters|buffers)\['(\d+)'\]")
_NAMED = re.compile(r"\._(?:modules|parameters|buffers)\['([^\W\d]\w*)'\]")

_ADDRESS = re.compile(r" at 0x[0-9A-Fa-f]+")

Way: TypeAlias = tuple[tuple[int, str], ...]
"""The steps that lead to an object: each the id of what it goes out from, and how it is written."""

PATHS = 100
"""Paths that are kept for one object."""

ITSELF = "the model itself"
"""The path to what is copied."""

LONGEST = 240
"""Characters of a path that are shown; of a longer one, its middle is left out."""


def item(key: object) -> str:
    """Write the step to an item: `[3]`, `['key']`; a key of the user's own type by its type."""
    kind = type(key)
    if kind in _PLAIN or (kind is tuple and all(type(part) in _PLAIN for part in key)):  # type: ignore[attr-defined]
        return f"[{_cut(repr(key), 60)}]"
    return f"[<{kind.__name__}>]"


def attribute(name: object) -> str:
    """Write the step to an attribute: `.name`."""
    if type(name) is str and name.isidentifier():
        return f".{name}"
    return f".<{_cut(repr(name), 60) if type(name) in _PLAIN else type(name).__name__}>"


def parts_of_partial(thing: object) -> Iterator[tuple[str, object]]:
    """Give what a partial holds, each with the step to it."""
    own = functools.partial  # a class that derives from it may have properties by these names
    yield ".func", own.func.__get__(thing)
    for number, value in enumerate(own.args.__get__(thing)):
        yield f".args[{number}]", value
    for key, value in dict.items(own.keywords.__get__(thing)):
        yield f".keywords{item(key)}", value


def written(root: str, steps: str) -> str:
    """Write a whole path, with the parts of modules as their users write them."""
    path = _NAMED.sub(r".\1", _NUMBERED.sub(r"[\1]", root + steps))
    return _cut(path if root else path.removeprefix("."), LONGEST)


def last_step(path: str) -> str:
    """Give the name by which something is kept, whatever its place in a row: `lock`, `locks[]`."""
    return re.sub(r"\[\d+\]", "[]", path.rpartition(".")[2])


def _cut(text: str, most: int) -> str:
    half = most // 2
    return text if len(text) <= most else f"{text[:half]}...{text[-half:]}"


def type_name(kind: type) -> str:
    """Name a type with its module, as `_thread.lock`, without asking its metaclass."""
    module = type.__dict__["__module__"].__get__(kind)
    name = type.__dict__["__qualname__"].__get__(kind)
    return f"{module}.{name}" if type(module) is str else str(name)


def said(error: BaseException) -> str:
    """Say an exception as Python does, with its type, and without addresses in memory."""
    try:
        text = str(error)
    except Exception:  # noqa: BLE001  the user's own exception may have a broken __str__
        text = ""
    return _ADDRESS.sub("", f"{type(error).__name__}: {text}")[:500]


def ways_to(
    thing: object, steps: Mapping[int, Sequence[tuple[int, str]]], begin: int, *, tries: int
) -> Iterator[Way]:
    """Give the ways to an object from what they begin with, by the steps that lead to each id.

    The shortest come first, and none goes round in circles.
    """
    todo: collections.deque[Way] = collections.deque([()])
    given = 0
    for _ in range(tries):
        if not todo or given >= PATHS:
            return
        way = todo.popleft()
        at = way[0][0] if way else id(thing)
        if at == begin:
            given += 1
            yield way
            continue
        been = {key for key, _ in way} | {id(thing)}
        fresh = (step for step in steps.get(at, ()) if step[0] not in been)
        todo.extend((step, *way) for step in itertools.islice(fresh, PATHS))


def holders_on(way: Way, things: Mapping[int, object]) -> tuple[tuple[object, str], ...]:
    """Give the instances on a way, innermost first, each with the attribute that leads on."""
    return tuple(
        (things[key], step[1:])
        for key, step in reversed(way)
        if key in things and step.startswith(".") and step[1:].isidentifier()
    )
