"""Names every object that `copy.deepcopy` cannot copy, with every path that leads to it.

The real copy decides; a walk along the same ways, which goes on where the copy stops, names them.
What fails only while an object is put together again is found by copying once more, with all that
is known already shared instead of copied.
"""

from __future__ import annotations

import collections
import copy
import copyreg
import functools
import itertools
import types
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from preflight.objects.attributes import own_attributes
from preflight.objects.copying.copy_trial import Trial, attempt
from preflight.objects.copying.made_of import Steps, of_copier, of_state, own_copier
from preflight.objects.copying.refusing import below_refusing, compiled_in, is_sharding, viewed_by
from preflight.objects.copying.shared_functions import SharedFunction, shared_functions
from preflight.objects.paths import (
    ITSELF,
    Way,
    attribute,
    holders_on,
    item,
    parts_of_partial,
    said,
    ways_to,
    written,
)
from preflight.values.byte_sizes import format_size
from preflight.values.names import with_article

_NODES = 500_000
_ITEMS = 2_000
_TRIALS = 64

_DISPATCH: dict[type, Any] = vars(copy)["_deepcopy_dispatch"]
# Python 3.14 keeps in a set what is not copied; before, each had an entry in the dispatch table.
_ATOMS = frozenset(vars(copy).get("_atomic_types", ())) | {
    kind for kind, how in _DISPATCH.items() if how is vars(copy).get("_deepcopy_atomic", ())
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Stuck:
    """One object that cannot be copied. It holds the object, so it does not outlive a look."""

    thing: object
    error: str
    paths: tuple[str, ...]
    holders: tuple[tuple[object, str], ...] = ()
    """The instances on the first path, innermost first, each with the attribute that leads on."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Copy:
    """What a deep copy comes to."""

    error: str | None
    """What `copy.deepcopy` said; None where it succeeded."""

    bytes: int
    """What a real copy would take, with all that cannot be copied shared."""

    stopped_after: int = 0
    """What it would have taken when it stops."""

    stuck: tuple[Stuck, ...] = ()
    shared: tuple[SharedFunction, ...] = ()
    """Functions by which it uses the weights of the original; so would one that is mended."""

    cut: tuple[str, ...] = ()


def try_copy(thing: object) -> Copy:
    """Copy something without its memory; where that fails, name everything that is in the way."""
    first = attempt(thing, {})
    if first.error is None:
        shared = tuple(shared_functions(thing, first.copy))
        return Copy(error=None, bytes=first.bytes, shared=shared)
    walk = _Walk(thing)
    size, blank, shared = _try_all(thing, walk)
    if blank:  # the code that rebuilds the copy may have asked for it
        walk.cut.append(
            f"{format_size(blank)} of arrays and shared tensors copied without their values"
        )
    return Copy(
        error=said(first.error),
        bytes=size,
        stopped_after=first.bytes,
        stuck=tuple(walk.named()),
        shared=shared,
        cut=tuple(walk.cut),
    )


def _try_all(thing: object, walk: _Walk) -> tuple[int, int, tuple[SharedFunction, ...]]:
    """Copy again with all that is known shared, until nothing new is in the way.

    A module that refuses is shared as a whole, so what it holds is tried by itself. Gives the bytes
    of all copies, how many of them were left blank where the walk did not find everything, and the
    functions that share weights.
    """
    size = blank = trials = 0
    shared: list[SharedFunction] = []
    tried: dict[int, object] = {id(thing): thing}
    todo: object = thing
    while todo is not None:
        last = attempt(todo, {key: one for key, (one, _) in walk.stuck.items()})
        if last.error is not None and not _is_too_deep(last):
            if trials < _TRIALS:
                trials += 1
                walk.add(_culprit(last, walk), said(last.error))
                continue
            walk.cut.append(f"{_TRIALS} objects were found that fail while they are rebuilt")
        if last.error is not None and not walk.stuck:
            walk.add(thing, said(last.error))
        elif last.error is not None and _is_too_deep(last):
            walk.cut.append("what lies more levels deep than copy.deepcopy goes, which stops there")
        size += last.bytes
        if todo is thing:
            shared += shared_functions(thing, last.copy)
        blank = max(blank, last.blank if trials else 0)
        below = (part for one, _ in walk.stuck.values() for _, part in below_refusing(one))
        fresh = {id(part): part for part in below if id(part) not in tried}
        tried |= fresh
        todo = [*fresh.values()] or None
    return size, blank, tuple(shared)


def _is_too_deep(trial: Trial) -> bool:
    """Whether there is no one culprit, since what is copied lies too many levels deep."""
    return isinstance(trial.error, RecursionError) and not trial.own_calls


def _culprit(trial: Trial, walk: _Walk) -> object:
    """Give the innermost object of a failed copy that is there in every copy.

    What a reduction makes anew each time cannot be shared by its id.
    """
    known = (one for one in reversed(trial.chain) if id(one) in walk.ways)
    return next((one for one in known if id(one) not in walk.stuck), walk.root)


class _Walk:
    """The objects that a deep copy visits, and by which steps it comes to each."""

    def __init__(self, root: object) -> None:
        self.root = root
        self.cut: list[str] = []
        self.stuck: dict[int, tuple[object, str]] = {}
        # For each object the steps that lead to it: from what, and how that is written.
        self.ways: dict[int, list[tuple[int, str]]] = {id(root): []}
        self._things: dict[int, object] = {}  # keeps each alive, since ids are used again
        self._visit()

    def add(self, thing: object, error: str) -> None:
        """Note an object that cannot be copied."""
        self.stuck.setdefault(id(thing), (thing, error))

    def _visit(self) -> None:
        """Go breadth first, so that the first way to an object is one of the shortest."""
        todo: collections.deque[object] = collections.deque([self.root])
        while todo:
            thing = todo.popleft()
            if id(thing) in self._things:
                continue
            if len(self._things) >= _NODES:
                self.cut.append(f"more than {_NODES:,} objects")
                return
            self._things[id(thing)] = thing
            try:
                steps = list(self._children(thing))
            except KeyboardInterrupt:
                raise
            except BaseException as error:  # noqa: BLE001  a reduction is the user's own code
                self.add(thing, said(error))
                steps = below_refusing(thing)
            for text, child in steps:
                kind = type(child)
                if kind in _ATOMS or issubclass(kind, type):
                    continue
                self.ways.setdefault(id(child), []).append((id(thing), text))
                todo.append(child)

    def _children(self, thing: object) -> Iterable[tuple[str, object]]:
        """Give what the copy of an object goes on to; raise what the copy raises."""
        kind = type(thing)
        if kind in (list, tuple, dict):
            return self._items(thing)
        if is_sharding(thing):  # by what every one of them keeps
            copy.deepcopy(own_attributes(thing).get("process_group"))
        if kind is types.MethodType:
            return [(".__self__", thing.__self__)]  # type: ignore[attr-defined]
        own = own_copier(thing)
        if own is not None:
            return of_copier(thing, own)
        reduce = copyreg.dispatch_table.get(kind)
        reduced: Any = reduce(thing) if reduce else thing.__reduce_ex__(4)
        return [] if isinstance(reduced, str) else self._reduced(thing, reduced)

    def _items(self, thing: Any) -> Steps:
        kind = type(thing)
        parts: Iterable[Any] = dict.values(thing) if kind is dict else thing
        if len(thing) > _ITEMS:
            if _ATOMS.issuperset(map(type, parts)):
                return []
            self.cut.append(f"{_ITEMS:,} of {len(thing):,} items of {with_article(kind.__name__)}")
        if kind is not dict:
            return [(item(n), one) for n, one in enumerate(itertools.islice(thing, _ITEMS))]
        steps = []
        for number, (key, value) in enumerate(itertools.islice(thing.items(), _ITEMS)):
            steps += [(f".<key {number}>", key), (item(key), value)]
        return steps

    def _reduced(self, thing: Any, reduced: Any) -> Steps:
        """Give what an object is rebuilt from, by the names of its attributes."""
        function, arguments, state, items, pairs = (*reduced, None, None, None)[:5]
        if type(thing) is functools.partial:
            rest: dict[str, Any] = (state[3] if state else None) or {}
            return [*parts_of_partial(thing), *of_state(rest)]
        if getattr(function, "__name__", "") in ("__newobj__", "__newobj_ex__"):
            arguments = arguments[1:]
        names = _names_of_parts(thing) if arguments else {}
        steps: Steps = [
            (names.get(id(one), f".<argument {n}>"), one) for n, one in enumerate(arguments or ())
        ]
        steps += of_state(state)
        steps += ((item(n), one) for n, one in zip(range(_ITEMS), items or (), strict=False))
        for _, (key, value) in zip(range(_ITEMS), pairs or (), strict=False):
            steps.append((item(key), value))
        return steps

    # --- paths ------------------------------------------------------------------------------------

    def named(self) -> Iterator[Stuck]:
        """Give what cannot be copied, with its paths, the shortest first."""
        for thing, error in self.stuck.values():
            if id(compiled_in(thing)) in self.stuck or self._is_cut(thing) or _is_piece(thing):
                continue  # it is told as what it is made of
            found = ways_to(thing, self.ways, id(self.root), tries=100_000)
            ways = sorted(found, key=_out_of_the_way)
            paths = dict.fromkeys(written("", "".join(s for _, s in way)) for way in ways)
            yield Stuck(
                thing=thing,
                error=error,
                paths=tuple(path or ITSELF for path in paths) or ("?",),
                holders=holders_on(ways[0], self._things) if ways else (),
            )

    def _is_cut(self, thing: Any) -> bool:
        """Whether it is a list too long to be gone through, of which some items are stuck."""
        if type(thing) not in (list, tuple, dict):
            return False
        items = dict.values(thing) if type(thing) is dict else thing
        return any(id(one) in self.stuck for one in itertools.islice(items, _ITEMS))


def _is_piece(thing: object) -> bool:
    """Whether it is a weight as FullyShardedDataParallel shows it: a view of all of them."""
    return own_attributes(viewed_by(thing)).get("_is_flat_param") is True


def _out_of_the_way(way: Way) -> bool:
    """Whether a way leads through a function, where one along the modules is easier to follow."""
    return any(
        step.startswith((".func", ".args", ".keywords", ".__self__", ".<")) for _, step in way
    )


def _names_of_parts(thing: object) -> dict[int, str]:
    """Give the attributes under which an object and its table of modules hold things, by id."""
    held = own_attributes(thing)
    modules = held.get("_modules")
    inner = dict.items(modules) if isinstance(modules, dict) else ()
    return {id(value): attribute(name) for name, value in (*list(held.items()), *inner)}
