"""Loaders whose epochs are alike, or unlike, where they should not be, and others."""

# ruff: noqa: D101, D102, NPY002  (jobs are written so)

from __future__ import annotations

import heapq
import itertools
import os
import random
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import torch
from torch.utils.data import (
    BatchSampler,
    DataLoader,
    Dataset,
    DistributedSampler,
    IterableDataset,
    Sampler,
    Subset,
    WeightedRandomSampler,
    get_worker_info,
)

NUMBER = 60


def of(dataset: Any, **given: Any) -> Any:
    return DataLoader(dataset, **{"batch_size": 4, **given})


# --- streams that shuffle by a buffer -------------------------------------------------------------


class Stream(IterableDataset):
    def __init__(self, make: Callable[[], Iterable[Any]]) -> None:
        self.make = make

    def __iter__(self) -> Any:
        return iter(self.make())


class Measured(Stream):
    def __len__(self) -> int:
        return NUMBER


def read() -> Iterator[Any]:
    for number in range(NUMBER):
        yield torch.tensor([number, number * number])


def swapping(rng: Any = random) -> Iterator[Any]:
    held: list[Any] = []
    for one in read():
        if len(held) < 20:
            held.append(one)
            continue
        place = rng.randrange(20)
        yield held[place]
        held[place] = one


def popping() -> Iterator[Any]:
    held: list[Any] = []
    for one in read():
        held.append(one)
        if len(held) > 10:
            yield held.pop(random.randrange(len(held)))


def turning() -> Iterator[Any]:
    held: deque[Any] = deque()
    for one in read():
        held.append(one)
        if len(held) > 10:
            held.rotate(random.randrange(10))
            yield held.popleft()


ORDERS = random.Random(3)


def by_a_heap() -> Iterator[Any]:
    """By numbers that are the same in each run of the tests: one order of 40 says too little."""
    held: list[tuple[float, int]] = []
    for number, _ in enumerate(read()):
        heapq.heappush(held, (ORDERS.random(), number))
        if len(held) > 10:
            yield torch.tensor(heapq.heappop(held)[1])


def largest(*, gives_rest: bool = False) -> Iterator[Any]:
    """By a heap through which the last hundred go straight, as they are the least."""
    held: list[tuple[float, int]] = []
    numbers = iter(range(200))
    for number in numbers:
        heapq.heappush(held, (ORDERS.random() if number < 100 else -number, number))
        if len(held) > 20:
            yield torch.tensor(heapq.heappop(held)[1])
    yield from [torch.tensor(number) for _, number in held if gives_rest]


def of_two_stages() -> Iterator[Any]:
    for one in popping():
        yield one * 2, "a caption"


def mapped() -> Any:
    return map(torch.neg, popping())


class Held(IterableDataset):
    """Keeps its buffer, so that what is left comes in the next epoch."""

    def __init__(self) -> None:
        self.held: list[Any] = []

    def __iter__(self) -> Any:
        for one in read():
            self.held.append(one)
            if len(self.held) > 10:
                yield self.held.pop(random.randrange(len(self.held)))


class HeldAnew(Held):
    def __iter__(self) -> Any:
        self.held = []
        yield from super().__iter__()


def emptied() -> Iterator[Any]:
    held: list[Any] = []
    for one in read():
        held.append(one)
        if len(held) > 10:
            yield held.pop(random.randrange(len(held)))
    while held:
        yield held.pop()


def gone_through(order: Callable[[list[Any]], Iterable[Any]]) -> Iterator[Any]:
    """Give what is left as it lies, by places, or by a copy."""
    held: list[Any] = []
    for one in read():
        if len(held) < 20:
            held.append(one)
            continue
        place = random.randrange(20)
        yield held[place]
        held[place] = one
    yield from order(held)


def by_places(held: list[Any]) -> Iterator[Any]:
    for place in torch.randperm(len(held)).tolist():
        yield held[place]


def limited() -> Iterator[Any]:
    """Leave off before all is read."""
    for number, one in enumerate(popping()):
        if number == 30:
            return
        yield one


def some() -> Iterator[Any]:
    """Give a part of what there is, another one each time."""
    left = list(read())
    random.shuffle(left)
    while len(left) > 20:
        yield left.pop()


def window() -> Iterator[Any]:
    held: deque[Any] = deque()
    for one in read():
        held.append(one)
        if len(held) > 3:
            yield held.popleft()


def tokens() -> Iterator[Any]:
    """Cut texts in a random order into rows, and leave the rest."""
    held: list[int] = []
    for number in random.sample(range(NUMBER), NUMBER):
        held += [number] * (number % 7 + 1)
        while len(held) >= 16:
            yield torch.tensor(held[:16])
            del held[:16]


def with_negatives() -> Iterator[Any]:
    """Give each sample beside another one, out of a pool of those that came."""
    pool: list[Any] = []
    for one in read():
        if len(pool) < 8:
            pool.append(one)
        else:
            pool[random.randrange(8)] = one
        yield one, random.choice(pool)


def held_back() -> dict[str, Any]:
    return {
        "swapping": of(Stream(swapping)),
        "popping": of(Stream(popping), num_workers=1),
        "turning": of(Stream(turning)),
        "by_a_heap": of(Stream(by_a_heap)),
        "largest": of(Stream(largest)),
        "of_two_stages": of(Stream(of_two_stages), batch_size=None),
        "mapped": of(Stream(mapped)),
        "measured": of(Measured(popping)),
        "in_an_attribute": of(HeldAnew()),
    }


def given_all() -> dict[str, Any]:
    return {
        "emptied": of(Stream(emptied), num_workers=1),
        "gone_through": of(Stream(lambda: gone_through(iter))),
        "rest_of_a_heap": of(Stream(lambda: largest(gives_rest=True))),
        "by_places": of(Stream(lambda: gone_through(by_places))),
        "as_a_copy": of(Stream(lambda: gone_through(lambda held: random.sample(held, 20)))),
        "limited": of(Stream(limited)),
        "sliced": of(Stream(lambda: itertools.islice(emptied(), 40))),
        "some": of(Stream(some)),
        "window": of(Stream(window)),
        "tokens": of(Stream(tokens)),
        "with_negatives": of(Stream(with_negatives)),
    }


# --- orders ---------------------------------------------------------------------------------------


class Rows(Dataset):
    def __len__(self) -> int:
        return NUMBER

    def __getitem__(self, index: int) -> Any:
        return torch.tensor([index, index * index])


class Own(Sampler):
    """A sampler of the job's own."""

    def __init__(self, *, shuffle: bool = True) -> None:
        self.shuffle = shuffle

    def __len__(self) -> int:
        return NUMBER


class OfTorch(Own):
    def __iter__(self) -> Any:
        drawn = torch.Generator().manual_seed(0)
        order = torch.randperm(NUMBER, generator=drawn).tolist()
        return iter(order if self.shuffle else sorted(order, key=lambda one: one % 7))


class OfPython(Own):
    def __iter__(self) -> Any:
        yield from self._drawn()

    def _drawn(self) -> list[int]:
        order = [*range(NUMBER)]
        random.Random(42).shuffle(order)
        return order


class Kept(Own):
    """Keeps its generator."""

    rng = random.Random(0)

    def __iter__(self) -> Any:
        return iter(self.rng.sample(range(NUMBER), NUMBER))


class Told(Own):
    epoch = 0

    def set_epoch(self, epoch: int) -> None:
        self.epoch = epoch

    def __iter__(self) -> Any:
        return iter(np.random.RandomState(self.epoch).permutation(NUMBER))


class ToldInVain(Told):
    """Keeps the epoch that it is told, and draws by one seed all the same."""

    def __iter__(self) -> Any:
        return iter(np.random.RandomState(7).permutation(NUMBER))


class CountsInVain(Own):
    """Counts its epochs, and draws by one seed all the same."""

    def __init__(self) -> None:
        super().__init__()
        self.epoch, self.rng_seed = 0, 7

    def __iter__(self) -> Any:
        self.epoch += 1
        return iter(random.Random(self.rng_seed).sample(range(NUMBER), NUMBER))


class ByItsEpoch(CountsInVain):
    """Has an epoch that the loop sets by hand."""

    def __iter__(self) -> Any:
        return iter(random.Random(self.epoch // 10).sample(range(NUMBER), NUMBER))


class ByEpochOfList(ByItsEpoch):
    """Has a seed of each epoch, and no more of them."""

    def __iter__(self) -> Any:
        return iter(random.Random((3, 1, 4)[self.epoch]).sample(range(NUMBER), NUMBER))


class ByEpochKept(ByItsEpoch):
    """Has the epoch in something that is set elsewhere."""

    def __init__(self) -> None:
        super().__init__()
        self.epoch = [0]

    def __iter__(self) -> Any:
        return iter(random.Random(self.epoch[0]).sample(range(NUMBER), NUMBER))


class ByEpochBegun(Own):
    """Draws an order when the loop says that an epoch begins, by a name of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.begin_epoch(0)

    def begin_epoch(self, epoch: int) -> None:
        self.epoch, self.order = epoch, random.Random(epoch).sample(range(NUMBER), NUMBER)

    def __iter__(self) -> Any:
        random.Random(7).shuffle(list(self.order))
        return iter(self.order)


class ByEpochProperty(ByEpochBegun):
    """Draws it when its epoch is set."""

    begin_epoch = None

    def __init__(self) -> None:
        Own.__init__(self)
        self.epoch = 0

    @property
    def epoch(self) -> int:
        return self._epoch

    @epoch.setter
    def epoch(self, epoch: int) -> None:
        self._epoch, self.order = epoch, random.Random(epoch).sample(range(NUMBER), NUMBER)


class Groups(Own):
    def __len__(self) -> int:
        return NUMBER // 4

    def __iter__(self) -> Any:
        groups = [[*range(at, at + 4)] for at in range(0, NUMBER, 4)]
        random.seed(1)
        random.shuffle(groups)
        return iter(groups)


class ByName(Rows):
    def __getitem__(self, index: Any) -> Any:
        return super().__getitem__(int(index[0]))


class Named(Own):
    """Gives places with sizes."""

    def __iter__(self) -> Any:
        order = random.Random(0).sample(range(NUMBER), NUMBER)
        return iter((str(one), 8) for one in order)


class ByLength(Own):
    def __iter__(self) -> Any:
        return iter(sorted(range(NUMBER), key=lambda one: one * 37 % 101))


class InFixedOrder(IterableDataset):
    def __iter__(self) -> Any:
        rng, held = random.Random(0), []
        for one in read():
            held.append(one)
            if len(held) > 5:
                yield held.pop(rng.randrange(len(held)))
        yield from held


class ToldStream(IterableDataset):
    """Shuffles by the epoch that it is told."""

    def __init__(self, epoch: Any) -> None:
        self.epoch = epoch

    def set_epoch(self, epoch: int) -> None:
        self.epoch = self.epoch.fill_(epoch) if torch.is_tensor(self.epoch) else epoch

    def __iter__(self) -> Any:
        worker = get_worker_info()
        first, step = (worker.id, worker.num_workers) if worker else (0, 1)
        order = random.Random(int(self.epoch)).sample(range(NUMBER), NUMBER)
        return map(str, order[first::step])


class CountingStream(IterableDataset):
    """Shuffles by the epochs that it counts itself, or that the loop sets where it does not."""

    def __init__(self, epoch: Any, step: int = 1) -> None:
        self.epoch, self.step = epoch, step

    def __iter__(self) -> Any:
        worker = get_worker_info()
        first, step = (worker.id, worker.num_workers) if worker else (0, 1)
        order = random.Random(int(self.epoch)).sample(range(NUMBER), NUMBER)
        if first == 0:  # of an epoch that is shared, it alone counts
            self.epoch += self.step
        return map(str, order[first::step])


def told(epoch: Any, **given: Any) -> Any:
    return of(ToldStream(epoch), num_workers=2, **given)


class ByEpoch(Rows):
    """Draws for each sample by the epoch that it is told."""

    def __init__(self, epoch: Any) -> None:
        self.epoch = epoch

    def __getitem__(self, index: int) -> Any:
        drawn = random.Random(f"{int(self.epoch)} {index}").random()
        return super().__getitem__(index), drawn


class ToldByMethod(ByEpoch):
    def set_epoch(self, epoch: int) -> None:
        self.epoch = self.epoch.fill_(epoch) if torch.is_tensor(self.epoch) else epoch


class IgnoresEpoch(ToldByMethod):
    """Has an epoch, and makes nothing of it."""

    def __getitem__(self, index: int) -> Any:
        return Rows.__getitem__(self, index), torch.rand(())


class Telling(DataLoader):
    """Tells its data set the epoch when one begins."""

    begun = 0

    def __iter__(self) -> Any:
        self.dataset.set_epoch(self.begun)
        self.begun += 1
        return super().__iter__()


def kept(dataset: Any, kind: Any = DataLoader) -> Any:
    return kind(dataset, batch_size=4, num_workers=2, persistent_workers=True)


def same_order() -> dict[str, Any]:
    return {
        "unheard": told(0, persistent_workers=True),
        "counting": of(CountingStream(0), num_workers=1),
        "unheard_by_samples": kept(ToldByMethod(0)),
        "unheard_without_a_method": kept(ByEpoch(0)),
        "unheard_by_a_loader": kept(ToldByMethod(0), Telling),
        "of_torch": of(Rows(), sampler=OfTorch()),
        "of_python": of(Rows(), sampler=OfPython(), num_workers=2),
        "told_in_vain": of(Rows(), sampler=ToldInVain()),
        "counts_in_vain": of(Rows(), sampler=CountsInVain()),
        "batched": DataLoader(Rows(), batch_sampler=BatchSampler(OfTorch(), 4, drop_last=True)),
        "groups": DataLoader(Rows(), batch_sampler=Groups()),
        "named": of(ByName(), sampler=Named()),
        "stream": of(InFixedOrder()),
    }


def other_order() -> dict[str, Any]:
    order = np.random.permutation(NUMBER).tolist()
    return {
        "kept": of(Rows(), sampler=Kept()),
        "told": of(Rows(), sampler=Told()),
        "by_its_epoch": of(Rows(), sampler=ByItsEpoch()),
        "by_epoch_of_list": of(Rows(), sampler=ByEpochOfList()),
        "by_epoch_kept": of(Rows(), sampler=ByEpochKept()),
        "by_epoch_begun": of(Rows(), sampler=ByEpochBegun()),
        "by_epoch_property": of(Rows(), sampler=ByEpochProperty()),
        "told_stream": told(0),
        "counting_kept": of(CountingStream(0), num_workers=1, persistent_workers=True),
        "counting_here": of(CountingStream(0)),
        "counting_shared": of(CountingStream(torch.tensor(0).share_memory_()), num_workers=1),
        "set_by_the_loop": of(CountingStream(0, step=0), num_workers=2),
        "heard": told(torch.tensor(0).share_memory_(), persistent_workers=True),
        "heard_by_samples": kept(ToldByMethod(torch.tensor(0).share_memory_())),
        "told_samples": of(ToldByMethod(0), num_workers=2),
        "kept_epoch": kept(IgnoresEpoch(0)),
        "validation": told(0, persistent_workers=True),
        "distributed": of(Rows(), sampler=DistributedSampler(Rows(), 2, 0)),
        "by_length": of(Rows(), sampler=ByLength()),
        "not_shuffled": of(Rows(), sampler=OfTorch(shuffle=False)),
        "shuffled": of(Rows(), shuffle=True, generator=torch.Generator().manual_seed(0)),
        "val": of(Rows(), sampler=OfTorch()),
        "listed": of(Rows(), sampler=order),
        "a_part": of(Subset(Rows(), order)),
        "weighted": of(Rows(), sampler=WeightedRandomSampler([1.0] * NUMBER, NUMBER)),
    }


# --- samples that change --------------------------------------------------------------------------


class Stored(Dataset):
    def __init__(self, give: Any) -> None:
        self.give = give
        self.images = torch.rand(NUMBER, 3, 4, 4) * 255 + 1
        self.cache: dict[int, Any] = {}
        self.calls, self.asked = 0, [0] * NUMBER
        self.rng, self.lazy = np.random.default_rng(0), None

    def __len__(self) -> int:
        return NUMBER

    def __getitem__(self, index: int) -> Any:
        return self.give(self, index)


def divided(data: Any, index: int) -> Any:
    image = data.images[index]
    image /= 255
    return image


def normalised(data: Any, index: int) -> Any:
    return data.images[index].sub_(0.5).div_(0.25)


def of_cache(data: Any, index: int) -> Any:
    image = data.cache.setdefault(index, np.full((3, 4), index + 1.0))
    image *= 0.9
    return image


def and_random(data: Any, index: int) -> Any:
    return divided(data, index) + torch.rand(())


def by_calls(data: Any, index: int) -> Any:
    data.calls += 1
    return data.images[index], data.calls


def by_time(data: Any, index: int) -> Any:
    return data.images[index], time.perf_counter()


def by_system(data: Any, index: int) -> Any:
    return data.images[index], int.from_bytes(os.urandom(4), "big")


def by_generator(data: Any, index: int) -> Any:
    return data.images[index] + data.rng.random()


def by_lazy_generator(data: Any, index: int) -> Any:
    if data.lazy is None:
        data.lazy = random.Random(torch.initial_seed())
    return data.images[index] + data.lazy.random()


def in_turn(data: Any, index: int) -> Any:
    """Give one of five captions, each in its turn."""
    data.asked[index] += 1
    return data.images[index], data.asked[index] % 5


def kept_as_drawn(data: Any, index: int) -> Any:
    if index not in data.cache:
        data.cache[index] = data.images[index] + torch.rand(())
    return data.cache[index]


def of_a_copy(data: Any, index: int) -> Any:
    image = data.images[index].clone()
    image /= 255
    return image


def changing() -> dict[str, Any]:
    return {
        "divided": of(Stored(divided)),
        "normalised": of(Stored(normalised), shuffle=True),
        "of_cache": of(Stored(of_cache)),
        "and_random": of(Stored(and_random)),
        "persistent": of(Stored(divided), num_workers=2, persistent_workers=True),
    }


def staying() -> dict[str, Any]:
    each = (by_calls, by_time, by_system, by_generator, by_lazy_generator, in_turn)
    found = {one.__name__: of(Stored(one)) for one in (*each, kept_as_drawn, of_a_copy)}
    found["forked_each_time"] = of(Stored(divided), num_workers=2)
    return {**found, "forked_with_its_cache": of(Stored(of_cache), num_workers=2)}


# --- parts of a batch -----------------------------------------------------------------------------


class Pairs(Dataset):
    def __len__(self) -> int:
        return NUMBER

    def __getitem__(self, index: int) -> Any:
        return torch.full((3, 8, 8), float(index)), (None if index == 22 else index % 10)


def images(batch: list[Any]) -> Any:
    return torch.stack([one for one, _ in batch])


def labels(batch: list[Any]) -> Any:
    return torch.tensor([label for _, label in batch if label is not None])


def as_pair(batch: list[Any]) -> Any:
    return images(batch), labels(batch)


def as_dict(batch: list[Any]) -> Any:
    return {"image": images(batch), "label": labels(batch), "name": [str(one) for one in batch]}


def as_texts(batch: list[Any]) -> Any:
    return images(batch), [str(label) for _, label in batch if label is not None]


def as_rows(batch: list[Any]) -> Any:
    return images(batch), labels(batch)[:, None].repeat(1, 12)


def whole(batch: list[Any]) -> Any:
    return as_pair([one for one in batch if one[1] is not None])


def as_boxes(batch: list[Any]) -> Any:
    """Give a box for each image, and none for one of them."""
    number = len(batch) - (float(batch[0][0][0, 0, 0]) == 20)
    return images(batch), torch.zeros(number, 4)


def as_boxes_of_classes(batch: list[Any]) -> Any:
    rows, boxes = as_boxes(batch)
    return rows, boxes, torch.zeros(len(boxes))


def with_weights(batch: list[Any]) -> Any:
    """Give weights of seven classes beside seven samples, of which the last batch has fewer."""
    return {"x": torch.zeros(len(batch)), "weights": torch.zeros(7, 3)}


def with_begins(batch: list[Any]) -> Any:
    return images(batch), torch.arange(len(batch) + 1)


def short() -> dict[str, Any]:
    each = (as_pair, as_dict, as_texts, as_rows)
    found = {one.__name__: of(Pairs(), collate_fn=one) for one in each}
    return {**found, "of_workers": of(Pairs(), collate_fn=as_pair, num_workers=2)}


def as_long() -> dict[str, Any]:
    each = (whole, as_boxes, as_boxes_of_classes, with_begins, list)
    found = {one.__name__: of(Pairs(), collate_fn=one) for one in each}
    return {**found, "weights": of(Pairs(), batch_size=7, collate_fn=with_weights)}
