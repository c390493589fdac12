"""Runs in a process of its own: tells a loader whose random numbers begin anew with each epoch.

As a class of the job's own does it that seeds in `__iter__`. Two epochs of it were seen, and are
alike, though its sampler draws another order each time, or its data set another sample.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from preflight.epochs.facts import SameOrder
from preflight.epochs.order import is_told_not_to, order_of, samplers_of
from preflight.epochs.sample_numbers import digest
from preflight.epochs.taken_batches import parts_of_batch
from preflight.objects.attributes import own_attributes
from preflight.objects.paths import type_name
from preflight.objects.random_state import kept_random_state, seed
from preflight.objects.where import defined

# Batches of an epoch that are held against those of another one; of fewer, nothing is told.
_MOST, _FEWEST = 1_000, 4

_SECONDS = 2.0

Marks: TypeAlias = list[dict[Any, int]]
"""A number for each part of each batch."""


class MarkedEpoch:
    """The batches of an epoch as numbers."""

    def __init__(self) -> None:
        self.marks: Marks = []
        self.is_known = True

    def take(self, batch: Any) -> None:
        """Note one."""
        if self.is_known and len(self.marks) < _MOST:
            try:
                self.marks.append(parts_of_batch(batch))
            except Exception:  # noqa: BLE001  what nobody can make bytes of
                self.is_known = False

    def begins_as(self, other: MarkedEpoch) -> bool:
        """Whether both had the same samples, by a part that tells these from each other."""
        one, two = self.marks, other.marks
        known = self.is_known and other.is_known and 0 < len(one) == len(two) < _MOST
        return known and any(
            _sequence(one, part) == _sequence(two, part) and _tells(one, part) for part in one[0]
        )


def reseeded(
    layers: Sequence[Any], first: MarkedEpoch, second: MarkedEpoch, root: str
) -> SameOrder | None:
    """Say what begins anew; None: nothing, or nobody can tell.

    Args:
        layers: a loader, and what stands in it, down to the DataLoader: left behind in any state.
        first: what came in one epoch.
        second: what came in the next one.
        root: the job's folder.
    """
    one, other = first.marks, second.marks
    if not (first.is_known and second.is_known) or len(one) != len(other) or len(one) < _FEWEST:
        return None
    same = [part for part in one[0] if _sequence(one, part) == _sequence(other, part)]
    own, real = own_attributes(layers[-1]), layers[-1]
    if not same or not _knows_no_epoch([*layers, own.get("dataset"), *samplers_of(own).values()]):
        return None
    if any(map(is_told_not_to, layers)):
        return None
    seeding = next((each for each in layers if _at(each, root).file), real)
    said = SameOrder(sampler=type_name(type(seeding)), at=_at(seeding, root), begins_anew=True)
    with kept_random_state():
        if any(_tells(one, part) for part in same) and (samples := _is_drawn_by_chance(own)):
            return said._replace(samples=samples)
        if len(same) == len(one[0]) and _are_random(own):
            said = said._replace(of_samples=True, samples=len(own["dataset"]))
            return _by_init(said, own, root) if seeding is real else said
    return None


def _by_init(said: SameOrder, own: Mapping[str, Any], root: str) -> SameOrder:
    """Name the job's function that workers call as they are started, with each epoch anew."""
    init = own.get("worker_init_fn")
    if init is None or not own.get("num_workers") or own.get("persistent_workers") is True:
        return said
    at = defined(init, root, if_own=True).at
    return said._replace(by_init=at.qualname, at=at) if at.file and at.qualname else said


def _at(thing: object, root: str) -> Any:
    return defined(type(thing), root, if_own=True).at


def _sequence(marks: Marks, part: Any) -> list[int | None]:
    return [one.get(part) for one in marks]


def _tells(marks: Marks, part: Any) -> bool:
    """Whether most batches are others by a part."""
    return 2 * len({*_sequence(marks, part)}) > len(marks)


def _knows_no_epoch(things: list[Any]) -> bool:
    """Whether nothing may be told the epoch, which a loop may do that nobody has seen."""
    return not any(
        hasattr(type(one), "set_epoch") or any("epoch" in str(name) for name in own_attributes(one))
        for one in things
        if one is not None
    )


def _is_drawn_by_chance(own: Mapping[str, Any]) -> int:
    """Count what the sampler draws, where that is another order each time; else 0."""
    name = "batch_sampler" if own.get("batch_sampler") is not None else "sampler"
    until, orders = time.monotonic() + _SECONDS, []
    for number in range(2):
        seed(number)
        orders.append(order_of(own[name], until, is_batches=name == "batch_sampler"))
    one, other = orders
    return len(one) if one and other and one != other else 0


def _are_random(own: Mapping[str, Any]) -> bool:
    """Whether samples are others by other random numbers, and the same by the same ones."""

    def numbers(begin: int) -> list[int]:
        found = []
        for index in few:
            seed(begin)
            found.append(digest(own["dataset"][index]))
        return found

    few = [*itertools.islice(_indices(own), 2)]
    one = numbers(0)
    return bool(few) and one == numbers(0) and one != numbers(1)


def _indices(own: Mapping[str, Any]) -> Iterator[Any]:
    batches = own.get("batch_sampler")
    yield from own["sampler"] if batches is None else itertools.chain.from_iterable(batches)
