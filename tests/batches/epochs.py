"""Loaders whose epochs end as they should, and others; one dict of each, made anew by each call."""

# ruff: noqa: D101, D102, NPY002  (jobs are written so)

from __future__ import annotations

import itertools
import queue
import random
import threading
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch.utils.data import (
    BatchSampler,
    DataLoader,
    Dataset,
    IterableDataset,
    RandomSampler,
    SequentialSampler,
    WeightedRandomSampler,
    get_worker_info,
)


class Rows(Dataset):
    """Forty samples, each with its number."""

    def __init__(self, number: int = 40) -> None:
        self.number = number

    def __len__(self) -> int:
        return self.number

    def __getitem__(self, index: int) -> Any:
        return torch.tensor([index, index * index])


class Stream(IterableDataset):
    """The same as a stream, which each worker goes through."""

    def __init__(self, number: int = 40, *, divided: bool = False) -> None:
        self.number, self.divided = number, divided

    def __iter__(self) -> Any:
        worker = get_worker_info()
        first, step = (worker.id, worker.num_workers) if self.divided and worker else (0, 1)
        return (self.sample(number) for number in range(first, self.number, step))

    def sample(self, number: int) -> Any:
        return torch.tensor([number, number * number])


class Measured(Stream):
    """A stream with a length."""

    def __init__(self, number: int, length: int) -> None:
        super().__init__(number, divided=True)
        self.length = length

    def __len__(self) -> int:
        return self.length


class Captioned(Stream):
    """A stream of samples that are augmented at random, each with its caption."""

    def sample(self, number: int) -> Any:
        return torch.rand(4), f"caption {number}"


class Augmented(Stream):
    """A stream of samples that are augmented at random, and that nothing names."""

    def sample(self, number: int) -> Any:
        return torch.full((4,), float(number)) * random.random() + torch.rand(4)


class OfClasses(Stream):
    """Samples that each worker draws for itself, of classes that take turns."""

    def __iter__(self) -> Any:
        rng = np.random.default_rng(torch.initial_seed())
        return (
            torch.full((4,), 1000.0 * (at % 5) + rng.integers(1000)) for at in range(self.number)
        )


class OwnSplit(Augmented):
    """Augmented samples, of which each worker has its part."""

    def __init__(self) -> None:
        super().__init__(divided=True)


class Twice(Stream):
    """A stream in whose data each sample stands two times, one behind the other."""

    def sample(self, number: int) -> Any:
        return torch.tensor([number // 2])


class Alike(Stream):
    """A stream of zeros."""

    def sample(self, number: int) -> Any:
        return torch.zeros(3)


class Synthetic(Stream):
    """Random numbers, as many from each worker."""

    def sample(self, number: int) -> Any:
        return torch.rand(4)


class Endless(Stream):
    """Takes its time, as a stream that is read does: whoever runs it for long computes little."""

    def __iter__(self) -> Any:
        worker = get_worker_info()
        first, step = (worker.id, worker.num_workers) if self.divided and worker else (0, 1)
        for number in itertools.count(first, step):
            time.sleep(0.002)
            yield self.sample(number)


class EndlessWithLength(Endless):
    def __len__(self) -> int:
        return 16


class Spent(IterableDataset):
    def __init__(self) -> None:
        self.rows = iter(range(40))

    def __iter__(self) -> Any:
        return self.rows


class Grows(IterableDataset):
    """Adds to its files each time that it is asked for them."""

    def __init__(self) -> None:
        self.files: list[int] = []

    def __iter__(self) -> Any:
        self.files += range(20)
        return iter(self.files)


class RaisesAgain(Stream):
    begun = 0

    def __iter__(self) -> Any:
        self.begun += 1
        if self.begun > 1:
            raise RuntimeError("the stream is closed")
        return iter(range(40))


class Raises(Rows):
    def __getitem__(self, index: int) -> Any:
        if index == 33:
            raise ValueError("sample 33 is damaged")
        return index


class Stops(Rows):
    def __getitem__(self, index: int) -> Any:
        # Each sleep is long beside the moment between two of them, in which it is another line.
        while index == 33:
            time.sleep(10)
        return index


class Sampler(BatchSampler):
    """Says of itself that it gives twice as many batches."""

    def __len__(self) -> int:
        return 2 * super().__len__()


class ByLength:
    """Groups what has been shuffled, so that epochs have other numbers of batches."""

    def __init__(self) -> None:
        self.epoch = 0

    def __iter__(self) -> Any:
        self.epoch += 1
        size = 4 if self.epoch % 2 else 3
        return (list(range(at, min(at + size, 40))) for at in range(0, 40, size))


class Chosen:
    """A sampler of the job's own, which gives what it is told for each epoch."""

    def __init__(self, choose: Any) -> None:
        self.choose, self.epoch = choose, 0

    def set_epoch(self, epoch: int) -> None:
        self.epoch = epoch

    def __len__(self) -> int:
        return len(self.choose(0))

    def __iter__(self) -> Any:
        return iter(self.choose(self.epoch))


def repeated(epoch: int) -> list[int]:
    """Give parts of the data set thrice, other parts in each epoch."""
    order = [*range(40)]
    random.Random(epoch).shuffle(order)
    return [one for one in order for _ in range(3)][:40]


class Gaps(Rows):
    def __getitem__(self, index: int) -> Any:
        return None if index % 4 == 0 else super().__getitem__(index)


def that_are_there(batch: list[Any]) -> Any:
    return torch.stack([one for one in batch if one is not None])


def without_none(batch: list[Any]) -> Any:
    return torch.stack([one for one in batch if one[0] % 10])


def packed(batch: list[Any]) -> Any:
    return torch.cat(batch).reshape(1, -1)


def packed_without_some(batch: list[Any]) -> Any:
    return packed([one for one in batch if one[0] % 10])


def of(dataset: Any = None, **given: Any) -> Any:
    return DataLoader(Rows() if dataset is None else dataset, **{"batch_size": 4, **given})


def other_late(batch: list[Any]) -> Any:
    return {"x": torch.stack(batch)} if batch[0][0] < 32 else torch.stack(batch)


def bad() -> dict[str, Any]:
    return {
        "changes_late": of(collate_fn=other_late, num_workers=2),
        "spent": of(Spent()),
        "spent_by_persistent": of(Spent(), num_workers=1, persistent_workers=True),
        "grows": of(Grows()),
        "raises_again": of(RaisesAgain()),
        "raises_late": of(Raises(), num_workers=2),
        "all_from_each": of(Stream(), num_workers=2),
        "all_from_each_of_three": of(Stream(), num_workers=3, batch_size=None),
        "all_captions_from_each": of(Captioned(), num_workers=2),
        "all_augmented_from_each": of(Augmented(), num_workers=2),
        "too_long": of(Measured(40, 80), num_workers=2),
        "too_short": of(Measured(40, 20)),
        "batch_sampler": DataLoader(
            Rows(), batch_sampler=Sampler(SequentialSampler(range(40)), 4, drop_last=False)
        ),
        "leaves_out": of(collate_fn=without_none),
        "packs_some": of(collate_fn=packed_without_some),
        "lacks_some_in_each": of(Gaps(), collate_fn=that_are_there, num_workers=2),
        "never_takes_some": of(sampler=Chosen(lambda _: [one - one % 2 for one in range(40)])),
        "goes_on": of(EndlessWithLength()),
    }


def stops() -> Any:
    return of(Stops(), num_workers=2)


class Fed:
    """Has a thread take its batches, which may die behind the first ones."""

    def __init__(self, dies_at: int) -> None:
        self.loader, self.dies_at = of(), dies_at

    def __len__(self) -> int:
        return len(self.loader)

    def _feed(self, batches: queue.Queue[Any]) -> None:
        try:
            for number, batch in enumerate(self.loader):
                if number == self.dies_at:
                    raise RuntimeError("no room")
                batches.put(batch)
        finally:
            batches.put(None)

    def __iter__(self) -> Iterator[Any]:
        batches: queue.Queue[Any] = queue.Queue(1)
        threading.Thread(target=self._feed, args=(batches,), daemon=True).start()
        return iter(batches.get, None)


def fed() -> dict[str, Any]:
    return {"whole": Fed(-1), "loses_its_thread": Fed(6)}


def sound() -> dict[str, Any]:
    again = RandomSampler(Rows(), replacement=True, num_samples=60)
    return {
        "plain": of(),
        "shuffled": of(shuffle=True, num_workers=2),
        "uneven": of(Rows(41), num_workers=2),
        "drops_last": of(Rows(43), drop_last=True, num_workers=2),
        "persistent": of(num_workers=2, persistent_workers=True),
        "divided": of(Stream(divided=True), num_workers=2),
        "divided_unevenly": of(Stream(41, divided=True), num_workers=3),
        "one_worker": of(Stream(), num_workers=1),
        "with_length": of(Measured(40, 40), num_workers=2),
        "with_length_unevenly": of(Measured(10, 10), num_workers=2),
        "with_length_dropped": of(Measured(11, 11), num_workers=2, drop_last=True),
        "augmented": of(OwnSplit(), num_workers=2),
        "of_classes": of(OfClasses(), num_workers=2),
        "twice_in_the_data": of(Twice(divided=True), num_workers=2),
        "alike": of(Alike(), num_workers=2),
        "synthetic": of(Synthetic(), num_workers=2),
        "with_replacement": of(sampler=again),
        "weighted": of(sampler=WeightedRandomSampler([1.0] * 40, 40), num_workers=2),
        "some": of(sampler=RandomSampler(Rows(), num_samples=12)),
        "repeated": of(sampler=Chosen(repeated)),
        "by_chance": of(sampler=Chosen(lambda _: random.choices(range(40), k=40))),
        "a_part": of(sampler=Chosen(lambda _: [*range(0, 40, 2)])),
        "each_twice": of(sampler=Chosen(lambda _: [*range(40)] * 2)),
        "by_length": DataLoader(Rows(), batch_sampler=ByLength()),
        "packed": of(collate_fn=packed),
        "texts": of([f"caption {number}" for number in range(40)], num_workers=2),
        "lists": of(collate_fn=list),
        "without_batches": of(batch_size=None),
        "generator": of(Stream()),
    }


def endless() -> dict[str, Any]:
    return {
        "divided": of(Endless(divided=True), num_workers=2),
        "whole": of(Endless(), num_workers=2),
    }


# --- random numbers -------------------------------------------------------------------------------

OF_MODULE = np.random.default_rng(0)


class Random(Rows):
    """Adds a number to each sample that `draw` gives."""

    def __init__(self, draw: Any, **held: Any) -> None:
        super().__init__()
        self.draw = draw
        self.__dict__.update(held)

    def __getitem__(self, index: int) -> Any:
        return index, float(self.draw(self, index))


class Transform:
    def __init__(self) -> None:
        self.rng = np.random.RandomState(1)

    def __call__(self, _dataset: Any, _index: int) -> float:
        return self.rng.rand()


def own(dataset: Any, _index: int) -> float:
    return dataset.rng.random()


def of_torch(dataset: Any, _index: int) -> Any:
    return torch.rand((), generator=dataset.rng)


def of_module(_dataset: Any, _index: int) -> float:
    return OF_MODULE.random()


def of_each_library(_dataset: Any, _index: int) -> Any:
    return torch.rand(()) + random.random() + np.random.rand()


def by_index(_dataset: Any, index: int) -> float:
    return np.random.default_rng(index).random()


def lazily(dataset: Any, _index: int) -> float:
    if dataset.rng is None:
        dataset.rng = np.random.default_rng(torch.initial_seed())
    return dataset.rng.random()


class TaughtEpochs(Random):
    """Draws by the epoch that it is told, and by its worker."""

    epoch = 0

    def set_epoch(self, epoch: int) -> None:
        self.epoch = epoch

    def __getitem__(self, index: int) -> Any:
        if self.rng is None:
            self.rng = np.random.default_rng((self.epoch, get_worker_info().id))
        return super().__getitem__(index)


def flips(dataset: Any, _index: int) -> float:
    return dataset.rng.random() < 0.5


def nothing(_dataset: Any, _index: int) -> float:
    return 0.0


def seed_alike(_worker: int) -> None:
    np.random.seed(0)


def seed_by_number(worker: int) -> None:
    np.random.seed(worker)


def seed_well(_worker: int) -> None:
    np.random.seed(torch.initial_seed() % 2**32)


def of_numpy(_dataset: Any, _index: int) -> float:
    return np.random.rand()


def randomly(draw: Any, held: Any = None, **given: Any) -> Any:
    return of(Random(draw, rng=held), **{"num_workers": 2, **given})


class RandomStream(IterableDataset):
    """A stream of samples, of which each worker makes a part by numbers that `begin` gives."""

    def __init__(self, begin: Any, sample: Any, rng: Any = None) -> None:
        self.begin, self.sample, self.rng = begin, sample, rng

    def __iter__(self) -> Any:
        worker = get_worker_info()
        first, step = (worker.id, worker.num_workers) if worker else (0, 1)
        rng = self.begin(self, first)
        return (self.sample(number, rng) for number in range(first, 40, step))


class ToldEpochs(RandomStream):
    """One that a trainer tells which epoch it is."""

    def set_epoch(self, epoch: int) -> None:
        self.rng = random.Random(epoch)


def of_dataset(dataset: Any, _worker: int) -> Any:
    return dataset.rng


def of_zero(_dataset: Any, _worker: int) -> Any:
    return random.Random(0)


def of_worker(_dataset: Any, worker: int) -> Any:
    return random.Random(worker)


def of_seed(_dataset: Any, _worker: int) -> Any:
    return random.Random(torch.initial_seed())


def nameless(number: int, rng: Any) -> Any:
    return torch.full((3,), float(number)) + rng.random()


def flipped(number: int, rng: Any) -> Any:
    return {"x": torch.full((3,), float(number)) * (1 - 2 * (rng.random() < 0.5)), "id": number}


def of_class(number: int, rng: Any) -> Any:
    return torch.full((3,), float(number)) + rng.random(), number * 7919 % 5


def of_numbers_alone(_number: int, rng: Any) -> Any:
    return torch.full((3,), rng.random())


def bare(number: int, _rng: Any) -> Any:
    return torch.full((3,), float(number))


def as_its_number(number: int, _rng: Any) -> Any:
    return nameless(number, random.Random(number))


class Mixed(IterableDataset):
    """Samples that come in an order which is drawn by chance, another one in each epoch."""

    def __iter__(self) -> Any:
        rng, held = random.Random(torch.initial_seed()), []
        for number in range(get_worker_info().id if get_worker_info() else 0, 40, 2):
            held.append(number)
            if len(held) > 5:
                yield bare(held.pop(rng.randrange(len(held))), rng)
        yield from (bare(number, rng) for number in held)


def stream(begin: Any, sample: Any, rng: Any = None, **given: Any) -> Any:
    return of(RandomStream(begin, sample, rng), **{"num_workers": 2, "batch_size": 4, **given})


def same_numbers() -> dict[str, Any]:
    return {
        "stream_told": of(ToldEpochs(of_dataset, nameless, random.Random(0)), num_workers=2),
        "stream_of_numpy": stream(of_dataset, nameless, np.random.default_rng(0)),
        "stream_of_module": stream(lambda *_: OF_MODULE, of_class),
        "stream_of_zero": stream(of_zero, flipped, persistent_workers=True),
        "stream_of_worker": stream(of_worker, of_class),
        "stream_alone": stream(of_zero, flipped, num_workers=1),
        "stream_seeded": stream(lambda *_: np.random, nameless, worker_init_fn=seed_by_number),
        "of_numpy": randomly(own, np.random.default_rng(0)),
        "of_python": randomly(own, random.Random(0)),
        "of_torch": randomly(of_torch, torch.Generator().manual_seed(0)),
        "flips": randomly(flips, random.Random(0)),
        "of_module": randomly(of_module),
        "of_transform": randomly(Transform()),
        "one_worker": randomly(own, random.Random(0), num_workers=1),
        "seeded_alike": randomly(of_numpy, worker_init_fn=seed_alike),
        "seeded_by_number": randomly(of_numpy, worker_init_fn=seed_by_number),
    }


def other_numbers() -> dict[str, Any]:
    return {
        "stream_of_seed": stream(of_seed, nameless),
        "stream_of_library": stream(lambda *_: np.random, flipped),
        "stream_bare": stream(of_zero, bare, num_workers=1),
        "stream_as_its_number": stream(of_zero, as_its_number, num_workers=1),
        "stream_of_numbers_alone": stream(of_worker, of_numbers_alone),
        "stream_mixed": of(Mixed(), num_workers=1),
        "stream_told": of(ToldEpochs(of_seed, nameless), num_workers=2),
        "of_each_library": randomly(of_each_library),
        "by_index": randomly(by_index),
        "lazily": randomly(lazily),
        "taught": of(TaughtEpochs(own, rng=None), num_workers=2),
        "constant": randomly(nothing),
        "seeded_well": randomly(of_numpy, worker_init_fn=seed_well),
        "seeded_by_number_for_long": randomly(
            of_numpy, worker_init_fn=seed_by_number, persistent_workers=True
        ),
        "no_workers": randomly(own, random.Random(0), num_workers=0),
        "shuffled": randomly(
            of_each_library, shuffle=True, generator=torch.Generator().manual_seed(0)
        ),
    }
