"""Loaders with something around them, samplers that group, and streams that batch by themselves."""

# ruff: noqa: D101, D102, NPY002  (jobs are written so)

from __future__ import annotations

import contextlib
import itertools
import queue
import random
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from torch.utils.data import (
    DataLoader,
    Dataset,
    IterableDataset,
    RandomSampler,
    Sampler,
    WeightedRandomSampler,
    get_worker_info,
)

NUMBER = 40


class Rows(Dataset):
    def __init__(self, number: int = NUMBER) -> None:
        self.number = number

    def __len__(self) -> int:
        return self.number

    def __getitem__(self, index: int) -> Any:
        return torch.full((2, 3), float(index)), index


class Noisy(Rows):
    def __getitem__(self, index: int) -> Any:
        return super().__getitem__(index)[0] + torch.rand(()), index


def plain(number: int = NUMBER, **given: Any) -> Any:
    return DataLoader(Rows(number), batch_size=4, shuffle=True, **given)


# --- what stands around a loader ------------------------------------------------------------------


class Around:
    def __init__(self, loader: Any) -> None:
        self.loader = loader

    def __len__(self) -> int:
        return len(self.loader)

    def __iter__(self) -> Iterator[Any]:
        yield from self.loader


class Ahead(Around):
    """Fetches one ahead, and never gives the last."""

    def __iter__(self) -> Iterator[Any]:
        held = None
        for x, y in self.loader:
            if held is not None:
                yield held
            held = x.float().div(255), y


class AheadWhole(Ahead):
    def __iter__(self) -> Iterator[Any]:
        held = None
        for x, y in self.loader:
            if held is not None:
                yield held
            held = {"image": x.float().div(255), "label": y}
        yield held


class Looks:
    """Looks at the first batch, and has no length."""

    def __init__(self, loader: Any) -> None:
        self.loader, self.shown = loader, None

    def __iter__(self) -> Iterator[Any]:
        batches = iter(self.loader)
        self.shown = next(batches)[0].shape
        yield from batches


class ByThread(Around):
    """Ends when the queue is empty for a moment, or by a mark."""

    def __init__(self, loader: Any, mark: Any) -> None:
        super().__init__(loader)
        self.mark = mark

    def __iter__(self) -> Iterator[Any]:
        made: queue.Queue[Any] = queue.Queue(2)
        thread = threading.Thread(target=self.fill, args=(made,), daemon=True)
        thread.start()
        while True:
            batch = made.get()
            if batch is None:
                return
            yield batch

    def fill(self, made: queue.Queue[Any]) -> None:
        held = None
        for batch in self.loader:
            if held is not None:
                made.put(held)
            held = batch
        made.put(held if self.mark else None)
        made.put(None)


class OnDevice(Around):
    """Gives itself, and holds the next batch."""

    def __iter__(self) -> Any:
        self.batches = iter(self.loader)
        self.preload()
        return self

    def preload(self) -> None:
        self.batch = next(self.batches, None)

    def __next__(self) -> Any:
        batch = self.batch
        if batch is None:
            raise StopIteration
        self.preload()
        return batch


class OnDeviceLosing(OnDevice):
    def __next__(self) -> Any:
        batch = self.batch
        self.preload()
        if self.batch is None:
            raise StopIteration
        return batch


class Swallows(Around):
    """Ends as if all had come, whatever its thread has met."""

    def __iter__(self) -> Iterator[Any]:
        made: queue.Queue[Any] = queue.Queue(2)
        threading.Thread(target=self.fill, args=(made,), daemon=True).start()
        return iter(made.get, None)

    def fill(self, made: queue.Queue[Any]) -> None:
        with contextlib.suppress(ValueError):
            for batch in self.loader:
                made.put(batch)
        made.put(None)


class PassesOver(Around):
    """Goes on behind each batch that could not be made."""

    def __iter__(self) -> Iterator[Any]:
        batches = iter(self.loader)
        while True:
            try:
                yield next(batches)
            except StopIteration:
                return
            except ValueError:
                continue


class BeginsAgain(Around):
    """Goes through all once more where something was raised, and gives what had not come."""

    def __iter__(self) -> Iterator[Any]:
        came = 0
        while came < len(self.loader):
            with contextlib.suppress(ValueError):
                for batch in itertools.islice(self.loader, came, None):
                    came += 1
                    yield batch


class Damaged(Rows):
    """Cannot give one sample; where it is `once`, not at first."""

    def __init__(self, once: list[int] | None = None) -> None:
        super().__init__()
        self.left = once

    def __getitem__(self, index: int) -> Any:
        if index == 21 and (self.left is None or self.left):
            self.left = None if self.left is None else self.left[1:]
            raise ValueError("sample 21 is damaged")
        return super().__getitem__(index)


class UsedUp(OnDevice):
    """Begins once, when it is made."""

    def __init__(self, loader: Any) -> None:
        super().__init__(loader)
        super().__iter__()

    def __iter__(self) -> Any:
        return self


class Fewer(DataLoader):
    """A loader that gives as many as it says, and not all that it has."""

    def __len__(self) -> int:
        return super().__len__() - 1

    def __iter__(self) -> Any:
        batches = iter(super().__iter__())
        next(batches)
        return batches


class Grouped(Around):
    """Gives two at a time, for a step that adds up gradients."""

    def __len__(self) -> int:
        return (len(self.loader) + 1) // 2

    def __iter__(self) -> Any:
        batches = iter(self.loader)
        return iter(lambda: [*itertools.islice(batches, 2)], [])


class Limited(Around):
    def __len__(self) -> int:
        return 5

    def __iter__(self) -> Iterator[Any]:
        for number, batch in enumerate(self.loader):
            if number >= 5:
                break
            yield batch


class OnlyFull:
    def __init__(self, loader: Any) -> None:
        self.loader = loader

    def __iter__(self) -> Any:
        return (batch for batch in self.loader if len(batch[1]) == 4)


class OfRank:
    """Gives every second batch, as to one rank of two."""

    def __init__(self, loader: Any) -> None:
        self.loader = loader

    def __iter__(self) -> Any:
        return itertools.islice(self.loader, 0, None, 2)


class Resumed:
    def __init__(self, loader: Any) -> None:
        self.loader, self.skip_batches = loader, 3

    def __iter__(self) -> Any:
        return itertools.islice(self.loader, self.skip_batches, None)


class Mixed(Around):
    """Mixes the samples of each batch with each other."""

    def __iter__(self) -> Iterator[Any]:
        for x, y in self.loader:
            part, order = np.random.rand(), torch.randperm(len(y))
            yield part * x + (1 - part) * x[order], (y, y[order])


class Packed:
    """Packs what comes into fewer and longer batches."""

    def __init__(self, loader: Any) -> None:
        self.loader = loader

    def __iter__(self) -> Iterator[Any]:
        batches = [torch.cat([x.flatten() for x, _ in two]) for two in Grouped(self.loader)]
        yield from batches


class Feed:
    """Has no DataLoader in it."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __len__(self) -> int:
        return 10

    def __iter__(self) -> Any:
        return ((torch.rand(4, 3), torch.arange(4)) for _ in range(self.number))


def ahead(loader: Any) -> Iterator[Any]:
    held = None
    for batch in loader:
        if held is not None:
            yield held
        held = batch


def generated() -> Any:
    return ahead(plain())


def numbered() -> Iterator[Any]:
    """Give a number that stays, and raise late."""
    loader, step = plain(), 0
    for number, batch in enumerate(loader):
        if number == 7:
            raise ValueError("batch 7 is damaged")
        yield step, batch


def train() -> None:
    for step, batch in numbered():
        print(step, batch)


def generated_whole() -> Iterator[Any]:
    loader = plain()
    yield from loader


def endless() -> Iterator[Any]:
    loader = plain(num_workers=1, persistent_workers=True)
    while True:
        yield from loader


def training() -> Iterator[float]:
    loader = plain()
    for x, _ in loader:
        yield float(x.mean())


def losing() -> dict[str, Any]:
    return {
        "ahead": Ahead(plain()),
        "ahead_of_workers": Ahead(plain(num_workers=2)),
        "of_two": Around(Ahead(plain())),
        "looks": Looks(plain()),
        "by_thread": ByThread(plain(), mark=False),
        "on_device": OnDeviceLosing(plain()),
        "used_up": UsedUp(plain()),
        "fewer": Fewer(Rows(), batch_size=4),
        "swallows": Swallows(DataLoader(Damaged(), 4)),
        "swallows_of_workers": Swallows(DataLoader(Damaged(), 4, num_workers=2)),
        "passes_over": PassesOver(DataLoader(Damaged(), 4, num_workers=2)),
        "feed": Feed(9),
    }


def handing_on() -> dict[str, Any]:
    return {
        "around": Around(plain()),
        "ahead": AheadWhole(plain(num_workers=2)),
        "by_thread": ByThread(plain(), mark=True),
        "on_device": OnDevice(plain()),
        "swallows_nothing": Swallows(plain()),
        "begins_again": BeginsAgain(DataLoader(Damaged([1]), 4)),
        "grouped": Grouped(plain()),
        "limited": Limited(plain()),
        "only_full": OnlyFull(plain(42)),
        "of_rank": OfRank(plain()),
        "resumed": Resumed(plain()),
        "mixed": Mixed(plain()),
        "packed": Packed(plain()),
        "feed": Feed(10),
    }


# --- random numbers that begin anew ---------------------------------------------------------------


class SeedsOwn(DataLoader):
    def __iter__(self) -> Any:
        self.generator.manual_seed(0)
        return super().__iter__()


class SeedsAll(DataLoader):
    def __iter__(self) -> Any:
        torch.manual_seed(0)
        return super().__iter__()


class SeedsByEpoch(DataLoader):
    """Is told the epoch by its trainer."""

    epoch = 0

    def set_epoch(self, epoch: int) -> None:
        self.epoch = epoch

    def __iter__(self) -> Any:
        torch.manual_seed(self.epoch)
        return super().__iter__()


class SeedsByCount(DataLoader):
    begun = 0

    def __iter__(self) -> Any:
        self.__dict__["begun"] = self.begun + 1
        torch.manual_seed(self.begun)
        return super().__iter__()


class FixedTest(SeedsAll):
    """One whose class says what it is for."""


class SeedsAround(Around):
    def __iter__(self) -> Iterator[Any]:
        torch.manual_seed(1)
        random.seed(1)
        yield from self.loader


def of(kind: Any, dataset: Any = None, **given: Any) -> Any:
    return kind(Rows() if dataset is None else dataset, **{"batch_size": 4, **given})


def seeds_alike(worker: int) -> None:
    torch.manual_seed(worker)


def seeds_otherwise(_worker: int) -> None:
    torch.manual_seed(torch.initial_seed() % 2**31)


def anew() -> dict[str, Any]:
    seeded = torch.Generator()
    return {
        "order": of(SeedsOwn, shuffle=True, generator=seeded),
        "order_of_workers": of(SeedsOwn, shuffle=True, generator=seeded, num_workers=2),
        "order_of_all": of(SeedsAll, shuffle=True),
        "order_of_weights": of(SeedsAll, sampler=WeightedRandomSampler([1.0] * NUMBER, NUMBER)),
        "order_around": SeedsAround(plain()),
        "samples": of(SeedsAll, Noisy()),
        "samples_of_workers": of(SeedsAll, Noisy(), num_workers=2),
        "by_init": of(DataLoader, Noisy(), num_workers=2, worker_init_fn=seeds_alike),
        "samples_by_its_own": of(SeedsOwn, Noisy(), num_workers=2, generator=seeded),
    }


def going_on() -> dict[str, Any]:
    seeded = torch.Generator().manual_seed(0)
    again = RandomSampler(Rows(), generator=torch.Generator().manual_seed(0))
    return {
        "generator": of(DataLoader, shuffle=True, generator=seeded),
        "sampler": of(DataLoader, sampler=again),
        "in_order": of(SeedsAll, num_workers=2),
        "told": of(SeedsByEpoch, shuffle=True),
        "counted": of(SeedsByCount, shuffle=True),
        "val": of(SeedsAll, shuffle=True),
        "fixed": of(FixedTest, Noisy()),
        "noisy": of(DataLoader, Noisy()),
        "init": of(DataLoader, Noisy(), num_workers=2, worker_init_fn=seeds_otherwise),
    }


# --- groups ---------------------------------------------------------------------------------------

LENGTHS = [5 + number * 37 % 50 for number in range(60)]


def grouped(lengths: list[int] = LENGTHS) -> list[list[int]]:
    groups: dict[int, list[int]] = {}
    for index, length in enumerate(lengths):
        groups.setdefault(length // 10, []).append(index)
    return [*groups.values()]


def cut(order: list[int], size: int, *, whole: bool = False) -> list[list[int]]:
    end = len(order) if whole else len(order) - len(order) % size
    return [order[at : at + size] for at in range(0, end, size)]


class Batches(Sampler):
    """Gives batches in mixed order, as `make` makes them for an epoch."""

    def __init__(self, make: Callable[[], list[list[int]]], **held: Any) -> None:
        self.make = make
        self.__dict__.update(held)

    def __iter__(self) -> Any:
        batches = self.make()
        random.shuffle(batches)
        return iter(batches)


def rest_of_each() -> list[list[int]]:
    return [batch for group in grouped() for batch in cut(group, 4)]


def mixed_before() -> list[list[int]]:
    groups = [random.sample(one, len(one)) for one in grouped()]
    return [batch for group in groups for batch in cut(group, 4)]


def by_length() -> list[list[int]]:
    return cut(sorted(range(60), key=LENGTHS.__getitem__), 7)


def with_rest() -> list[list[int]]:
    return [batch for group in grouped() for batch in cut(group, 4, whole=True)]


class LargeGroups(Sampler):
    """Knows groups of all samples, and never takes those of the small ones."""

    def __init__(self, least: int) -> None:
        few = [[*range(3)], [*range(3, 30)], [*range(30, 60)]]
        self.groups, self.least = dict(enumerate(few)), least

    def __iter__(self) -> Any:
        large = (one for one in self.groups.values() if len(one) >= self.least)
        return iter([batch for one in large for batch in cut(one, 4, whole=True)])


class InTurn(Sampler):
    """Gives full batches in the order of the samples, as torch's own with `drop_last`."""

    def __iter__(self) -> Any:
        return iter(cut([*range(60)], 7))


def a_part() -> list[list[int]]:
    return cut(random.sample(range(48), 48), 4)


def short_ones() -> list[list[int]]:
    those = [index for index, length in enumerate(LENGTHS) if length <= 50]
    return cut(random.sample(those, len(those)), 4, whole=True)


class ByTokens(Sampler):
    """Fills batches of so many tokens, and leaves out what is over of each group."""

    def __iter__(self) -> Any:
        found = []
        for group in grouped():
            now: list[int] = []
            for index in group:
                now.append(index)
                if sum(LENGTHS[one] for one in now) >= 100:
                    found.append(now)
                    now = []
        random.shuffle(found)
        return iter(found)


class RoundAndRound(Sampler):
    def __iter__(self) -> Any:
        while True:
            yield from range(NUMBER)


class Cut(DataLoader):
    """Ends each epoch after so many batches."""

    def __iter__(self) -> Any:
        return itertools.islice(super().__iter__(), 4)

    def __len__(self) -> int:
        return 4


def by(sampler: Any) -> Any:
    return DataLoader(Rows(60), batch_sampler=sampler)


def leaving_a_rest() -> dict[str, Any]:
    found = {one.__name__: by(Batches(one)) for one in (rest_of_each, by_length)}
    found |= {"small_groups": by(LargeGroups(4)), "tokens": by(ByTokens())}
    return {**found, "cut": of(Cut, sampler=RoundAndRound())}


def leaving_none() -> dict[str, Any]:
    made = (mixed_before, with_rest, a_part, short_ones)
    found = {one.__name__: by(Batches(one)) for one in made}
    found["in_turn"] = by(InTurn())
    return {**found, "all_groups": by(LargeGroups(0)), "val": by(Batches(by_length))}


# --- streams that batch ---------------------------------------------------------------------------


class Stream(IterableDataset):
    def __iter__(self) -> Any:
        worker = get_worker_info()
        first, step = (worker.id, worker.num_workers) if worker else (0, 1)
        for number in range(first, NUMBER, step):
            yield {"x": torch.full((3,), float(number)), "ok": number % 10 != 3}


def collate(batch: list[Any]) -> Any:
    return torch.stack([one["x"] for one in batch])


def collate_some(batch: list[Any]) -> Any:
    return collate([one for one in batch if one["ok"]])


class OfAttribute(Stream):
    def __init__(self, collate_fn: Any) -> None:
        self.collate_fn = collate_fn

    def __iter__(self) -> Any:
        samples = super().__iter__()
        return map(self.collate_fn, iter(lambda: [*itertools.islice(samples, 4)], []))


class OfMethod(OfAttribute):
    def __iter__(self) -> Any:
        samples = Stream.__iter__(self)
        while batch := [*itertools.islice(samples, 4)]:
            yield self.collate(batch)

    def collate(self, batch: list[Any]) -> Any:
        return self.collate_fn(batch)


class OfFile(Stream):
    def __iter__(self) -> Any:
        samples = super().__iter__()
        while batch := [*itertools.islice(samples, 4)]:
            yield collate_some(batch)


def of_datasets(collate_fn: Any) -> Any:
    import datasets

    def rows() -> Any:
        return ({"x": [float(one)] * 3, "ok": one % 10 != 3} for one in range(NUMBER))

    stream = datasets.IterableDataset.from_generator(rows).with_format("torch")
    return DataLoader(stream, batch_size=4, collate_fn=collate_fn)


def of_webdataset(collate_fn: Any) -> Any:
    import webdataset

    pipeline = webdataset.DataPipeline(
        lambda: iter(Stream()), webdataset.batched(4, collation_fn=collate_fn)
    )
    return webdataset.WebLoader(pipeline, batch_size=None)


def batching() -> dict[str, Any]:
    return {
        "of_attribute": DataLoader(OfAttribute(collate_some), batch_size=None, num_workers=1),
        "of_method": DataLoader(OfMethod(collate_some), batch_size=None),
        "of_file": DataLoader(OfFile(), batch_size=None),
        "of_datasets": of_datasets(collate_some),
        "of_webdataset": of_webdataset(collate_some),
    }


def batching_all() -> dict[str, Any]:
    return {
        "of_attribute": DataLoader(OfAttribute(collate), batch_size=None, num_workers=1),
        "of_method": DataLoader(OfMethod(collate), batch_size=None),
        "of_datasets": of_datasets(collate),
        "of_webdataset": of_webdataset(collate),
    }
