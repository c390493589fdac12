"""Tells the path to an object from what a pickler was at when it came to it."""

from __future__ import annotations

import collections
import functools
import itertools
import types
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

from preflight.objects.attributes import own_attributes, slots
from preflight.objects.paths import attribute, item, parts_of_partial
from preflight.objects.sending.pickle_trial import PROTOCOL, PythonPickler, Writable, reducers

CONTAINERS = frozenset({list, tuple, dict, set, frozenset})
"""What pickle takes apart by itself, where the type is exactly one of these."""


# Nothing can go wrong with these, and most of what a data set holds is of them.
ATOMS = frozenset(
    {type(None), bool, int, float, complex, str, bytes, bytearray, type(...), type(NotImplemented)}
)

_ORDERED = (list, tuple, collections.deque)


@dataclass(slots=True, kw_only=True, eq=False)
class PickledObject:
    """An object that is being pickled, with the parts that its reduction gave."""

    thing: object
    state: object = None
    arguments: object = None
    function: object = None


_save_reduce = PythonPickler.save_reduce


class FramePickler(PythonPickler):  # type: ignore[misc]
    """The pickler in Python; where `frames` are kept, they tell what it is at."""

    def __init__(self, sink: Writable) -> None:
        super().__init__(sink, PROTOCOL)
        self.dispatch_table = reducers()
        self.sink = sink
        self.frames: list[PickledObject] = []

    def save_reduce(self, func: Any, args: Any, state: Any = None, *rest: Any, **more: Any) -> None:
        """Keep the parts of a reduction, which say what the attributes are called.

        `super().save_reduce(…, *rest)` would go through C, where Python 3.12 goes down far fewer
        levels than in Python; a function that is called by its class does not.
        """
        for frame in self.frames[-1:]:
            frame.function, frame.arguments, frame.state = func, args, state
        _save_reduce(self, func, args, state, *rest, **more)


def is_one_of(kind: type, known: frozenset[type]) -> bool:
    """Whether a class is one of these; a metaclass may have an `__eq__` and no `__hash__`."""
    try:
        return kind in known
    except TypeError:
        return False


def all_atoms(things: Iterable[Any]) -> bool:
    """Whether nothing can go wrong with any of these."""
    try:
        return ATOMS.issuperset(map(type, things))
    except TypeError:  # a class without a hash is none of them
        return False


def steps_to(above: list[PickledObject], thing: object) -> list[str]:
    """Write the step from each frame to the next one, and from the last one to the object.

    A step that a reader of the code would not see (from an instance to the dict of its state) is
    an empty string.
    """
    chain = [frame.thing for frame in above]
    chain.append(thing)
    steps: list[str] = []
    while len(steps) < len(chain) - 1:
        number = len(steps)
        text, used = _step(above[number], chain[number + 1 :])
        steps.extend([text, *[""] * (used - 1)])
    return steps


def _step(frame: PickledObject, below: Sequence[object]) -> tuple[str, int]:
    """Name the step from an object down its chain, and say how many links of it that takes."""
    thing, child = frame.thing, below[0]
    kind = type(thing)
    if kind in CONTAINERS:
        return next(_keys(thing, child), ""), 1
    known = _partial_or_method(thing)
    if known is not None:
        for number, link in enumerate(below):
            for text, part in known:
                if part is link:
                    return text, number + 1
        return "", 1
    if child is kind:
        return ".__class__", 1
    if child is frame.state:
        return _state_step(thing, child, below)
    # Of `__newobj__`, pickle sends the arguments behind the class, as a tuple of its own.
    if type(child) is tuple and frame.arguments is not None:
        return _argument_step(thing, child, below)
    return (".__reduce__" if child is frame.function else next(_keys(thing, child), "")), 1


def _argument_step(thing: object, arguments: object, below: Sequence[object]) -> tuple[str, int]:
    """Name the step through the arguments that an object is rebuilt with."""
    if len(below) == 1:
        return "", 1
    part, kind = below[1], type(thing)
    if part is kind:
        return ".__class__", 2
    text = next(_keys(thing, part), "") if issubclass(kind, tuple) else _attribute_of(thing, part)
    return text or f".<argument {_index(arguments, part)}>", 2


def _attribute_of(thing: object, value: object) -> str:
    """Find by what attribute an instance holds a value, without asking the instance."""
    if type(thing) is collections.defaultdict and thing.default_factory is value:
        return ".default_factory"
    held = itertools.chain(own_attributes(thing).items(), slots(thing, of_c=True))
    return next((attribute(name) for name, one in held if one is value), "")


def _state_step(thing: object, state: object, below: Sequence[object]) -> tuple[str, int]:
    """Name the step through the state of an instance: a dict, or one with another for its slots."""
    if len(below) == 1:
        return ("" if type(state) is dict else ".<state>"), 1
    part = below[1]
    if type(state) is dict:
        return next((attribute(key) for key, value in state.items() if value is part), ""), 2
    if type(state) is tuple and len(state) == 2 and type(part) is dict:
        text, used = _state_step(thing, part, below[1:])
        return text, used + 1
    if type(state) not in (list, tuple):
        return ".<state>", 1
    return _attribute_of(thing, part) or f".<state>{item(_index(state, part))}", 2


def _partial_or_method(thing: object) -> list[tuple[str, object]] | None:
    """Name the parts of a partial or a bound method, which pickle sends as arguments."""
    if type(thing) in (types.MethodType, types.BuiltinMethodType):
        return [(".__self__", cast("types.MethodType", thing).__self__)]
    return list(parts_of_partial(thing)) if type(thing) is functools.partial else None


def _keys(thing: Any, child: object) -> Iterator[str]:
    """Write every step by which a container leads to an object."""
    kind = type(thing)
    if issubclass(kind, dict):
        for number, (key, value) in enumerate(dict.items(thing)):
            if value is child:
                yield item(key)
            if key is child:
                yield f".<key {number}>"
    elif issubclass(kind, _ORDERED):
        base: Any = next(one for one in _ORDERED if issubclass(kind, one))
        for number, value in enumerate(base.__iter__(thing)):
            if value is child:
                yield item(number)
    else:
        yield ".<element>"


def _index(items: object, child: object) -> int:
    return next((n for n, one in enumerate(cast("tuple[object, ...]", items)) if one is child), 0)


def ways(above: list[PickledObject], thing: object, steps: list[str]) -> Iterator[str]:
    """Write every way to an object that its nearest holder has under several names."""
    if not above:
        yield ""
        return
    holder = above[-1].thing
    several: list[str] = []
    before = steps[:-1]
    if type(holder) is dict and len(above) > 1 and above[-2].state is holder:
        several = [attribute(key) for key, value in holder.items() if value is thing]
        before = steps[:-2]
    elif type(holder) in CONTAINERS and steps[-1]:
        several = list(itertools.islice(_keys(holder, thing), 100))
    if not several:
        yield "".join(steps)
    for last in several:
        yield "".join(before) + last


def holders_of(above: list[PickledObject], thing: object) -> tuple[tuple[object, str], ...]:
    """Give the instances on the way to an object, innermost first, with the attributes."""
    found = []
    steps = steps_to(above, thing)
    for frame, text in zip(above, steps, strict=False):
        if frame.state is not None and text.startswith(".") and text[1:].isidentifier():
            found.append((frame.thing, text[1:]))
    return tuple(reversed(found))
