"""Walks the first levels of what is sent, as far as names go, and weighs what lies below them.

What lies below, such as a list of a million samples, is weighed as a whole by the pickler in C: so
that a walk in Python costs about as much as weighing all of it once.
"""

from __future__ import annotations

import collections
import itertools
import types
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, cast

from preflight.objects.sending.pickle_paths import CONTAINERS, PickledObject
from preflight.objects.sending.pickle_trial import PythonPickler, Roots, Sink, deep, reducers
from preflight.objects.sending.scale import PROTOCOL, Scale, is_bulk

_ITEMS = 2_000
_NODES = 5_000
_DEPTH = 100
_SHORT = 256  # characters: shorter texts weigh nothing beside what is named
_LONG = 1 << 20

_WEIGHTLESS = frozenset(
    {type(None), bool, int, float, complex, type(...), type(NotImplemented), types.FunctionType}
)
_TEXTS = frozenset({str, bytes, bytearray})
_ATOMS = _WEIGHTLESS | _TEXTS
_SIZED = (dict, list, tuple, set, frozenset, collections.deque)


@dataclass(slots=True, kw_only=True, eq=False)
class Node:
    """An object on the way, and how much of the whole lies in it and below."""

    frame: PickledObject
    above: Node | None
    root: str
    below: list[Node] = field(default_factory=list)
    bytes: int = 0
    mapped: int = 0

    def chain(self) -> list[Node]:
        """Give what it is in, the outermost first, and itself."""
        found = [self]
        while found[-1].above is not None:
            found.append(found[-1].above)
        return found[::-1]


def weighed_levels(roots: Roots) -> list[Node]:
    """Give all that is sent together, as far as it was walked, with what each part weighs."""
    survey = _Survey()
    with deep():
        survey.run(roots)
    _measure(survey)
    return survey.roots


class _Survey(PythonPickler):  # type: ignore[misc]
    """The pickler in Python, which notes what is to be weighed as a whole, in pickle's order."""

    def __init__(self) -> None:
        super().__init__(Sink(), PROTOCOL)
        self.dispatch_table = reducers()
        self.roots: list[Node] = []
        self.wholes: dict[int, Node] = {}
        """What is weighed as a whole, by id."""

        self._at: Node | None = None
        self._root = ""
        self._depth = 0
        self._left = _NODES

    def run(self, roots: Roots) -> None:
        """Walk all that is sent together."""
        for name, thing in roots:
            self._root = name
            self.save(thing)

    def save(self, obj: Any, save_persistent_id: bool = True) -> None:  # noqa: FBT001, FBT002, ARG002  as pickle calls it
        kind = type(obj)
        if kind in _WEIGHTLESS or issubclass(kind, type) or _is_short(obj, kind):
            return
        if id(obj) in self.memo or id(obj) in self.wholes:
            return
        above, self._at = self._at, self._node(obj)
        self._depth += 1
        try:
            if self._is_whole(obj, kind):
                self._keep_whole()
            elif kind in CONTAINERS:
                self._save_items(obj)
            else:
                super().save(obj)
        except KeyboardInterrupt:
            raise
        except BaseException:  # noqa: BLE001  pickle runs the user's own code
            self._left -= 1  # what is refused is not sent, and weighs nothing
        finally:
            self._at = above
            self._depth -= 1

    def save_reduce(self, func: Any, args: Any, state: Any = None, *rest: Any, **more: Any) -> None:
        """Keep the parts of a reduction; what gives nobody knows how many items is one whole."""
        node = cast("Node", self._at)
        frame = node.frame
        frame.function, frame.arguments, frame.state = func, args, state
        has_items = any(one is not None for one in rest[:2])
        if has_items and not issubclass(type(frame.thing), _SIZED):
            self._keep_whole()
            return
        super().save_reduce(func, args, state, *rest, **more)

    def _node(self, thing: object) -> Node:
        node = Node(frame=PickledObject(thing=thing), above=self._at, root=self._root)
        (self.roots if self._at is None else self._at.below).append(node)
        self._left -= 1
        return node

    def _keep_whole(self) -> None:
        node = cast("Node", self._at)
        self.wholes[id(node.frame.thing)] = node

    def _is_whole(self, thing: Any, kind: type) -> bool:
        if self._left < 0 or self._depth > _DEPTH or kind in _TEXTS or is_bulk(thing):
            return True
        base = next((one for one in _SIZED if issubclass(kind, one)), None)
        if base is None:
            return False
        if base.__len__(thing) > _ITEMS:
            return True
        return kind in CONTAINERS and all(map(_is_small_change, _items(thing)))

    def _save_items(self, thing: Any) -> None:
        self.memo[id(thing)] = (len(self.memo), thing)
        for part in _items(thing):
            for child in itertools.islice(part, _ITEMS):
                self.save(child)


def _is_short(thing: Any, kind: type) -> bool:
    return (kind in _TEXTS or kind in CONTAINERS) and len(thing) < (_SHORT if kind in _TEXTS else 1)


def _is_small_change(items: Iterable[Any]) -> bool:
    """Whether none of the items is worth a name of its own."""
    return all(
        type(item) in _ATOMS and (type(item) in _WEIGHTLESS or len(item) < _LONG) for item in items
    )


def _items(thing: Any) -> tuple[Iterable[Any], ...]:
    return (thing.keys(), thing.values()) if type(thing) is dict else (thing,)


def _measure(survey: _Survey) -> None:
    """Weigh all wholes, in their order, and give each weight to all that they lie in.

    What was walked is left out of them, as what has been written already is.
    """
    scale = Scale()
    scale.memo = survey.memo
    for node in survey.wholes.values():
        before, mapped = scale.bytes, scale.mapped
        scale.put(node.frame.thing)
        for one in node.chain():
            one.bytes += scale.bytes - before
            one.mapped += scale.mapped - mapped
