"""Holds what workers gave of a stream in an epoch against what it gives without workers."""

from __future__ import annotations

import contextlib
import copy
import itertools
import math
import time
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import Any

from preflight.batches.pass_facts import Among
from preflight.epochs import sample_numbers
from preflight.loaders.wrappers import real_loader
from preflight.objects.attributes import classes, own_attributes
from preflight.objects.random_state import seed

# Items that are noted; of more, the first are held against each other.
_MOST = 20_000

# How likely it may be that two workers which draw by chance give just the same.
_BY_CHANCE = 1e-4

# Of fewer items it is not said that some are lacking.
_FEWEST = 8

# Batches of each worker that a stream has given at least which was left before its end.
_ROUNDS = 3

# Items of two workers that are held against each other, with the same random numbers for each.
_MOST_FROZEN = 256
_END = object()

# Seconds in which it is looked whether workers of a stream that was left before its end differ.
_PATIENCE = 2.0


class Noted:
    """The items that each worker gave in an epoch, as numbers, by each part of a batch."""

    def __init__(self, workers: int, batch_size: int | None) -> None:
        self.parts: dict[str, list[list[int]]] = {}
        self.batches = 0
        self.is_whole = True
        """Whether all items are noted."""

        self.workers, self.batch_size = workers, batch_size
        self._number = 0

    def take(self, batch: Any) -> None:
        """Note what is in a batch; workers give theirs in turn."""
        worker = self.batches % self.workers
        self.batches += 1
        try:
            found = sample_numbers.told_apart(batch, self.batch_size) if self.is_whole else {}
        except Exception:  # noqa: BLE001  a type of the user's that nobody can make bytes of
            found = {}
        self._number += max(map(len, found.values()), default=0)
        self.is_whole = bool(found) and self._number <= _MOST
        for name, numbers in found.items():
            by_worker = self.parts.setdefault(name, [[] for _ in range(self.workers)])
            by_worker[worker] += numbers

    def without(self, names: Collection[str]) -> Noted:
        """Give it without some parts."""
        other = copy.copy(self)
        other.parts = {name: one for name, one in self.parts.items() if name not in names}
        return other

    def counts(self, name: str) -> Counter[int]:
        """Count the items of all workers."""
        return Counter(itertools.chain.from_iterable(self.parts.get(name, ())))


def compare(loader: Any, given: Noted, alone: Noted, seconds: float) -> Among | None:
    """Say what is otherwise without workers; None: nothing, or nobody knows."""
    real = real_loader(loader)
    until = time.monotonic() + seconds
    drops = vars(real).get("drop_last") is True
    name = _alike(given)
    whole = None if name is None else _repeated(given, alone, name, drops=drops)
    if whole is not None:
        return whole
    counted = _counted(given)
    if counted and not _give_the_same(vars(real)["dataset"], given.workers, seconds):
        given, alone = given.without(counted), alone.without(counted)
        name = _alike(given)
    whole = None if name is None else _same_parts(given, alone, name)
    if whole is not None:
        return whole
    found = _uneven(given, alone, drops=drops)
    if name is None and found is None and given.workers > 1:
        # Each item is made another by chance, and none has a part that says which it is.
        found = _repeated(given, alone, next(iter(given.parts)), drops=drops)
        own = vars(real)
        may_divide = own.get("worker_init_fn") is not None
        left = until - time.monotonic()
        if found is None or may_divide or not _give_the_same(own["dataset"], given.workers, left):
            return None
    return found


def repeated_so_far(loader: Any, given: Noted) -> Among | None:
    """Say that the workers of a stream that was left before its end have all given the same."""
    given.batches -= given.batches % given.workers
    given.is_whole = False
    name = _alike(given) if given.batches >= _ROUNDS * given.workers > _ROUNDS else None
    if name is None:
        return None
    if name in _counted(given):
        dataset = own_attributes(real_loader(loader)).get("dataset")
        if not _give_the_same(dataset, given.workers, _PATIENCE):
            return None
    each = min(map(len, given.parts[name]))
    number, unit = each * given.workers, sample_numbers.unit(name)
    return Among(given=number, alone=each, unit=unit, is_repeated=True)


# --- each worker goes through all of it -----------------------------------------------------------


def _repeated(given: Noted, alone: Noted, name: str, *, drops: bool) -> Among | None:
    """Say that each worker gave all that there is without workers."""
    if given.is_whole and alone.is_whole:
        number, each = given.counts(name).total(), alone.counts(name).total()
        unit = sample_numbers.unit(name)
    else:
        number, each, unit = given.batches, alone.batches, "batch"
    if drops and given.batch_size and unit == "sample":
        each -= each % given.batch_size
    is_so = 0 < each * given.workers == number
    return Among(given=number, alone=each, unit=unit, is_repeated=True) if is_so else None


def _same_parts(given: Noted, alone: Noted, name: str) -> Among | None:
    """Say that each worker gave as many as a part has, and all the same ones."""
    number, there = given.counts(name), alone.counts(name)
    lacking = len(there.keys() - number.keys())
    is_part = given.is_whole and alone.is_whole and number.keys() < there.keys()
    if not is_part:
        return None
    total, unit = number.total(), sample_numbers.unit(name)
    return Among(total, total // given.workers, unit, is_repeated=True, lacking=lacking)


def _alike(given: Noted) -> str | None:
    """Name a part by which all workers gave the same, which chance does not do."""
    if given.batches % given.workers:
        return None
    others, found = False, []
    for name, (first, *rest) in given.parts.items():
        counts = Counter(first)
        in_order = all(_in_order(first, one, is_whole=given.is_whole) for one in rest)
        if not in_order and not (given.is_whole and all(Counter(one) == counts for one in rest)):
            others = True
        elif _chance(counts, in_order=in_order) ** len(rest) < _BY_CHANCE:
            found.append(name)
    # Where some parts differ, samples are augmented, or drawn by chance, of which classes take
    # turns: only a part that names samples tells these apart.
    telling = [name for name in found if not others or _tells(given.parts[name][0])]
    return telling[0] if telling else None


def _counted(given: Noted) -> set[str]:
    """Name the parts in which each worker begins as the others do, where they differ in another.

    A worker may count there what it gives, of samples that are rightly divided; or all workers
    give the same samples, and make others of them by chance.
    """
    alike, differs = set(), False
    for name, (first, *rest) in given.parts.items():
        if _tells(first) and all(_in_order(first, one, is_whole=False) for one in rest):
            alike.add(name)
        else:
            differs = differs or _tells(first)
    return alike if differs else set()


def agree(one: Sequence[int], other: Sequence[int]) -> bool:
    """Whether both are the same, and that is no chance."""
    same = _in_order(one, other, is_whole=False)
    return same and _chance(Counter(one), in_order=True) < _BY_CHANCE


def _in_order(one: Sequence[int], other: Sequence[int], *, is_whole: bool) -> bool:
    least = min(len(one), len(other))
    return one[:least] == other[:least] if not is_whole else one == other


def _tells(numbers: Sequence[int]) -> bool:
    """Whether a part names samples: most of it differs, or it comes in an order that is no turn."""
    turn = len({*numbers})
    return turn > 1 and (2 * turn >= len(numbers) or numbers[turn:] != numbers[:-turn])


def _chance(counts: Counter[int], *, in_order: bool) -> float:
    """Say how likely it is that one who draws by chance gives the same items, in this order."""
    total = counts.total()
    bits = sum(number * math.log(number / total) for number in counts.values())
    if not in_order:
        bits += math.lgamma(total + 1) - sum(math.lgamma(one + 1) for one in counts.values())
    return math.exp(min(bits, 0.0))


def are_all_alike(given: Noted) -> bool:
    """Whether workers gave the same by each part of a batch."""
    return all(one == first for first, *rest in given.parts.values() for one in rest)


def of_shards(dataset: object, given: Noted) -> Among | None:
    """Say that each shard of a stream of `datasets` has all, as by a generator that ignores it."""
    streams = classes("datasets.iterable_dataset", "IterableDataset")
    number = getattr(dataset, "num_shards", 0) if issubclass(type(dataset), streams) else 0
    if number < 2 or not given.is_whole:
        return None
    every = {name: given.counts(name) for name in given.parts}
    if any(one % number for counts in every.values() for one in counts.values()):
        return None  # a number of each sample may be that of its place in a shard
    for name, counts in every.items():
        if len(counts) >= _FEWEST and {*counts.values()} == {number}:
            unit, total = sample_numbers.unit(name), counts.total()
            return Among(total, total // number, unit, is_repeated=True, shards=number)
    return None


# --- some come more than once, or from no worker --------------------------------------------------


def _uneven(given: Noted, alone: Noted, *, drops: bool) -> Among | None:
    """Say what workers gave more often than it is there, and what none of them gave."""
    if not (given.is_whole and alone.is_whole):
        return None
    found = list(_otherwise(given, alone))
    if not found or any(not one.again and not one.lacking for one in found):
        return None
    one = found[0]
    batch = max(len(numbers[0]) for numbers in alone.parts.values()) / alone.batches
    may_lack = given.workers * batch if drops or given.batch_size is None else 0
    return None if not one.again and one.lacking <= may_lack else one


def _otherwise(given: Noted, alone: Noted) -> Iterator[Among]:
    """Hold both against each other by each part that names samples, and has no others."""
    for name in alone.parts:
        there, came = alone.counts(name), given.counts(name)
        if there.total() < _FEWEST or 2 * len(there) < there.total():
            continue
        if not came.keys() <= there.keys():
            continue
        again, lacking = (came - there).total(), (there - came).total()
        own = any(max(Counter(one).values(), default=0) > 1 for one in given.parts[name])
        if again and lacking and (own or len(there) < there.total()):
            continue  # drawn with replacement
        yield Among(
            given=came.total(),
            alone=there.total(),
            unit=sample_numbers.unit(name),
            again=again,
            lacking=lacking,
            is_repeated=came == Counter({one: each * given.workers for one, each in there.items()}),
        )


# --- the same but for what chance makes of it -----------------------------------------------------


def _give_the_same(dataset: Any, workers: int, seconds: float) -> bool:
    """Whether two workers give the same data in the same order, but for what chance makes of it.

    With the same random numbers for each item, whatever still tells two of them apart is data: no
    two of a worker may be alike, else it draws them by chance. When workers begin, their random
    numbers differ, so that orders and samples that each of them draws for itself are others.

    Args:
        dataset: the stream.
        workers: how many the loader has.
        seconds: how long it may take; each of them half of that.
    """
    begun = time.monotonic()
    try:
        one, other = (
            _items(dataset, workers, worker, begun + seconds * (worker + 1) / 2)
            for worker in (0, 1)
        )
    except Exception:  # noqa: BLE001  the user's code, which is not asked for this by the job
        return False
    if time.monotonic() - begun > seconds / 2:  # one of them was left before its end
        least = min(len(one), len(other))
        one, other = one[:least], other[:least]
    return one == other and len(one) >= _FEWEST and len({*one}) == len(one)


def _items(dataset: Any, workers: int, worker: int, until: float) -> list[int]:
    """Give a number for each of a worker's items behind the first one, with which it begins."""
    found = []
    with as_worker(dataset, workers, worker):
        seed(worker + 1)
        items = iter(dataset)
        next(items)
        for _ in range(_MOST_FROZEN):
            seed(0)
            item = next(items, _END)
            if item is _END:
                break
            found.append(sample_numbers.digest(item))
            if time.monotonic() > until:
                break
    return found


@contextlib.contextmanager
def as_worker(dataset: Any, workers: int, worker: int) -> Iterator[None]:
    """Have `get_worker_info` say that this is a worker."""
    from torch.utils.data._utils import worker as of_torch

    info = of_torch.WorkerInfo(id=worker, num_workers=workers, seed=worker + 1, dataset=dataset)
    before = of_torch._worker_info  # noqa: SLF001
    of_torch._worker_info = info  # noqa: SLF001
    try:
        yield
    finally:
        of_torch._worker_info = before  # noqa: SLF001
