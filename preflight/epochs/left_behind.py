"""Runs in a process of its own: finds the samples that a stream holds back when it ends.

They are in a buffer which samples leave in mixed order, as in a shuffle, and which is not emptied
at the end. Only where all is read to its end: what stops earlier means to leave the rest.
"""

from __future__ import annotations

import contextlib
import gc
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from operator import length_hint
from types import FrameType, GeneratorType
from typing import Any

from preflight.epochs.facts import LeftBehind
from preflight.objects.attributes import own_attributes
from preflight.users_code.frames import is_users
from preflight.values.names import name_of

_DEEPEST, _MOST_ITERATORS = 8, 50

# Of a longer buffer, each sample is looked for only now and then.
_LONG, _PARTS = 256, 16

_END = object()


class _Buffer:
    """A list of a generator's, and what has become of what was in it."""

    def __init__(self, name: str, generator: GeneratorType[Any, Any, Any], held: Any) -> None:
        self.name, self.generator, self.held = name, generator, held
        self.first = self.last = list(held)
        self.entered = len(held)
        self.is_mixed = False
        """Whether some have left it that were neither the first nor the last to enter."""

        self.is_told_apart = len({*map(id, held)}) == len(held)
        """Whether all in it are things of their own, and not tokens, which come again."""

        self._ages = {id(one): age for age, one in enumerate(self.last)}

        self._since = self._unchanged = self._passed = 0
        self._sources: list[tuple[Any, int]] = []
        """Iterators that it was filled from when it last changed, with what each had left."""

        self._given: set[int] = set()
        self._left_it = self._stayed = 0
        """How many have left it when they were given, and how many have not."""

    def look(self, given: set[int], iterators: Sequence[Any]) -> None:
        """See what has left it, often enough to see that it does not change any more.

        Args:
            given: the numbers of what may be the sample that came.
            iterators: those that the stream goes through now.
        """
        self._since += 1
        if len(self.last) > _LONG and self._since <= len(self.last) // _PARTS:
            return
        steps, self._since = self._since, 0
        now = list(self.held)
        there, before = {*map(id, now)}, {*map(id, self.last)}
        self.is_told_apart = self.is_told_apart and len(there) == len(now)
        if not self.is_told_apart:
            return
        gone = [self._ages.pop(id(one)) for one in self.last if id(one) not in there]
        left = [self._ages[id(one)] for one in self.last if id(one) in there]
        for one in now:
            if id(one) not in before:
                self._ages[id(one)] = self.entered
                self.entered += 1
        is_changed = bool(gone) or len(now) != len(self.last)
        goes_on = self._goes_on(iterators, is_changed=is_changed)
        self._unchanged = 0 if is_changed else self._unchanged + (0 if goes_on else steps)
        self._passed += 0 if is_changed else steps
        if gone and left:
            is_in_order = max(gone) < min(left) or min(gone) > max(left)
            self.is_mixed = self.is_mixed or not is_in_order
        self._stayed += len(self._given & there)
        self._left_it += len((self._given | (given & before)) - there)
        self._given = given & there
        self.last = now

    def _goes_on(self, iterators: Sequence[Any], *, is_changed: bool) -> bool:
        """Whether one that was gone through when it last changed is, still: what came is of that.

        As of a heap that keeps the largest: most samples leave it as soon as they have entered.
        """
        if is_changed:
            self._sources = [(one, length_hint(one, 0)) for one in iterators if _has_length(one)]
            return False
        before = self._sources
        self._sources = [(one, length_hint(one, 0)) for one, _ in before]
        return any(now < then for (_, then), (_, now) in zip(before, self._sources, strict=True))

    def left(self, came: int) -> int:
        """Count what is in it and has not come.

        None has where all of that was there from the first sample on, and where it did not change
        while what is in it may have come, one by one.
        """
        before = {*map(id, self.first)}
        left = len(self.held)
        may_have_come = 5 * (self._unchanged + 1) >= 4 * left
        if not self.is_told_apart or not self.is_mixed or may_have_come:
            return 0
        # Those that left as soon as they had entered were never seen in it.
        entered = self.entered + self._passed
        is_given = 2 * (entered - came) >= left or 2 * self._left_it >= came
        is_given = is_given and not self._stayed
        return left if is_given and any(id(one) not in before for one in self.held) else 0


class Watched:
    """Gives what a stream gives, and looks into its generators after each sample."""

    def __init__(self, dataset: Any, items: Iterator[Any], root: str) -> None:
        self._dataset, self._items, self._root = dataset, items, root
        self._buffers: dict[int, _Buffer] = {}
        self._iterators: list[Any] = []
        self._came = 0
        self._is_over, self._is_known = False, True

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        item = next(self._items, _END)
        if item is _END:
            self._is_over = True
            raise StopIteration
        self._came += 1
        try:
            self._look(item)
        except RuntimeError:  # a thread changes it meanwhile, and nobody knows what it holds
            self._is_known = False
        return item

    def _look(self, item: Any) -> None:
        if not self._is_known:
            return
        self._iterators = []
        _note([self._items], self._iterators, 0)
        for one in self._iterators:
            if isinstance(one, GeneratorType) and is_users(one.gi_code.co_filename, self._root):
                for name, held in _lists(one):
                    if id(held) not in self._buffers:
                        self._buffers[id(held)] = _Buffer(name, one, held)
        given = {*map(id, _parts_of(item))}
        for one in self._iterators:  # the outer ones first, which take what the inner ones give
            for buffer in self._buffers.values():
                if buffer.generator is one:
                    buffer.look(given, self._iterators)
            if isinstance(one, GeneratorType) and one.gi_frame is not None:
                given.update(map(id, one.gi_frame.f_locals.values()))

    def ends_early(self) -> bool:
        """Whether it has ended, and what it reads from has not."""
        is_known = self._is_over and self._is_known
        return is_known and not all(map(_is_spent, self._iterators))

    def left_behind(self) -> LeftBehind | None:
        """Say what is left; None: nothing, or it was not read to its end."""
        if not (self._is_over and self._is_known and self._iterators) or self.ends_early():
            return None
        for one in self._buffers.values():
            number = one.left(self._came)
            if number and not self._goes_on(one):
                return LeftBehind(
                    buffer=one.name,
                    inside=one.generator.__qualname__,
                    file=name_of(one.generator.gi_code.co_filename, self._root),
                    line=one.generator.gi_code.co_firstlineno,
                    number=number,
                    came=self._came,
                )
        return None

    def _goes_on(self, buffer: _Buffer) -> bool:
        """Whether the next epoch begins with what is left."""
        if not buffer.name.startswith("self."):
            return False
        left = {*map(id, buffer.held)}
        kept = [*buffer.held]  # else other things may have their numbers
        items = iter(self._dataset)
        next(items, None)
        begun: list[Any] = []
        _note([items], begun, 0)
        held = [each for one in begun if isinstance(one, GeneratorType) for each in _lists(one)]
        now = [one for name, each in held if name == buffer.name for one in each]
        return bool(kept) and any(id(one) in left for one in now)


def _parts_of(item: Any) -> Iterator[object]:
    yield item
    yield from item.values() if type(item) is dict else item if type(item) in (list, tuple) else ()


def _note(things: Iterable[object], found: list[Any], depth: int) -> None:
    """Note iterators, and those that they go through."""
    for one in things:
        if (
            len(found) >= _MOST_ITERATORS
            or depth > _DEEPEST
            or any(one is other for other in found)
        ):
            continue
        if isinstance(one, (FrameType, tuple)) or _is_short(one):  # as zip and generators have
            _note(gc.get_referents(one), found, depth + 1)
        elif hasattr(type(one), "__next__"):
            found.append(one)
            own = own_attributes(one).values()
            _note([*gc.get_referents(one), *own], found, depth + 1)


def _is_short(thing: object) -> bool:
    """Whether it is a list that may hold the streams that are mixed."""
    return type(thing) is list and len(thing) <= _MOST_ITERATORS


def _has_length(iterator: object) -> bool:
    """Whether it is one of Python's own that knows how much it has left."""
    return type(iterator).__module__ == "builtins" and hasattr(type(iterator), "__length_hint__")


def _lists(generator: GeneratorType[Any, Any, Any]) -> Iterator[tuple[str, Any]]:
    """Give the lists that a generator has, and those of the thing that it belongs to."""
    if generator.gi_frame is None:
        return
    own = generator.gi_frame.f_locals
    for name, held in own.items():
        if type(held) in (list, deque):
            yield name, held
    for name, held in own_attributes(own.get("self")).items():
        if type(held) in (list, deque):
            yield f"self.{name}", held


def _is_spent(iterator: Any) -> bool:
    if isinstance(iterator, GeneratorType):
        return iterator.gi_frame is None
    with contextlib.suppress(Exception):  # a file that is closed by now
        return next(iterator, _END) is _END
    return True
