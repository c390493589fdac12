"""Loaders as jobs make them by rank: healthy ones, and such as stop, or train on another list."""

from __future__ import annotations

import itertools
import os
import random
import signal
import sys
import time

import torch
import webdataset as wds
from torch.utils.data import (
    BatchSampler,
    DataLoader,
    Dataset,
    DistributedSampler,
    IterableDataset,
    RandomSampler,
    Subset,
    WeightedRandomSampler,
    get_worker_info,
    random_split,
)

RANK, WORLD = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
FOLDER = os.path.dirname(os.path.abspath(__file__))
NAMES = [f"dog_{number:03}.png" for number in range(45)]


class Named(Dataset):
    """Has the names of its samples in a list, and changes each sample at random."""

    def __init__(self, names, *, salt=0.0):
        self.names = list(names)
        self.noise = salt

    def __len__(self):
        return len(self.names)

    def __getitem__(self, number):
        code = float(sum(map(ord, self.names[number])))
        return torch.tensor([code + self.noise * random.random()])


class Nameless(Dataset):
    """Has nothing but tensors."""

    def __init__(self, names):
        self.rows = torch.tensor([[float(ord(one)) for one in name] for name in names])

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, number):
        return self.rows[number]


class Stream(IterableDataset):
    """Divides among ranks, and then among workers."""

    def __init__(self, names):
        self.names = names

    def __iter__(self):
        worker = get_worker_info()
        own = self.names[RANK::WORLD]
        for name in own if worker is None else own[worker.id :: worker.num_workers]:
            yield {"path": name, "rows": torch.rand(3)}


class Buckets:
    """A batch sampler of the user's own: batches of this rank, of sizes that differ."""

    def __init__(self, number):
        self.number = number

    def __iter__(self):
        own = list(range(RANK, self.number, WORLD))
        while own:
            size = 1 + len(own) % 3
            yield own[:size]
            own = own[size:]


class Chosen:
    """A sampler of the user's own, made like torch's: each rank takes its part of one order."""

    def __init__(self, number, *, seed):
        self.number, self.seed, self.rank, self.world_size = number, seed, RANK, WORLD

    def __iter__(self):
        order = shuffled(range(self.number), seed=self.seed)
        return iter(order[self.rank : self.number // WORLD * WORLD : self.world_size])


class WholeBatches:
    """A batch sampler of the user's own: each rank has as many batches, and some are left over."""

    def __init__(self, number):
        self.number = number

    def __iter__(self):
        every = [range(one, one + 3) for one in range(0, self.number, 3)]
        return iter(every[RANK : len(every) // WORLD * WORLD : WORLD])


def batches_of(data):
    """As detectors have them: batches are made of what a sampler gives the rank."""
    batches = BatchSampler(DistributedSampler(data, shuffle=False), 4, drop_last=False)
    return DataLoader(data, batch_sampler=batches)


def of_pipes():
    """Divides by itself, for which torch has ranks agree on a seed by a group of its own."""
    from torch.utils.data.datapipes.iter import IterableWrapper

    rows = [{"path": name} for name in NAMES[:40]]
    return DataLoader(IterableWrapper(rows).shuffle().sharding_filter(), batch_size=5)


def distributed(data, **more):
    sampler = DistributedSampler(data, seed=7, **more)
    return DataLoader(data, batch_size=4, sampler=sampler)


def alone_in(data):
    return DataLoader(data, sampler=DistributedSampler(data, num_replicas=1, rank=0))


def shuffled(names, *, seed=None):
    names = list(names)
    (random if seed is None else random.Random(seed)).shuffle(names)
    return names


def healthy():
    listed = sorted(os.listdir(os.path.join(FOLDER, "listed")))
    halves = random_split(Named(NAMES), [30, 15], generator=torch.Generator().manual_seed(0))
    weights = WeightedRandomSampler(torch.ones(45), 20)
    return {
        "padded": distributed(Named(NAMES, salt=1.0)),
        "dropped": distributed(Nameless(NAMES), drop_last=True),
        "sorted set": distributed(Named(sorted({*NAMES}))),
        "sorted folder": DataLoader(Named(listed[RANK::WORLD][:11]), batch_size=4, shuffle=True),
        "one seed": DataLoader(Named(shuffled(NAMES, seed=1)[RANK::WORLD][:11]), batch_size=4),
        "own order": DataLoader(Named(shuffled(NAMES[RANK::WORLD])), batch_size=12),
        "own order of tensors": DataLoader(Nameless(shuffled(NAMES[RANK::WORLD])), batch_size=12),
        "all at random": DataLoader(Named(NAMES), batch_size=4, sampler=RandomSampler(NAMES)),
        "all of a folder": DataLoader(Named(os.listdir(os.path.join(FOLDER, "listed")))),
        "with replacement": DataLoader(Named(NAMES), batch_size=4, sampler=weights),
        "halves": distributed(halves[0]),
        "even stream": DataLoader(Stream(NAMES[:40]), batch_size=5, num_workers=2),
        "a list of each rank": alone_in(Named(NAMES[RANK:40:WORLD])),
        "batches of a sampler": batches_of(Named(NAMES)),
        "whole batches alone": DataLoader(Named(NAMES), batch_sampler=WholeBatches(45)),
        "pipes": of_pipes(),
        "no rank at all": DataLoader(Nameless(NAMES), batch_size=4),
    }


def short():
    url = os.path.join(FOLDER, "train-{0..4}.tar")
    shards = wds.WebDataset(
        url, shardshuffle=False, nodesplitter=wds.split_by_node, empty_check=False
    )
    pipeline = wds.WebDataset(url, shardshuffle=False, nodesplitter=wds.split_by_node)
    evened = wds.WebLoader(pipeline, batch_size=None, num_workers=0).repeat().with_epoch(5)
    return {
        "strided": DataLoader(Named(NAMES[RANK::WORLD]), batch_size=11),
        "strided, whole batches": DataLoader(
            Named(NAMES[RANK::WORLD]), batch_size=11, drop_last=True
        ),
        "nothing": DataLoader(Named(NAMES[: WORLD - 1][RANK::WORLD]), batch_size=2),
        "buckets": DataLoader(Named(NAMES), batch_sampler=Buckets(45)),
        "stream": DataLoader(Stream(NAMES), batch_size=11, num_workers=2),
        "shards": DataLoader(shards, batch_size=None, num_workers=0),
        "shards to one end": evened,
    }


def drawn():
    with open(os.path.join(FOLDER, "drawn.txt"), "a") as file:
        file.write(f"{RANK}\n")
    url = os.path.join(FOLDER, "train-{0..4}.tar")

    def shards(*, resampled):
        data = wds.WebDataset(
            url, resampled=resampled, shardshuffle=False, nodesplitter=wds.split_by_node
        )
        return wds.WebLoader(data, batch_size=None, num_workers=0)

    return {"by all": shards(resampled=True), "by rank 0": shards(resampled=RANK == 0)}


def drawn_alike():
    """Streams without an end of which each rank draws shards by itself, or all the same."""
    url = os.path.join(FOLDER, "train-{0..4}.tar")

    one = os.path.join(FOLDER, "train-0.tar")

    def web(*stages, shuffle=0, urls=url, **how):
        more = (wds.shuffle(shuffle),) if shuffle else ()
        drawn = wds.ResampledShards(urls, **how)
        data = wds.DataPipeline(drawn, *stages, wds.tarfile_to_samples(), *more)
        return DataLoader(data, batch_size=3, num_workers=1, collate_fn=list)

    alike = {"deterministic": True, "worker_seed": lambda: 7}
    return {
        "by itself": web(),
        "by its place": web(deterministic=True, seed=1),
        "alike, divided": web(wds.split_by_node, **alike),
        "alike": web(**alike),
        "validation alike": web(**alike),
        "one shard": web(urls=one),
        "one shard, shuffled": web(shuffle=30, urls=one),
        "alike, shuffled": web(shuffle=30, **alike),
        "by random numbers": web(deterministic=True, worker_seed=lambda: random.randrange(999)),
    }


def divided():
    import torch.distributed as dist

    dist.new_group(backend="gloo")  # as for what has no place on a GPU
    return {**healthy(), **short(), **prepared(), **by_datasets()}


def unlike():
    listed = os.listdir(os.path.join(FOLDER, "listed"))
    return {
        "set": distributed(Named(list({*NAMES}))),
        "set of tensors": distributed(Nameless(list({*NAMES}))),
        "hash": DataLoader(Named([one for one in NAMES if hash(one) % WORLD == RANK])),
        "folder": DataLoader(Named(listed[RANK::WORLD])),
        "shuffled": DataLoader(Named(shuffled(NAMES)[RANK::WORLD])),
        "random split": distributed(random_split(Named(NAMES), [30, 15])[0]),
        "seeds of samplers": DataLoader(
            Named(NAMES), sampler=DistributedSampler(NAMES, seed=random.randrange(1_000))
        ),
        "stream of a set": DataLoader(Stream(list({*NAMES})), batch_size=6, num_workers=2),
        "shuffled stream": DataLoader(Stream(shuffled(NAMES)), batch_size=6),
        "part of a set": distributed(Subset(Named(list({*NAMES})), range(40))),
        "shuffled by the rank": distributed(Named(shuffled(NAMES, seed=RANK))),
        "tensors by the rank": distributed(Nameless(shuffled(NAMES, seed=RANK))),
        "divided twice": distributed(Named(NAMES[RANK::WORLD])),
        "order of a set": DataLoader(Named(list({*NAMES}))),
    }


def agreed():
    import torch.distributed as dist

    names = [shuffled(NAMES)]
    dist.broadcast_object_list(names)
    return DataLoader(Named(names[0][RANK::WORLD]), batch_size=4)


def unmade():
    return DataLoader(Named([NAMES][RANK]), batch_size=4)


def past_the_end():
    """Of 45, slices of 15 that begin one late: the last one ends behind the end."""
    each = len(NAMES) // WORLD
    return DataLoader(Named(NAMES), batch_size=4, sampler=range(RANK * each + 1, RANK * each + 16))


class Round(Named):
    """Begins again at its end, as where an epoch is to hold more than there are."""

    def __getitem__(self, place):
        return super().__getitem__(place % len(self))


def counts_round():
    each = len(NAMES) // WORLD
    return DataLoader(Round(NAMES), batch_size=4, sampler=range(RANK * each + 1, RANK * each + 16))


class Stops(Stream):
    """Has nothing for one rank, and says so in its worker."""

    def __iter__(self):
        if RANK == 1:
            raise ValueError("no part of this rank")
        return super().__iter__()


def stops():
    return DataLoader(Stops(NAMES), batch_size=4, num_workers=1)


def waits():
    import torch.distributed as dist

    dist.barrier()
    if RANK:
        raise FileNotFoundError("what rank 0 would have written meanwhile")
    return DataLoader(Named(NAMES), batch_size=4)


def lacks():
    if RANK:
        import not_installed_anywhere  # noqa: F401
    return DataLoader(Named(NAMES), batch_size=4)


def alone(stop):
    """End rank 1 of a job, or have it wait for ever, before it has its loader."""
    if RANK == 1:
        stop()
    return DataLoader(Named(NAMES), batch_size=4)


def killed():
    return alone(lambda: os.kill(os.getpid(), getattr(signal, "SIGKILL", signal.SIGTERM)))


def ends_itself():
    return alone(lambda: os._exit(0))


def leaves():
    return alone(lambda: sys.exit(0))


def sleeps():
    return alone(lambda: time.sleep(3_600))


def slow():
    """Take longer on other ranks than is waited for all of them."""
    time.sleep(10.5 if RANK else 0)
    return DataLoader(Named(NAMES), batch_size=4)


def too_large():
    return alone(lambda: bytearray(1 << 60))


class OneWorker(Stream):
    """Of which the worker of one rank ends itself."""

    def __iter__(self):
        if RANK == 1:
            os._exit(3)
        return super().__iter__()


def one_worker():
    return DataLoader(OneWorker(NAMES), batch_size=4, num_workers=1)


def asks_and_ends():
    """Have rank 1 end where rank 0 tells it nothing, as it does here alone."""
    import torch.distributed as dist

    told = [RANK == 0]
    dist.broadcast_object_list(told)
    if not told[0]:
        os._exit(1)
    return DataLoader(Named(NAMES), batch_size=4)


def prepared():
    try:
        from accelerate import Accelerator, DataLoaderConfiguration
    except ImportError:
        return {}
    found = {}
    for even in (True, False):
        how = DataLoaderConfiguration(even_batches=even)
        one = DataLoader(Named(NAMES), batch_size=2, shuffle=True)
        accelerator = Accelerator(dataloader_config=how)
        found["even" if even else "uneven"] = accelerator.prepare(one)
    return found


def by_datasets():
    """Loaders of a table, and of a stream of shards, as `datasets` divides them."""
    try:
        import datasets
        from datasets.distributed import split_dataset_by_node
    except ImportError:
        return {}

    def rows(shards):
        yield from ({"row": torch.tensor([shard, one])} for shard in shards for one in range(4))

    datasets.disable_progress_bars()
    table = datasets.Dataset.from_dict({"row": list(range(45))}).with_format("torch")
    stream = datasets.IterableDataset.from_generator(rows, gen_kwargs={"shards": list(range(5))})
    return {
        "table": DataLoader(split_dataset_by_node(table, RANK, WORLD), batch_size=11),
        "stream of shards": DataLoader(split_dataset_by_node(stream, RANK, WORLD), batch_size=2),
    }


def written_down():
    """Loaders by a number of ranks, or a rank, that is not the job's, and healthy ones."""
    data, each = Named(NAMES), len(NAMES) // WORLD

    def by(*place, **more):
        return DataLoader(data, batch_size=4, sampler=DistributedSampler(data, *place, **more))

    def of(names):
        return DataLoader(Named(names), batch_size=4)

    return {
        "a sampler of eight": by(8, RANK),
        "a sampler of rank 0": by(WORLD, 0),
        "one seed each": by(seed=RANK),
        "a sampler with one seed each": DataLoader(data, sampler=Chosen(45, seed=RANK)),
        "a sampler with one seed, once": DataLoader(data, sampler=Chosen(45, seed=1)),
        "the first part": of(NAMES[::WORLD]),
        "the last as the first": of(NAMES[RANK % max(WORLD - 1, 1) :: WORLD]),
        "every eighth": of(NAMES[RANK::8]),
        "two groups, once": by(2, RANK // 2 % 2),
        "blocks, once": of(NAMES[RANK * 11 : RANK * 11 + 11]),
        "drawn, once": DataLoader(data, sampler=RandomSampler(data, num_samples=45 // WORLD)),
        "slices that overlap": of(NAMES[max(RANK * each - 3, 0) : RANK * each + each + 3]),
        "a seed of each list": of(shuffled(NAMES, seed=RANK)[RANK::WORLD]),
        "shards, floored": of([f"{one:03}.png" for one in _of_whole_shards(31, 6)]),
        "one more each, once": of(NAMES[RANK * each : RANK * each + each + 1]),
        "filled up, once": of((NAMES + NAMES[:3])[RANK::WORLD] if WORLD > 1 else NAMES),
        "some on all ranks, once": of(NAMES[:5] + NAMES[5:][RANK::WORLD]),
        "a batch of each, once": of(NAMES[: 44 // WORLD * WORLD][RANK::WORLD]),
    }


class Stepped(IterableDataset):
    """Each worker of each rank begins at another sample, and goes on by so many."""

    def __init__(self, names, by):
        self.names = names
        self.by = by

    def __iter__(self):
        worker = get_worker_info()
        number, workers = (0, 1) if worker is None else (worker.id, worker.num_workers)
        step = {"workers": workers, "ranks": WORLD, "all": workers * WORLD}[self.by]
        for name in itertools.islice(self.names, RANK * workers + number, None, step):
            yield {"path": name}


def stepped():
    """Streams of which workers go on by too few samples, so that ranks have the same ones."""

    def of(names, by, **more):
        return DataLoader(Stepped(names, by), batch_size=4, num_workers=2, **more)

    return {
        "by workers": of(NAMES, "workers", drop_last=True),
        "by ranks": of(NAMES, "ranks"),
        "by all, once": of(NAMES, "all"),
    }


def counted_from():
    """Loaders of which a rank begins at 1, and some that only look so."""
    import torch.distributed as dist

    data, rank = Named(NAMES), dist.get_rank()

    def of(names):
        return DataLoader(Named(names), batch_size=4)

    return {
        "one": of(NAMES[RANK + 1 :: WORLD]),
        "one, by the group": of(NAMES[rank + 1 :: WORLD]),
        "one, by places": DataLoader(data, sampler=range(RANK + 1, 45, WORLD)),
        "one, backwards": of(NAMES[-2 - RANK :: -WORLD]),
        "zero": of(NAMES[RANK::WORLD]),
        "zero, by places": DataLoader(data, sampler=range(RANK, 45, WORLD)),
        "zero, behind the first": of(NAMES[1:][RANK::WORLD]),
        "zero, but all alone": of(NAMES if RANK < 0 else NAMES[RANK::WORLD]),
        "zero, in blocks": of(NAMES[RANK * 11 :][:11]),
        "zero, at random": of(random.Random(RANK).sample(NAMES, 3)),
    }


class Rows(Nameless):
    """Has nothing but tensors, and makes something of each at random."""

    def __init__(self, names, *, salt=0.0, noise=None):
        super().__init__(names)
        self.salt, self.noise = salt, noise

    def __getitem__(self, number):
        row = self.rows[number] + self.salt * random.random()
        return row if self.noise is None else row + self.noise.random()


class StreamOfRows(IterableDataset):
    """The same as a stream."""

    def __init__(self, rows):
        self.rows = rows

    def __iter__(self):
        return (self.rows[number] for number in range(len(self.rows)))


def nameless():
    """Loaders of nothing but tensors, which ranks divide by one seed, or each by its own."""
    seeds = shuffled(NAMES, seed=RANK)[RANK::WORLD]
    once = shuffled(NAMES, seed=1)[RANK::WORLD]
    both = NAMES[max(RANK * 23 - 4, 0) : RANK * 23 + 27] if WORLD > 1 else NAMES

    def of(data):
        return DataLoader(data, batch_size=4)

    return {
        "a seed of each": of(Rows(seeds)),
        "a seed of each, changed at random": of(Rows(seeds, salt=1.0)),
        "slices that overlap": of(Rows(both)),
        "a stream with a seed of each": of(StreamOfRows(Rows(seeds))),
        "one seed": of(Rows(once)),
        "one seed, noise of each": of(Rows(once, noise=random.Random(RANK))),
        "a stream with one seed": of(StreamOfRows(Rows(once))),
        "a stream with noise of each": of(StreamOfRows(Rows(once, noise=random.Random(RANK)))),
        "made by each": of(Rows([str(random.Random(RANK).random()) for _ in range(9)])),
    }


def _of_whole_shards(number, size):
    each = number // WORLD * size
    return range(RANK * each, (RANK + 1) * each)


def of_all(loader):
    return [row.tolist() for batch in loader for row in batch]


def names_of(loader):
    return [loader.dataset.names[number] for number in loader.sampler]


def parts_of_parts():
    """Loaders that are divided twice, and for each one that is divided once."""
    import accelerate
    import datasets
    from datasets.distributed import split_dataset_by_node

    datasets.disable_progress_bars()

    def own(data):
        return split_dataset_by_node(data, RANK, WORLD)

    def prepare(loader, **how):
        how = accelerate.DataLoaderConfiguration(**how)
        return accelerate.Accelerator(dataloader_config=how).prepare(loader)

    def rows(shards):
        for shard in shards:
            yield from ({"row": torch.tensor(shard * 4 + one)} for one in range(4))

    def stream(number):
        how = {"shards": list(range(number))}
        return datasets.IterableDataset.from_generator(rows, gen_kwargs=how)

    def loader(data, **more):
        return DataLoader(data, batch_size=2, **more)

    def places(names):
        return loader(Named(names), sampler=DistributedSampler(names, WORLD, RANK))

    table = datasets.Dataset.from_dict({"row": list(range(64))}).with_format("torch")
    part = own(table)
    sampler = DistributedSampler(part, WORLD, RANK)
    return {
        "table": loader(own(part)),
        "sampler": loader(part, sampler=sampler),
        "sampler prepared": prepare(places(NAMES)),
        "prepared": prepare(loader(part)),
        "dispatched": prepare(loader(part), dispatch_batches=True),
        "shards": loader(own(own(stream(16)))),
        "rows of shards": loader(own(own(stream(13)))),
        "shards prepared": prepare(loader(own(stream(16))), dispatch_batches=False),
        "shards dispatched": prepare(loader(own(stream(16)))),
        "table once": loader(part),
        "sampler once": loader(table, sampler=DistributedSampler(table, WORLD, RANK)),
        "prepared once": prepare(loader(table)),
        "dispatched once": prepare(loader(table), dispatch_batches=True),
        "shards once": loader(own(stream(16))),
        "rows of shards once": loader(own(stream(13))),
        "shards prepared once": prepare(loader(stream(16)), dispatch_batches=False),
        "shards dispatched once": prepare(loader(stream(16))),
    }


def shared():
    """Streams of webdataset, each rank of which reads all shards, or its own."""
    url = os.path.join(FOLDER, "train-{0..3}.tar")

    def web(splitter=None, *, resampled=False, shuffle=0, epoch=0):
        data = wds.WebDataset(
            url, shardshuffle=False, nodesplitter=splitter, resampled=resampled, empty_check=False
        )
        data = data.shuffle(shuffle) if shuffle else data
        data = data.with_epoch(epoch) if epoch else data
        return wds.WebLoader(data, batch_size=None, num_workers=0)

    return {
        "all": web(),
        "by a function": web(lambda shards: shards).batched(2, collation_fn=list),
        "validation": web(),
        "shuffled": web(shuffle=20),
        "its own": web(wds.split_by_node),
        "its own, shuffled": web(wds.split_by_node, shuffle=20),
        "twice": web(lambda shards: wds.split_by_node(wds.split_by_node(shards))),
        "drawn": web(resampled=True, epoch=9),
    }


def keys_of(batches):
    found = []
    for one in batches:
        found += [each["__key__"] for each in (one if isinstance(one, list) else [one])]
    return found


def once():
    with open(os.path.join(FOLDER, "made.txt"), "a") as file:
        file.write(f"{os.getpid()} {RANK}\n")
    return DataLoader(Named(NAMES), batch_size=4)


def size_of(batch):
    return len(batch["row"] if isinstance(batch, dict) else batch)


def run(rank, world, port, folder):
    """Go through all loaders as real ranks do, each step together with the others."""
    import json

    import torch.distributed as dist

    global RANK, WORLD
    RANK, WORLD = rank, world
    os.environ.update(RANK=str(rank), WORLD_SIZE=str(world), LOCAL_RANK=str(rank))
    os.environ.update(ACCELERATE_USE_CPU="true", MASTER_ADDR="127.0.0.1", MASTER_PORT=port)
    torch.set_num_threads(1)
    group = f"file://{folder}/group{world}"
    dist.init_process_group("gloo", init_method=group, rank=rank, world_size=world)
    found = {}
    for name, loader in divided().items():
        steps = 0
        batches = iter(loader)
        while True:
            here = next(batches, None) is not None
            all_here = torch.tensor(int(here))
            dist.all_reduce(all_here, op=dist.ReduceOp.MIN)
            steps += here
            if not all_here:
                break
        found[name] = steps
    samples = {name: sum(map(size_of, one)) for name, one in parts_of_parts().items()}
    with open(f"{folder}/{world}-{rank}.json", "w") as file:
        keys = {name: keys_of(one) for name, one in shared().items()}
        some = {name: itertools.islice(one, 30) for name, one in drawn_alike().items()}
        keys |= {name: keys_of(one) for name, one in some.items()}
        names = {name: names_of(one) for name, one in written_down().items()}
        counted = {name: names_of(one) for name, one in counted_from().items()}
        keys |= {name: [*map(str, of_all(one))] for name, one in nameless().items()}
        paths = {
            name: [path for batch in one for path in batch["path"]]
            for name, one in stepped().items()
        }
        told = {"steps": found, "samples": samples, "keys": keys, "names": names}
        json.dump({**told, "counted": counted, "paths": paths}, file)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    import torch.multiprocessing as mp

    for world in map(int, sys.argv[2:]):
        given = (world, "0", sys.argv[1])
        mp.start_processes(run, args=given, nprocs=world, start_method="fork")
