"""Runs in a process of its own: finds the samples of a batch that the job's collate function drops.

A batch is made again without one of its samples: where that is the same batch, the sample is in no
part of it, whatever the batch is made of. So it is where another sample stands in place of it: what
drops by place, as `batch[:-1]` does, drops another one in place of one that is left out.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import operator
import sys
import time
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from preflight.epochs.facts import Dropped
from preflight.epochs.sample_numbers import digest
from preflight.objects.random_state import kept_random_state, seed
from preflight.objects.where import defined
from preflight.users_code.frames import is_users

# Samples that are looked at, from all over an epoch, and at a time. Of a larger batch, small parts
# are made as batches of their own: that takes the square of their number.
_MOST, _AT_ONCE, _PART = 512, 64, 16

# Begins of random numbers with which a place is dropped: what drops by chance drops other ones.
_WAYS = 3

_Batch = list[Any]


def dropped(
    parts: Mapping[str, Any], root: str, seconds: float, tell: Callable[..., None]
) -> Dropped | None:
    """Say how many samples a collate function drops; None: none that was looked at.

    Args:
        parts: the attributes of a DataLoader over a data set that is asked by index.
        root: the job's folder.
        seconds: how long it may take.
        tell: says that it goes on.
    """
    collate, batches = parts.get("collate_fn"), parts.get("batch_sampler")
    if batches is None or not is_of_the_job(collate, root):
        return None
    watched = WatchedCollate(collate, seconds)
    with kept_random_state():
        for indices in _some(list(batches)):
            if not watched.look(_samples(parts["dataset"], indices), list(map(str, indices))):
                break
            tell(beside=watched.looked_at)
    return watched.dropped(root)


@contextlib.contextmanager
def _looking() -> Iterator[None]:
    """Have no other collate function looked at, which this one may call."""
    WatchedCollate.is_looking = True
    try:
        yield
    finally:
        WatchedCollate.is_looking = False


class WatchedCollate:
    """A collate function of which it is looked which samples it drops, where it is called, too."""

    is_looking = False
    """Whether one is called to look at it: one that it calls is not looked at then."""

    def __init__(self, collate: Any, seconds: float) -> None:
        self.looked_at = 0
        self._collate, self._until = collate, time.monotonic() + seconds
        self._number, self._example, self._came, self._size = 0, "", 0, 0
        self._by_place: bool | None = None
        """Whether it drops what stands at some places; None: nobody has looked as yet."""

    def __call__(self, samples: Any) -> Any:
        """Make a batch, as it does; of a stream, the last one may be smaller on purpose."""
        may_look = isinstance(samples, list) and not WatchedCollate.is_looking
        if may_look and self.looked_at < _MOST and len(samples) >= self._size:
            self._size = len(samples)
            names = [f"number {self._came + place + 1}" for place in range(len(samples))]
            with (
                _looking(),
                kept_random_state(),
                contextlib.suppress(Exception),
            ):  # what it raises, it does below
                if not self.look(samples, names):
                    self._size = sys.maxsize
        self._came += len(samples)
        return self._collate(samples)

    def look(self, samples: _Batch, names: Sequence[str]) -> bool:
        """See which of them are in no part of their batch; False: nobody can tell, or in time."""
        lacking = _dropped(self._collate, samples, self._until)
        if lacking is None or time.monotonic() > self._until:
            return False
        lacking = sorted({*lacking, *self._at_places(samples)})
        if len(lacking) < len(samples) > 1:  # else it is not made of what others are
            self.looked_at += len(samples)
            self._number += len(lacking)
            self._example = self._example or next((names[place] for place in lacking), "")
        return True

    def _at_places(self, samples: _Batch) -> list[int]:
        """Give those that are dropped for their places, where a few in the first batch are."""
        number, half = len(samples), len(samples) // 2
        if self._by_place is None:
            few = {0, 1, half, half + 1, number - 2, number - 1} & {*range(number)}
            few_dropped = _by_place(self._collate, samples, sorted(few), self._until)
            self._by_place = bool(few_dropped)
        if not self._by_place:
            return []
        return _by_place(self._collate, samples, [*range(number)], self._until)

    def dropped(self, root: str) -> Dropped | None:
        """Say how many of those that were looked at are dropped; None: none."""
        if not 0 < self._number < self.looked_at:
            return None
        at, number = defined(self._collate, root).at, self._number
        return Dropped(at=at, number=number, looked_at=self.looked_at, sample=self._example)


def is_of_the_job(collate: Any, root: str) -> bool:
    """Whether a collate function is code of the job's own."""
    while isinstance(collate, (functools.partial, types.MethodType)):
        collate = collate.func if isinstance(collate, functools.partial) else collate.__func__
    if type(collate) is not types.FunctionType:
        collate = getattr(type(collate), "__call__", None)  # noqa: B004  its own code is wanted
    code = getattr(collate, "__code__", None)
    return code is not None and is_users(code.co_filename, root)


def _some(batches: list[_Batch]) -> Iterator[_Batch]:
    """Give batches from all over an epoch, no more than are looked at."""
    size = max(map(len, batches), default=0) or 1
    yield from batches[:: len(batches) * size // _MOST + 1]


def _samples(dataset: Any, indices: _Batch) -> _Batch:
    """Ask as a worker does."""
    several = getattr(dataset, "__getitems__", None)
    if callable(several):
        return list(several(indices))
    return [dataset[index] for index in indices]


def _dropped(collate: Any, samples: _Batch, until: float) -> list[int] | None:
    """Give the places of samples without which the batch is the same; None: nobody can tell."""
    parts = 1 if len(samples) <= _AT_ONCE else -(-len(samples) // _PART)
    places = [[*range(len(samples))[part::parts]] for part in range(parts)]
    found = [_lacking(collate, samples, own, own, until) for own in places]
    if parts < 2 or None in found:
        return found[0] if parts == 1 else None
    # What a part of it lacks, it may have as a whole, as where texts are packed.
    every = {place for own in found for place in own or ()}
    rest = [one for place, one in enumerate(samples) if place not in every]
    if not every or (rest and _made(collate, rest) == _made(collate, samples)):
        return sorted(every)
    return _lacking(collate, samples, [*range(len(samples))], sorted(every), until)


def _lacking(
    collate: Any, samples: _Batch, batch: list[int], places: list[int], until: float
) -> list[int] | None:
    """Say without which of these the batch of those is the same; None: nobody can tell."""
    whole = _made(collate, [samples[one] for one in batch])
    if len(batch) < 2 or whole != _made(collate, [samples[one] for one in batch]):
        return [] if len(batch) < 2 else None
    found = []
    for place in places:
        if time.monotonic() > until:
            return None
        try:
            same = _made(collate, [samples[one] for one in batch if one != place]) == whole
        except Exception:  # noqa: BLE001  the user's code, which may need as many as there are
            same = False
        if same:
            found.append(place)
    return found


def _by_place(collate: Any, samples: _Batch, places: Sequence[int], until: float) -> list[int]:
    """Give the places at which another sample may stand, and the batch is the same.

    That other one is told apart from it: where each stands in place of the other, it makes another
    batch once.
    """
    whole = [_made(collate, samples, way) for way in range(_WAYS)]

    def is_other(source: int, place: int) -> bool:
        put = [*samples[:place], copy.deepcopy(samples[source]), *samples[place + 1 :]]
        try:
            made = (_made(collate, put, way) for way in range(_WAYS))
            return time.monotonic() > until or any(map(operator.ne, made, whole))
        except Exception:  # noqa: BLE001  the user's code, which may need them to differ
            return True

    kept = [one for one in places if is_other((one + 1) % len(samples), one)]
    return [
        one
        for one in places
        if one not in kept and any(is_other(one, k) and not is_other(k, one) for k in kept[:_WAYS])
    ]


def _made(collate: Any, samples: _Batch, way: int = 0) -> int:
    """Give a number for a batch; samples that it works on in place stay as they are."""
    seed(way)
    return digest(collate(copy.deepcopy(samples)))
