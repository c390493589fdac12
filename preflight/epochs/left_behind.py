"""Runs in a process of its own: finds the samples that a stream holds back when it ends.

They are in a buffer which samples leave in mixed order, as in a shuffle, and which is not emptied
at the end. Only where all is read to its end: what stops earlier means to leave the rest.
"""

from __future__ import annotations

import contextlib
import gc
from collections import deque
from collections.abc import Iterable, Iterator
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
        """Whether some have left it from its middle."""

        self._since = self._unchanged = 0
        self._given: set[int] = set()
        self._left_it = self._stayed = 0
        """How many have left it when they were given, and how many have not."""

    def look(self, given: set[int]) -> None:
        """See what has left it, often enough to see that it does not change any more.

        Args:
            given: the numbers of what may be the sample that came.
        """
        self._since += 1
        if len(self.last) > _LONG and self._since <= len(self.last) // _PARTS:
            return
        steps, self._since = self._since, 0
        now = list(self.held)
        there, before = {*map(id, now)}, {*map(id, self.last)}
        gone = [place for place, one in enumerate(self.last) if id(one) not in there]
        self.entered += sum(id(one) not in before for one in now)
        is_changed = bool(gone) or len(now) != len(self.last)
        self._unchanged = 0 if is_changed else self._unchanged + steps
        is_block = bool(gone) and gone[-1] - gone[0] == len(gone) - 1
        is_end = is_block and (gone[0] == 0 or gone[-1] == len(self.last) - 1)
        self.is_mixed = self.is_mixed or (bool(gone) and not is_end)
        self._stayed += len(self._given & there)
        self._left_it += len((self._given | (given & before)) - there)
        self._given = given & there
        self.last = now

    def left(self, came: int) -> int:
        """Count what is in it and has not come.

        None has where all of that was there from the first sample on, and where it did not change
        while what is in it may have come, one by one.
        """
        before = {*map(id, self.first)}
        left = len(self.held)
        if not self.is_mixed or 2 * self._unchanged > left:
            return 0
        is_given = 2 * (self.entered - came) >= left
        is_given = is_given or (not self._stayed and 2 * self._left_it >= came)
        return left if is_given and any(id(one) not in before for one in self.held) else 0


class Watched:
    """Gives what a stream gives, and looks into its generators after each sample."""

    def __init__(self, dataset: Any, items: Iterator[Any], root: str) -> None:
        self._dataset, self._items, self._root = dataset, items, root
        self._buffers: dict[int, _Buffer] = {}
        self._iterators: list[Any] = []
        self._came = 0
        self._is_over = False

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        item = next(self._items, _END)
        if item is _END:
            self._is_over = True
            raise StopIteration
        self._came += 1
        self._look(item)
        return item

    def _look(self, item: Any) -> None:
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
                    buffer.look(given)
            if isinstance(one, GeneratorType) and one.gi_frame is not None:
                given.update(map(id, one.gi_frame.f_locals.values()))

    def left_behind(self) -> LeftBehind | None:
        """Say what is left; None: nothing, or it was not read to its end."""
        if not self._is_over or not self._iterators or not all(map(_is_spent, self._iterators)):
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
        if isinstance(one, (FrameType, tuple)):  # as generators, before Python 3.11, and zip have
            _note(gc.get_referents(one), found, depth + 1)
        elif hasattr(type(one), "__next__"):
            found.append(one)
            own = own_attributes(one).values()
            _note([*gc.get_referents(one), *own], found, depth + 1)


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
