"""Loaders whose samplers, or what cuts them, leave samples out of all epochs, and healthy twins."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.utils.data import DataLoader, Dataset, Sampler

LARGE, SMALL = 300, 32


class Numbers(Dataset[torch.Tensor]):
    """Samples of one to sixty tokens."""

    def __init__(self, number: int = LARGE) -> None:
        chance = random.Random(0)
        self.lengths = [chance.randint(1, 60) for _ in range(number)]

    def __len__(self) -> int:
        return len(self.lengths)

    def __getitem__(self, place: int) -> torch.Tensor:
        return torch.tensor([place])


class Tokens(Sampler[list[int]]):
    """Batches of at most so many tokens out of groups by length."""

    def __init__(self, data: Numbers, *, shuffles: bool = False, keeps: bool = False) -> None:
        self.data, self.shuffles, self.keeps = data, shuffles, keeps

    def __iter__(self) -> Iterator[list[int]]:
        groups: dict[int, list[int]] = {}
        for place, length in enumerate(self.data.lengths):
            groups.setdefault(length // 10, []).append(place)
        batches = []
        for own in groups.values():
            if self.shuffles:
                random.shuffle(own)
            batch: list[int] = []
            tokens = 0
            for place in own:
                if tokens + self.data.lengths[place] > 128:
                    batches.append(batch)
                    batch, tokens = [], 0
                batch.append(place)
                tokens += self.data.lengths[place]
            if self.keeps:
                batches.append(batch)
        random.shuffle(batches)
        yield from batches


class Buckets(Sampler[list[int]]):
    """Full batches out of groups by length, in their order."""

    def __init__(
        self, data: Numbers, size: int, width: int = 10, *, drop_last: bool = False
    ) -> None:
        self.data, self.size, self.width, self.drop_last = data, size, width, drop_last

    def __iter__(self) -> Iterator[list[int]]:
        groups: dict[int, list[int]] = {}
        for place, length in enumerate(self.data.lengths):
            own = groups.setdefault(length // self.width, [])
            own.append(place)
            if len(own) % self.size == 0:
                yield own[-self.size :]


class Part(Sampler[list[int]]):
    """All that are short, or all but a few for validation."""

    def __init__(self, data: Numbers, *, by_length: bool) -> None:
        self.data, self.by_length = data, by_length

    def __iter__(self) -> Iterator[list[int]]:
        places = range(len(self.data))
        groups = [[*places[:-10]], [*places[-10:]]]
        if self.by_length:
            groups = [[one for one in places if self.data.lengths[one] <= 50]]
        own = [*groups[0]]
        random.shuffle(own)
        yield from (own[first : first + 16] for first in range(0, len(own), 16))


class Endless(Sampler[int]):
    """All, again and again."""

    def __init__(self, *, shuffles: bool) -> None:
        self.shuffles = shuffles

    def __iter__(self) -> Iterator[int]:
        while True:
            yield from torch.randperm(SMALL).tolist() if self.shuffles else range(SMALL)


class CutSampler(Sampler[int]):
    """The first half of what another gives."""

    def __init__(self, inner: Endless) -> None:
        self.inner = inner

    def __iter__(self) -> Iterator[int]:
        return itertools.islice(iter(self.inner), SMALL // 2)

    def __len__(self) -> int:
        return SMALL // 2


class Cut:
    """A loop over so many batches of a loader."""

    def __init__(self, loader: Any, number: int, *, goes_on: bool = False) -> None:
        self.loader, self.number = loader, number
        self.batches = iter(loader) if goes_on else None

    def __iter__(self) -> Iterator[Any]:
        batches = iter(self.loader) if self.batches is None else self.batches
        return itertools.islice(batches, self.number)


def _batches(sampler: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    data = Numbers()
    return DataLoader(data, batch_sampler=sampler(data, *args, **kwargs))


def _endless(*, shuffles: bool = False) -> Any:
    return DataLoader(Numbers(SMALL), 4, sampler=Endless(shuffles=shuffles))


def losing() -> dict[str, Any]:
    """Give those whose samples are not all seen, however long is trained."""
    return {
        "tokens": _batches(Tokens),
        "cut": Cut(_endless(), 4),
    }


def seeing() -> dict[str, Any]:
    """Give those that have all in the long run, or leave out what they mean to."""
    inner = Endless(shuffles=True)
    return {
        "tokens_shuffled": _batches(Tokens, shuffles=True),
        "tokens_kept": _batches(Tokens, keeps=True),
        "few_asked": _batches(Buckets, 4, drop_last=True),
        "one_group": _batches(Buckets, 16, 1_000),
        "short_ones": _batches(Part, by_length=True),
        "training_part": _batches(Part, by_length=False),
        "cut_shuffled": Cut(_endless(shuffles=True), 4),
        "cut_whole": Cut(_endless(), 8),
        "cut_goes_on": Cut(_endless(), 4, goes_on=True),
        "cut_sampler_shuffled": DataLoader(Numbers(SMALL), 4, sampler=CutSampler(inner)),
    }
