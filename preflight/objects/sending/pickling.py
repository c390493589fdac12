"""Names every object that cannot travel to a spawned worker, in one pass and without its memory.

The C pickler is asked first, under the rules of a worker being spawned: what it takes is taken.
Where it refuses, the standard library's pickler in Python goes the same way, and is made to note
each refusal at the innermost object, with its path, and to go on, where pickle stops at the first.
"""

from __future__ import annotations

import contextlib
import itertools
import pickle
import sys
import types
from collections.abc import Iterable
from dataclasses import dataclass, field
from types import EllipsisType
from typing import Any

from preflight.objects.paths import PATHS, said, written
from preflight.objects.random_state import kept_random_state
from preflight.objects.sending.pickle_paths import (
    ATOMS,
    CONTAINERS,
    FramePickler,
    PickledObject,
    all_atoms,
    holders_of,
    is_one_of,
    steps_to,
    ways,
)
from preflight.objects.sending.pickle_trial import (
    DEPTH,
    Enough,
    Refusal,
    Roots,
    Sink,
    bulk,
    deep,
    refusal,
    spawning,
)

_NODES = 300_000
_ITEMS = 2_000
_REFUSALS = 1_000
_SHOWN = 12  # steps that say where something too deep begins

# Levels from which on it is the walk itself that goes too deep: what a call of the language goes
# through in C has a limit of its own on Python 3.12, which nobody can raise.
_OUR_OWN = 250


@dataclass(slots=True, kw_only=True, eq=False)
class Refused:
    """One object that pickle refuses. It holds the object itself, so it does not outlive a look."""

    thing: object
    error: str = ""
    """What pickle said, with the exception's type."""

    paths: dict[str, None] = field(default_factory=dict)
    """In order; more of them turn up as the walk goes on."""

    holders: tuple[tuple[object, str], ...] = ()
    """The instances on the first path, innermost first, each with the attribute that leads on."""

    inside: tuple[tuple[str, object], ...] = ()
    """What a function's closure holds that would be refused next, with its path: `x.lock`."""

    above: tuple[object, ...] = ()
    """What it is in, the outermost first."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PickleWalk:
    """All that pickle refuses below some roots."""

    refused: tuple[Refused, ...] = ()
    cut: tuple[str, ...] = ()
    """What was not looked at, where there may be more that is refused."""


def walk(roots: Roots, *, sent: Refusal | EllipsisType | None = ...) -> PickleWalk:
    """Name every object below these roots that cannot be sent to a spawned worker.

    Where they have been pickled already, `sent` is what was said then.
    """
    with spawning(), kept_random_state():
        first = refusal(roots, {}) if sent is ... else sent
        if first is None:
            return PickleWalk()
        walker = _walked(roots, items=_ITEMS, nodes=_NODES)
        missed = _missed(roots, walker)
        if missed is not None and walker.cut:
            walker = _walked(roots, items=sys.maxsize, nodes=_NODES * 10)
            missed = _missed(roots, walker)
    if missed is None and not walker.refusals:
        missed = first  # refused once, and not again: sending it in earnest is asking once
    refused = [*walker.refusals.values()]
    if missed is None:  # all that is in the way is named, whatever was passed over
        return PickleWalk(refused=tuple(refused))
    refused.append(_unnamed(roots, missed, walker.cut))
    return PickleWalk(refused=tuple(refused), cut=tuple(walker.cut))


def paths_to(roots: Roots, things: Iterable[object]) -> dict[int, tuple[str, ...]]:
    """Give all paths to objects that pickle takes, by their ids, as far as the walk comes."""
    with spawning(), kept_random_state():
        walker = _Walker(items=_ITEMS, nodes=_NODES)
        wanted = {id(thing): Refused(thing=thing) for thing in things}
        walker.refusals.update(wanted)
        with deep():
            walker.run(roots)
    return {key: tuple(one.paths) for key, one in wanted.items()}


def _missed(roots: Roots, walker: _Walker) -> tuple[str, BaseException] | None:
    """Say what is refused beside all that the walk has named.

    What a reduction makes anew at each call cannot be left out by its id, and a bare buffer not at
    all; the instance that it is in can.
    """
    missed = refusal(roots, walker.refusals)
    if missed is None or not walker.refusals:
        return missed
    again = _walked(roots, items=walker.items, nodes=walker.nodes)
    makers: dict[int, object] = {}
    for key, one in walker.refusals.items():
        if key in again.refusals and type(one.thing) is not pickle.PickleBuffer:
            continue
        for thing in reversed(one.above):
            if id(thing) in again.memo and not is_one_of(type(thing), CONTAINERS):
                makers[id(thing)] = thing
                break
    return refusal(roots, {**walker.refusals, **makers}) if makers else missed


def _unnamed(roots: Roots, missed: tuple[str, BaseException], cut: list[str]) -> Refused:
    """Describe what pickle refuses and the walk did not find: too deep, or different each time."""
    root, error = missed
    thing = dict(roots)[root]
    below = next((one.partition(": ")[0] for one in cut if one.startswith(root)), root)
    return Refused(thing=thing, error=said(error), paths={below: None})


def _walked(roots: Roots, *, items: int, nodes: int) -> _Walker:
    walker = _Walker(items=items, nodes=nodes)
    with deep():
        walker.run(roots)
    return walker


# --- the walk -------------------------------------------------------------------------------------


class _Walker(FramePickler):
    """The pickler in Python, which goes on where it should stop."""

    def __init__(self, *, items: int, nodes: int) -> None:
        super().__init__(Sink())
        self.refusals: dict[int, Refused] = {}
        self.cut: list[str] = []
        self.items = items
        self.nodes = self._left = nodes
        self._root = ""
        self._ended = False
        self._deep = False
        # For each object on a path to a refused one: the refused one, and the rest of the path.
        self._leads: dict[int, dict[tuple[int, str], None]] = {}

    def run(self, roots: Roots) -> None:
        """Walk all that is sent together; what is met twice is one object with two paths."""
        for name, thing in roots:
            self._root = name
            self.save(thing)

    def save(self, obj: Any, save_persistent_id: bool = True) -> None:  # noqa: FBT001, FBT002, ARG002  as pickle calls it
        kind = type(obj)
        if is_one_of(kind, ATOMS):
            return
        if id(obj) in self.refusals:
            self._note(id(obj), obj, "", self.frames)
            return
        if id(obj) in self.memo:
            for refused, rest in list(self._leads.get(id(obj), ())):
                self._note(refused, obj, rest, self.frames)
            return
        if self._enough(obj):
            return
        self.frames.append(PickledObject(thing=obj))
        try:
            if is_one_of(kind, CONTAINERS):
                self._save_items(obj, kind)
            else:
                super().save(obj)
        except (KeyboardInterrupt, Enough):
            raise
        except BaseException as error:  # noqa: BLE001  pickle runs the user's own code
            if isinstance(error, RecursionError) and len(self.frames) > _OUR_OWN:
                self._cut_too_deep()
            else:
                self._refuse(obj, error)
        finally:
            self.frames.pop()

    def reducer_override(self, thing: object) -> Any:
        """Leave out the data of tensors and arrays."""
        return bulk(thing)

    def _save_items(self, thing: Any, kind: type) -> None:
        """Walk a container's items; many that cannot be refused are passed over at once."""
        self.memo[id(thing)] = (len(self.memo), thing)
        parts: tuple[Iterable[Any], ...] = (
            (dict.keys(thing), dict.values(thing)) if kind is dict else (thing,)
        )
        for part in parts:
            if all_atoms(part):
                continue
            if len(thing) > self.items:
                text = f"{self.items:,} of {len(thing):,} items looked at"
                self._cut(text, self.frames[:-1], thing)
            for child in itertools.islice(part, self.items):
                self.save(child)

    def _enough(self, thing: object) -> bool:
        """Whether the walk ends at this object, by its depth or by how much there was before it."""
        self._left -= 1
        if self._left < 0 or len(self.refusals) >= _REFUSALS:
            if not self._ended:
                self._cut("not looked at, nor what comes after it", self.frames, thing)
            self._ended = True
            return True
        if len(self.frames) >= DEPTH:
            self._cut_too_deep()
            return True
        return False

    def _cut_too_deep(self) -> None:
        if not self._deep:
            below = self.frames[_SHOWN].thing
            self._cut(f"goes deeper than {len(self.frames):,} levels", self.frames[:_SHOWN], below)
        self._deep = True

    def _cut(self, text: str, above: list[PickledObject], thing: object) -> None:
        path = written(self._root, "".join(steps_to(above, thing)))
        self.cut.append(f"{path}: {text}")

    def _refuse(self, thing: object, error: BaseException) -> None:
        above = self.frames[:-1]
        alone = refusal([("", thing)], {})  # as Python's own pickler puts it
        self.refusals[id(thing)] = Refused(
            thing=thing,
            error=said(alone[1] if alone else error),
            holders=holders_of(above, thing),
            inside=_inside(thing),
            above=tuple(frame.thing for frame in above),
        )
        self._note(id(thing), thing, "", above)

    def _note(self, refused: int, thing: object, rest: str, above: list[PickledObject]) -> None:
        """Note that a refused object is reached here: `thing`, and from there by `rest`."""
        if any(frame.thing is thing for frame in above):
            return  # round a cycle, and back to where the path has been
        refusal = self.refusals[refused]
        if len(refusal.paths) >= PATHS:
            return
        steps = steps_to(above, thing)
        for number, frame in enumerate(above):
            lead = (refused, "".join(steps[number:]) + rest)
            self._leads.setdefault(id(frame.thing), {})[lead] = None
        for way in ways(above, thing, steps):
            refusal.paths[written(self._root, way + rest)] = None


def _inside(thing: object) -> tuple[tuple[str, object], ...]:
    """Say what a function's closure holds that would be refused next, once it has a name."""
    if type(thing) is not types.FunctionType:
        return ()
    cells = zip(thing.__code__.co_freevars, thing.__closure__ or (), strict=False)
    roots = []
    for name, cell in cells:
        with contextlib.suppress(ValueError):  # the cell is empty: the name is not set yet
            roots.append((name, cell.cell_contents))
    if not roots or refusal(roots, {id(thing): thing}) is None:
        return ()
    walker = _Walker(items=100, nodes=20_000)
    walker.refusals[id(thing)] = Refused(thing=thing)
    walker.run(roots)
    del walker.refusals[id(thing)]
    found = walker.refusals.values()
    return tuple((next(iter(one.paths)), one.thing) for one in found)
