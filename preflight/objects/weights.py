"""Weighs what a spawned worker would be sent, and names the parts that make it heavy.

All is weighed once by the pickler in C. Where that is much, the first levels of it are walked in
Python, as far as a reader of the code thinks in names; what lies below, such as a list of a million
samples, is weighed as a whole. So the names cost about as much as the weight does.
"""

from __future__ import annotations

import collections
import itertools
import pickle
import re
import sys
import types
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from preflight.objects.paths import written
from preflight.objects.pickle_paths import CONTAINERS, Frame, steps_to
from preflight.objects.pickle_trial import Roots, Sink, reducers, spawning
from preflight.objects.random_state import kept_random_state
from preflight.objects.scale import PROTOCOL, Scale, is_bulk

LARGE = 64 << 20
"""Bytes from which on it is worth knowing what they are."""

PORTIONS = 5
"""Parts that are named."""

_LEAST = 0.05  # of the whole: what is less is not named
_MOST_OF = 0.5  # of a part: where a few of its own parts hold as much, they are named in its place
_FEW = 4

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Portion:
    """One of the parts that make it heavy."""

    path: str
    bytes: int
    dragged_by: str | None = None
    """The bound method that drags it along with its whole `self`, such as `Trainer.decode`."""

    mapped: bool = False
    """Whether most of it are memory maps of numpy, of which pickle writes all that they map."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Weighed:
    """How much one worker would be sent."""

    bytes: int
    """What pickle writes, with the data of arrays, and without that of tensors."""

    shared_bytes: int = 0
    """The data of tensors on the CPU, which torch moves to memory that all workers share."""

    parts: tuple[Portion, ...] = ()
    """The heaviest parts, the heaviest first; none where the whole is less than LARGE."""

    complete: bool = True
    """Whether all was weighed: pickle refuses nothing of it, and it has an end."""


def weigh(roots: Roots) -> Weighed:
    """Weigh what is sent together; data is counted where it is, and nothing is copied.

    What is shared is counted once, under the first of its names.

    Args:
        roots: what is sent, each under the name that its paths begin with.
    """
    with spawning(), kept_random_state():
        scale = Scale()
        taken = [scale.put(thing) for _, thing in roots]
        total = scale.bytes
        parts = _heaviest(roots, total) if total >= LARGE else ()
    return Weighed(bytes=total, shared_bytes=scale.shared, parts=parts, complete=all(taken))


def _heaviest(roots: Roots, total: int) -> tuple[Portion, ...]:
    survey = _Survey()
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(before + _DEPTH * 6)  # frames for a level: four, and some to spare
    try:
        survey.run(roots)
    finally:
        sys.setrecursionlimit(before)
    _measure(survey)
    heaviest = sorted(_named(survey.roots, total * _LEAST), key=lambda node: -node.bytes)
    return tuple(_portion(node) for node in heaviest[:PORTIONS])


# --- the first levels, walked as pickle would -----------------------------------------------------


@dataclass(slots=True, kw_only=True, eq=False)
class _Node:
    """An object on the way, and how much of the whole lies in it and below."""

    frame: Frame
    above: _Node | None
    root: str
    below: list[_Node] = field(default_factory=list)
    bytes: int = 0
    mapped: int = 0

    def chain(self) -> list[_Node]:
        """Give what it is in, the outermost first, and itself."""
        found = [self]
        while found[-1].above is not None:
            found.append(found[-1].above)
        return found[::-1]


# The pickler in Python is private, and has been there under this name since Python 3.0.
_Pickler: Any = vars(pickle)["_Pickler"]


class _Survey(_Pickler):  # type: ignore[misc]
    """The pickler in Python, which notes what is to be weighed as a whole, in pickle's order."""

    def __init__(self) -> None:
        super().__init__(Sink(), PROTOCOL)
        self.dispatch_table = reducers()
        self.roots: list[_Node] = []
        self.wholes: dict[int, _Node] = {}
        """What is weighed as a whole, by id."""

        self._at: _Node | None = None
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

    def save_reduce(
        self,
        func: Any,
        args: Any,
        state: Any = None,
        listitems: Any = None,
        dictitems: Any = None,
        *rest: Any,
        **more: Any,
    ) -> None:
        """Keep the parts of a reduction; what gives nobody knows how many items is one whole."""
        node = cast("_Node", self._at)
        frame = node.frame
        frame.function, frame.arguments, frame.state = func, args, state
        endless = listitems is not None or dictitems is not None
        if endless and not issubclass(type(frame.thing), _SIZED):
            self._keep_whole()
            return
        super().save_reduce(func, args, state, listitems, dictitems, *rest, **more)

    def _node(self, thing: object) -> _Node:
        node = _Node(frame=Frame(thing=thing), above=self._at, root=self._root)
        (self.roots if self._at is None else self._at.below).append(node)
        self._left -= 1
        return node

    def _keep_whole(self) -> None:
        node = cast("_Node", self._at)
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


# --- which of them are named ----------------------------------------------------------------------


def _named(nodes: Sequence[_Node], least: float) -> Iterator[_Node]:
    """Choose the parts to name: of a heavy one, its few heavy parts where they are most of it."""
    for node in nodes:
        if node.bytes < least:
            continue
        heavy = [one for one in node.below if one.bytes >= least]
        held = sum(one.bytes for one in heavy)
        few = 0 < len(heavy) <= _FEW and held >= node.bytes * _MOST_OF
        named = list(_named(heavy, least)) if few else []
        if not named or any(_NO_CODE.search(_path(one)) for one in named):
            named = [node]
        yield from named


def _path(node: _Node) -> str:
    above = [one.frame for one in node.chain()[:-1]]
    return written(node.root, "".join(steps_to(above, node.frame.thing)))


def _portion(node: _Node) -> Portion:
    above = [one.frame.thing for one in node.chain()[:-1]]
    methods = [one for one in above if type(one) in _METHODS]
    return Portion(
        path=_path(node),
        bytes=node.bytes,
        dragged_by=_method_name(methods[-1]) if methods else None,
        mapped=node.mapped * 2 > node.bytes,
    )


# Steps that only pickle knows: what is behind them is named by what is before them.
_NO_CODE = re.compile(r"\.<(state|argument \d+)>|\.__reduce__")

_METHODS = (types.MethodType, types.BuiltinMethodType)


def _method_name(method: Any) -> str:
    """Name a bound method as its class's readers do: `Trainer.decode`."""
    owner = type.__dict__["__qualname__"].__get__(type(method.__self__)).rpartition("<locals>.")[2]
    function = method.__func__ if type(method) is types.MethodType else method
    known = type(function) in (types.FunctionType, types.BuiltinMethodType)
    return f"{owner}.{function.__name__ if known else type(function).__name__}"
