"""Remembers the form of a pickle, so that one that differs in numbers only is not walked again.

The files of one cache mostly hold the same pickle but for the sizes of their tensors. Where the
numbers stand in one of them, they stand in all that are equal everywhere else: such a pickle is
read with one comparison.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from preflight.formats.torch.laid_out import misfit
from preflight.formats.torch.pickle_machine import Rebuilt, Storage, Value
from preflight.formats.torch.pickles import Placed, WalkedPickle, numbers_in, walk_bytes

# Longer pickles are walked each time, and of others this many forms are kept, and so many whole.
_LONGEST = 1 << 14
_MOST_FORMS = 512
_MOST_WHOLE = 256

# Forms of one length; another one takes the place of the first.
_MOST_ALIKE = 8

# Forms that are learned before it is asked whether any of them came again: where a text differs in
# each pickle, none does.
_TRIED = 64

# Tensors that fit, which are not worked out again where their numbers are the same, and bytes from
# the first number of such a one to its last.
_MOST_FITTING = 1 << 12
_LONGEST_FITTING = 1 << 8


class _FormedTensor(NamedTuple):
    """A tensor of a form."""

    rebuilt: Rebuilt
    """With its numbers as `Placed`."""

    begin: int
    """Where its first number begins, and the last one ends: in between, all decides on it alone."""

    end: int


class _Form(NamedTuple):
    """A pickle without its numbers."""

    mask: int
    """All its bytes as one number: 255 where they count, 0 where a number stands."""

    rest: int
    """What the others are, as one number with zeros in the place of the numbers."""

    walked: WalkedPickle
    """What the pickle was read as that it was taken from."""

    storages: tuple[Storage, ...]
    """Of it, with its numbers as `Placed`."""

    tensors: tuple[_FormedTensor, ...]
    number: int
    """Tells it from all others."""


class Forms:
    """Walks pickles, and those of a form that it knows in one step."""

    __slots__ = ("_by_length", "_fitting", "_kept", "_known", "_learned", "_whole")

    def __init__(self) -> None:
        self._by_length: dict[int, list[_Form]] = {}
        self._whole: dict[bytes, WalkedPickle] = {}
        self._fitting: set[tuple[int, int, bytes]] = set()
        """By the number of a form and the place of a tensor in it, what its numbers lie in."""

        self._kept = 0
        self._learned = 0
        self._known = 0

    def walk(self, pickle: bytes, tell: Callable[[], None] = lambda: None) -> WalkedPickle:
        """Give what `walk_bytes` gives.

        Raises:
            DamagedError: as that.
        """
        if (again := self._whole.get(pickle)) is not None:
            self._known += 1
            return again
        whole = int.from_bytes(pickle, "little")
        for form in self._by_length.get(len(pickle), ()):
            if whole & form.mask == form.rest:
                self._known += 1
                if len(self._whole) >= _MOST_WHOLE:
                    self._whole.clear()
                self._whole[pickle] = filled = self._filled(form, pickle)
                return filled
        walked = walk_bytes(pickle, tell)
        if len(pickle) <= _LONGEST and self._known >= self._learned - _TRIED:
            self._learn(pickle, whole, walked)
        return walked

    def _learn(self, pickle: bytes, whole: int, walked: WalkedPickle) -> None:
        self._learned += 1
        found = numbers_in(pickle)
        if found is None:
            return
        numbers, machine = found
        storages = tuple(machine.storages)
        if storages != walked.storages:
            return
        mask = bytearray(b"\xff") * len(pickle)
        for begin, end in numbers:
            mask[begin:end] = bytes(end - begin)
        if self._kept >= _MOST_FORMS:
            self._by_length.clear()
            self._kept = 0
        as_number = int.from_bytes(mask, "little")
        alike = self._by_length.setdefault(len(pickle), [])
        if len(alike) >= _MOST_ALIKE:
            alike.pop(0)
            self._kept -= 1
        tensors = tuple(map(_formed, machine.tensors))
        rest = whole & as_number
        alike.append(_Form(as_number, rest, walked, storages, tensors, self._learned))
        self._kept += 1

    def _filled(self, form: _Form, pickle: bytes) -> WalkedPickle:
        """Put this pickle's own numbers in."""
        storages = tuple([_with_own(one, pickle) for one in form.storages])
        misfits = tuple(self._misfits(form, pickle))
        return form.walked._replace(storages=storages, misfits=misfits)

    def _misfits(self, form: _Form, pickle: bytes) -> Iterator[Rebuilt]:
        for place, (rebuilt, begin, end) in enumerate(form.tensors):
            known = form.number, place, pickle[begin:end]
            if known in self._fitting:
                continue
            by, storage, given = rebuilt
            own = Rebuilt(by, _with_own(storage, pickle), tuple(_own(one, pickle) for one in given))
            if misfit(own) is not None:
                yield own
            elif end - begin <= _LONGEST_FITTING:
                if len(self._fitting) >= _MOST_FITTING:
                    self._fitting.clear()
                self._fitting.add(known)


def _formed(rebuilt: Rebuilt) -> _FormedTensor:
    placed = list(_places((rebuilt.storage.elements, rebuilt.given)))
    begins, ends = [one[0] for one in placed], [one[1] for one in placed]
    return _FormedTensor(rebuilt, min(begins, default=0), max(ends, default=0))


def _places(value: Value) -> Iterator[tuple[int, int, bool]]:
    """Give where the numbers stand that a value is made of."""
    if isinstance(value, tuple):
        for one in value:
            yield from _places(one)
    elif isinstance(value, Placed):
        yield value.place


def _with_own(storage: Storage, pickle: bytes) -> Storage:
    return storage._replace(elements=_number(storage.elements, pickle))


def _own(value: Value, pickle: bytes) -> Value:
    if type(value) is tuple:
        return tuple([_own(one, pickle) for one in value])
    return _number(value, pickle) if type(value) is Placed else value


def _number(value: int, pickle: bytes) -> int:
    begin, stop, signed = value.place if isinstance(value, Placed) else (0, 0, False)
    return int.from_bytes(pickle[begin:stop], "little", signed=signed)
