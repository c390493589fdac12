"""Runs in a process of its own: finds samples that a sampler of the job's own takes in no epoch.

What takes fewer than there are means to, as one that has a part of the data set. What groups
samples, and leaves out what does not fill a batch, means it of an epoch: of the next one, it should
be others.
"""

from __future__ import annotations

import itertools
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from preflight.epochs.written_batches import has_a_part, leaves_a_rest
from preflight.objects.attributes import classes, own_attributes
from preflight.users_code.frames import is_users

# Samples of a larger data set are not counted one by one.
_MOST = 1_000_000

_SECONDS = 2.0

# Epochs after which what was left out in each is no chance: of a group of five, one is in one case
# of some thousand.
_EPOCHS = 6

_DEEPEST = 2

# A sampler that has asked for so many times as many samples as there are has no end.
_ENDLESS = 16

# Part of all samples that one with `drop_last` may leave out: that was asked for.
_ASKED_FOR = 0.05


class NeverTaken(NamedTuple):
    """What a sampler takes in no epoch."""

    number: int
    sampler: object
    is_rest: bool
    """Whether it is what fills no batch; else, others are taken more than once in their place."""

    cut_at: int = 0
    """Samples after which the loader ends each epoch of a sampler that has no end; 0: it has."""


def never_taken(
    own: Mapping[str, Any], size: int, root: str, rows: int | None = None
) -> NeverTaken | None:
    """Count the samples, of so many, that the job's own sampler leaves out of all epochs.

    One that draws by chance leaves out other ones each time. Of one without end, the loader takes
    so many `rows` in an epoch; None: nobody knows how many.
    """
    sampler = _of_the_job(own, root)
    if sampler is None or not size or size > _MOST:
        return None
    until = time.monotonic() + _SECONDS
    most = _ENDLESS * size
    first = _asked_for(sampler, 0, size, most, until)
    is_endless = first is not None and first.taken.total() >= most
    has_all = first is not None and len(first.taken) == size
    if is_endless and rows and rows < most:
        most = rows
        first = _asked_for(sampler, 0, size, most, until)
    if first is None or len(first.taken) >= size:
        return None
    is_less = first.taken.total() < size
    epochs = [first]
    for epoch in range(1, _EPOCHS if is_less else 2):
        one = _asked_for(sampler, epoch, size, most, until)
        if one is None or one.taken.keys() != first.taken.keys():
            return None
        epochs.append(one)
    lacking = {*range(size)} - first.taken.keys()
    if is_endless:
        is_meant = not has_all and _is_part(sampler, lacking, size)
        is_meant = is_meant or has_a_part(sampler, root)
        return None if is_meant else NeverTaken(len(lacking), sampler, is_rest=False, cut_at=most)
    is_rest = is_less and _is_rest(sampler, epochs, lacking, root)
    return NeverTaken(len(lacking), sampler, is_rest) if is_rest or not is_less else None


def _is_rest(sampler: object, epochs: Sequence[_Asked], lacking: set[int], root: str) -> bool:
    """Whether what is lacking fills no batch, and was not left out on purpose."""
    size = len(lacking) + len(epochs[0].taken)
    if _fills_batches(epochs, lacking) or _has_grouped(sampler, size):
        return True
    batches = [batch for one in epochs for batch in one.batches]
    if not all(one.batches for one in epochs):
        return False
    if _is_in_order(epochs) and len(lacking) < max(map(len, batches)):
        return False  # as torch's own with `drop_last` leaves it out
    if getattr(sampler, "drop_last", False) and len(lacking) < _ASKED_FOR * size:
        return False
    return not _is_part(sampler, lacking, size) and leaves_a_rest(sampler, root)


def _of_the_job(own: Mapping[str, Any], root: str) -> Any | None:
    """Give the sampler that was written for this job; None where it is a library's."""
    iterable = classes("torch.utils.data", "IterableDataset")
    if isinstance(own.get("dataset"), iterable):
        return None
    for name in ("batch_sampler", "sampler"):
        sampler = own.get(name)
        code = getattr(getattr(type(sampler), "__iter__", None), "__code__", None)
        if code is not None and is_users(code.co_filename, root):
            return sampler
    return None


class _Asked(NamedTuple):
    """What a sampler asks for in an epoch."""

    taken: Counter[int]
    batches: list[Sequence[int]]
    """Empty, where it gives no batches."""


def _asked_for(sampler: Any, epoch: int, size: int, most: int, until: float) -> _Asked | None:
    """Run an epoch up to so many; None where it asks by no numbers, or takes too long."""
    if hasattr(sampler, "set_epoch"):
        sampler.set_epoch(epoch)
    found = _Asked(Counter(), [])
    for one in sampler:
        is_batch = isinstance(one, (list, tuple))
        for index in one if is_batch else (one,):
            if type(index) is not int or not 0 <= index < size or time.monotonic() > until:
                return None
            found.taken[index] += 1
        if is_batch:
            found.batches.append(one)
        elif found.taken.total() >= most:
            break
        if is_batch and (found.taken.total() >= most or len(found.batches) > most):
            break
    return found


# --- what fills no batch --------------------------------------------------------------------------


def _fills_batches(epochs: Sequence[_Asked], lacking: set[int]) -> bool:
    """Whether all batches are full, and fewer are lacking than a batch of each group has.

    One that shuffles nothing leaves out the same on purpose, as torch's own with `drop_last`.
    """
    if _is_in_order(epochs):
        return False
    sizes = {len(batch) for one in epochs for batch in one.batches}
    if len(sizes) != 1 or any(max(one.taken.values()) > 1 for one in epochs):
        return False
    (each,) = sizes
    return each > 1 and len(lacking) < each * _groups(epochs)


def _is_in_order(epochs: Sequence[_Asked]) -> bool:
    """Whether each epoch asks for the same in one order, as what shuffles nothing does."""
    return len({tuple(one.taken) for one in epochs}) == 1


def _groups(epochs: Sequence[_Asked]) -> int:
    """Count the groups of which no two have been in one batch."""
    above: dict[int, int] = {}

    def top(index: int) -> int:
        while above.setdefault(index, index) != index:
            above[index] = index = above[above[index]]
        return index

    for batch in itertools.chain.from_iterable(one.batches for one in epochs):
        for index in batch:
            above[top(index)] = top(batch[0])
    return sum(top(index) == index for index in [*above])


def _has_grouped(sampler: object, size: int) -> bool:
    """Whether a sampler has groups of all samples, those that it never takes among them."""
    every = [*range(size)]
    return any(len(one) == size and sorted(one) == every for one in _divided(sampler, 0))


def _is_part(sampler: object, lacking: set[int], size: int) -> bool:
    """Whether it is made for a part: a list without those, or the first, by their number."""
    own = own_attributes(sampler)
    is_counted = not any(_counts(one) == size for one in own.values())
    if is_counted and min(lacking) + len(lacking) == size:
        return True
    return any(lacking.isdisjoint(one) for one in _listed(sampler, size, 0))


def _counts(thing: object) -> object:
    """Give a number, or how many entries a row has: such as a label of each sample."""
    is_row = isinstance(thing, (list, tuple)) or type(thing).__name__ in ("ndarray", "Tensor")
    return len(thing) if is_row and getattr(thing, "shape", True) else thing  # type: ignore[arg-type]


def _listed(thing: object, size: int, depth: int) -> Iterator[set[int]]:
    """Give the lists of samples, each there once, among what a thing holds."""
    held = thing if isinstance(thing, (dict, list, tuple)) else own_attributes(thing)
    for part in held.values() if isinstance(held, Mapping) else held:
        if type(part).__name__ in ("ndarray", "Tensor", "range", "set"):
            numbers = part.tolist() if hasattr(part, "tolist") else [*part]
        elif isinstance(part, (list, tuple)):
            numbers = part
        else:
            if isinstance(part, dict) and depth < _DEEPEST:
                yield from _listed(part, size, depth + 1)
            continue
        if isinstance(numbers, (list, tuple)) and len(numbers) > 1:
            given = {one for one in numbers if type(one) is int and 0 <= one < size}
            if len(given) == len(numbers):
                yield given


def _divided(thing: object, depth: int) -> Iterator[list[int]]:
    """Give what is divided into lists of numbers, among what a thing holds."""
    held = thing if isinstance(thing, (dict, list, tuple)) else own_attributes(thing)
    parts = [*(held.values() if isinstance(held, Mapping) else held)]
    if len(parts) > 1 and all(isinstance(one, (list, tuple, set)) for one in parts):
        joined = [*itertools.chain.from_iterable(parts)]
        if all(type(one) is int for one in joined):
            yield joined
            return
    for part in parts if depth < _DEEPEST else ():
        if isinstance(part, (dict, list, tuple)):
            yield from _divided(part, depth + 1)
