"""Samplers of a job that leave out some samples: what is over, a part on purpose, or none."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.utils.data import Sampler

NUMBER = 120
LENGTHS = [5 + number * 37 % 50 for number in range(NUMBER)]


class Budget(Sampler):
    """Fills batches of so many tokens, of each bucket, and mixes them."""

    def __init__(self, *, keep: bool = False, drop_last: bool = False, buckets: int = 4) -> None:
        self.keep, self.drop_last, self.buckets = keep, drop_last, buckets

    def __iter__(self) -> Iterator[list[int]]:
        order = sorted(range(NUMBER), key=LENGTHS.__getitem__)
        step = NUMBER // self.buckets
        found = []
        for begin in range(0, NUMBER, step):
            now: list[int] = []
            for index in order[begin : begin + step]:
                now.append(index)
                if sum(LENGTHS[one] for one in now) >= 300:
                    found.append(now)
                    now = []
            if self.keep and now:
                found.append(now)
        random.shuffle(found)
        return iter(found)


class Pools(Sampler):
    """Cuts batches of another size for each length, before the first epoch."""

    def __init__(self, *, drop_last: bool) -> None:
        self.drop_last = drop_last
        self.batches = self.made()

    def made(self) -> list[list[int]]:
        """Cut them."""
        pools: dict[int, list[int]] = {}
        for index, length in enumerate(LENGTHS):
            pools.setdefault(length // 10, []).append(index)
        found = []
        for key, pool in pools.items():
            size = 5 + 2 * key
            end = len(pool) // size * size
            found += [pool[at : at + size] for at in range(0, end, size)]
            if end < len(pool) and not self.drop_last:
                found.append(pool[end:])
        return found

    def __iter__(self) -> Iterator[list[int]]:
        return iter(random.sample(self.batches, len(self.batches)))


class Mixed(Sampler):
    """Leaves out others in each epoch."""

    def __iter__(self) -> Iterator[list[int]]:
        order = random.sample(range(NUMBER), NUMBER)
        now: list[int] = []
        for index in order:
            now.append(index)
            if sum(LENGTHS[one] for one in now) >= 300:
                yield now
                now = []


class Short(Sampler):
    """Leaves out long ones on purpose."""

    def __iter__(self) -> Iterator[list[int]]:
        found: list[list[int]] = []
        now: list[int] = []
        for index, length in enumerate(LENGTHS):
            if length < 40:
                now.append(index)
            if len(now) == 6 + len(found) % 2:
                found.append(now)
                now = []
        found.append(now)
        random.shuffle(found)
        return iter(found)


class ShortTexts(Sampler):
    """Leaves out long ones in one go."""

    def __init__(self) -> None:
        self.texts = ["a" * length for length in LENGTHS]

    def __iter__(self) -> Iterator[list[int]]:
        order = [one for one in range(NUMBER) if len(self.texts[one]) < 40]
        random.shuffle(order)
        cut = iter(order)
        for size in itertools.cycle((5, 7)):
            batch = [*itertools.islice(cut, size)]
            if not batch:
                return
            yield batch


class OfRank(Sampler):
    """Gives one of four parts."""

    def __init__(self) -> None:
        self.rank, self.world_size = 0, 4

    def __iter__(self) -> Iterator[list[int]]:
        now: list[int] = []
        for index in random.sample(range(self.rank, NUMBER, self.world_size), 30):
            now.append(index)
            if sum(LENGTHS[one] for one in now) >= 300:
                yield now
                now = []
        yield now


class OfList(Sampler):
    """Is handed the samples that it is to take."""

    def __init__(self, indices: Any) -> None:
        self.indices = indices

    def __iter__(self) -> Iterator[list[int]]:
        now: list[int] = []
        for place in torch.randperm(len(self.indices)).tolist():
            now.append(int(self.indices[place]))
            if sum(LENGTHS[one] for one in now) >= 300:
                yield now
                now = []
        yield now


class Endless(Sampler):
    """Goes round and round, in the order that `order` gives for each round."""

    def __init__(self, order: Callable[[], Any], number: int | None = None) -> None:
        self.order, self.number = order, number

    def __iter__(self) -> Iterator[int]:
        while True:
            yield from self.order()


class EndlessPart(Sampler):
    """Goes round and round in what it is handed."""

    def __init__(self, indices: Any) -> None:
        self.indices = indices

    def __iter__(self) -> Iterator[int]:
        while True:
            for place in torch.randperm(len(self.indices)).tolist():
                yield int(self.indices[place])


class GoesOn(Sampler):
    """Begins each epoch where the last one was cut."""

    def __init__(self) -> None:
        self.numbers = itertools.cycle(range(NUMBER))

    def __iter__(self) -> Iterator[int]:
        yield from self.numbers


LABELS = [number % 12 for number in range(NUMBER)]


class _Labelled(Sampler):
    def __init__(self, size: int) -> None:
        self.labels, self.size = LABELS, size


class OfLabels(_Labelled):
    """Fills batches of each label, in order, and keeps no rest."""

    def __iter__(self) -> Iterator[list[int]]:
        for label in sorted(set(self.labels)):
            members = [index for index, one in enumerate(self.labels) if one == label]
            for at in range(0, len(members) - self.size + 1, self.size):
                yield members[at : at + self.size]


class OfLabelsAsTheyCome(_Labelled):
    """Does so as soon as one label has enough."""

    def __iter__(self) -> Iterator[list[int]]:
        pools: dict[int, list[int]] = {}
        for index, label in enumerate(self.labels):
            pools.setdefault(label, []).append(index)
            if len(pools[label]) == self.size:
                yield pools.pop(label)


class OfFewLabels(_Labelled):
    """Does so of some of the labels, on purpose."""

    def __iter__(self) -> Iterator[list[int]]:
        members = [index for index, label in enumerate(self.labels) if label < 6]
        for at in range(0, len(members) - self.size + 1, self.size):
            yield members[at : at + self.size]


class First(_Labelled):
    """Takes the first ones, on purpose."""

    def __iter__(self) -> Iterator[list[int]]:
        for at in range(0, NUMBER // 2, self.size):
            yield [*range(at, at + self.size)]


class InOrder(_Labelled):
    """Leaves out what fills no batch at the end, as torch's own does."""

    def __iter__(self) -> Iterator[list[int]]:
        order = [*range(NUMBER)]
        for at in range(0, len(order) - self.size + 1, self.size):
            yield order[at : at + self.size]
