"""What stands around loaders: healthy ones, and such as give ranks other numbers of batches.

As a script, it has real ranks go over each of them, and writes down how many batches each has.
"""

from __future__ import annotations

import itertools
import json
import os
import queue
import sys
import threading
import time

import torch
from torch.utils.data import DataLoader, Dataset, DistributedSampler, Subset

RANK, WORLD = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))


class Numbers(Dataset):
    """Gives each sample as a dict that a collate function takes apart."""

    def __init__(self, number, *, seconds=0.0):
        self.number, self.seconds = number, seconds

    def __len__(self):
        return self.number

    def __getitem__(self, place):
        time.sleep(self.seconds)
        return {"place": place, "more": 0}


def taken_apart(samples):
    return torch.tensor([one.pop("place") for one in samples])


def even(number=48, size=4, **more):
    data = Numbers(number, **more)
    sampler = DistributedSampler(data, shuffle=False)
    return DataLoader(data, batch_size=size, sampler=sampler, collate_fn=taken_apart)


def uneven(number=45):
    return DataLoader(Subset(Numbers(number), range(RANK, number, WORLD)), collate_fn=taken_apart)


class Around:
    """Leaves some out, and stops after so many."""

    def __init__(self, loader, *, leaves_out=(), most=None):
        self.loader, self.leaves_out, self.most = loader, leaves_out, most

    def __len__(self):
        return len(self.loader)

    def __iter__(self):
        given = (one for at, one in enumerate(self.loader) if at not in self.leaves_out)
        return itertools.islice(given, self.most)


class Ahead(Around):
    """Fetches by a thread; some ranks lose what is in it last."""

    def __init__(self, loader, *, loses):
        super().__init__(loader)
        self.loses = loses

    def __iter__(self):
        fetched = queue.Queue(2)
        threading.Thread(target=self.fetch, args=(fetched,), daemon=True).start()
        before = fetched.get()
        while (one := fetched.get()) is not None:
            yield before
            before = one
        if not self.loses:
            yield before

    def fetch(self, fetched):
        """Fill the queue."""
        for one in self.loader:
            fetched.put(one)
        fetched.put(None)


class Regrouped(Around):
    """Makes batches of five."""

    def __iter__(self):
        held = []
        for one in self.loader:
            held += one
            while len(held) >= 5:
                yield torch.stack(held[:5])
                held = held[5:]


class Own(DataLoader):
    """Stops sooner on all ranks but the first."""

    def __iter__(self):
        return itertools.islice(super().__iter__(), 2 + (RANK == 0))


class Both:
    """Goes over two loaders."""

    def __init__(self, one, other, *, at_once):
        self.one, self.other, self.at_once = one, other, at_once

    def __iter__(self):
        if self.at_once:
            yield from zip(self.one, self.other, strict=False)
            return
        yield from self.one
        if RANK != 1:
            yield from self.other


class Loaders:
    """Gives loaders in a loop, and no batches."""

    def __init__(self):
        self.train, self.more = even(), uneven()

    def __iter__(self):
        return iter([self.train, self.more])


def skipping(loader):
    for at, one in enumerate(loader):
        if RANK or at:
            yield one


def left_out_by_all():
    return Around(even(), leaves_out={0})


def ahead():
    return Ahead(even(), loses=False)


def regrouped():
    return Regrouped(even())


def as_many_of_more():
    return Around(uneven(), most=11)


def at_once():
    return Both(even(12), uneven(), at_once=True)


def slow():
    return Around(even(400, seconds=0.05))


def left_out_by_one():
    return Around(even(), leaves_out={0} if RANK == 0 else ())


def lost_by_some():
    return Ahead(even(), loses=RANK > 0)


def generated():
    return skipping(even())


def of_their_own():
    return Own(Numbers(48), batch_size=4, collate_fn=taken_apart)


def one_by_one():
    return Both(even(), even(24), at_once=False)


def slow_by_one():
    return Around(even(400, seconds=0.05), leaves_out={2} if RANK == 0 else ())


def loaders():
    return Loaders()


def again_and_again():
    loader = uneven()
    while True:
        yield from loader


HEALTHY = (left_out_by_all, ahead, regrouped, as_many_of_more, at_once, slow)
SHORT = (left_out_by_one, lost_by_some, generated, of_their_own, one_by_one, slow_by_one)


def run(rank, folder, world):
    global RANK, WORLD
    RANK, WORLD = rank, world
    import torch.distributed as dist

    torch.set_num_threads(1)
    store = f"file://{folder}/around"
    dist.init_process_group("gloo", init_method=store, rank=rank, world_size=world)
    counts = {one.__name__: sum(1 for _ in one()) for one in (*HEALTHY, *SHORT)}
    with open(os.path.join(folder, f"around-{rank}.json"), "w") as file:
        json.dump(counts, file)
    dist.barrier()


if __name__ == "__main__":
    import torch.multiprocessing as mp

    time.sleep = lambda _: None  # what is slow gives as much
    mp.start_processes(
        run, args=(sys.argv[1], int(sys.argv[2])), nprocs=int(sys.argv[2]), start_method="fork"
    )
