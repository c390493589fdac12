"""Streams of which workers give all, or a part that is theirs, or parts that do not fit."""

# ruff: noqa: D101  (jobs are written so)

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterable
from typing import Any

import torch
import webdataset as wds
from PIL import Image
from torch.utils.data import ChainDataset, DataLoader, IterableDataset, get_worker_info

NUMBER = 40
WORDS = ("a cat", "a dog")
SHARDS = ["0.tar", "1.tar", "2.tar", "3.tar"]


class Stream(IterableDataset):
    """What `make` gives, which is told the number of its worker, and how many there are."""

    def __init__(self, make: Callable[[int, int], Iterable[Any]]) -> None:
        self.make = make

    def __iter__(self) -> Any:
        worker = get_worker_info()
        return iter(self.make(worker.id, worker.num_workers) if worker else self.make(0, 1))


def of(make: Callable[[int, int], Iterable[Any]], **given: Any) -> Any:
    return DataLoader(Stream(make), **{"batch_size": 4, "num_workers": 2, **given})


def whole(sample: Callable[[int], Any], number: int = NUMBER) -> Callable[[int, int], Any]:
    """Have each worker give all samples."""
    return lambda _id, _of: map(sample, range(number))


def divided(sample: Callable[[int], Any], number: int = NUMBER) -> Callable[[int, int], Any]:
    """Have each worker give every n-th sample."""
    return lambda id_, of_: map(sample, range(id_, number, of_))


def counted(make: Callable[[int, int], Iterable[Any]]) -> Callable[[int, int], Any]:
    """Have each worker say at which of its samples it is."""
    return lambda id_, of_: enumerate(make(id_, of_))


# --- samples --------------------------------------------------------------------------------------


def tensor(number: int) -> Any:
    return torch.tensor([number, 1])


def fields(number: int) -> Any:
    return {"x": torch.full((3, 2), float(number)), "mask": torch.ones(2), "id": f"{number:04}"}


def text(number: int) -> str:
    return f"caption {number}"


def pair(number: int) -> Any:
    return torch.full((2,), float(number)), WORDS[number % 3 % 2]


def word(number: int) -> str:
    return WORDS[number * number % 7 % 2]


def label(number: int) -> int:
    return number * number % 11 % 2


def padded(number: int) -> Any:
    """Give a mask, most of which is like others, and tokens of a small vocabulary."""
    rest = torch.zeros(8 - number % 5)
    return {"mask": torch.cat([torch.ones(number % 5), rest]), "tokens": torch.tensor(number % 3)}


def constant(_number: int) -> Any:
    return torch.zeros(3)


def augmented(number: int) -> Any:
    """Give a picture that is cropped at random, and its class; classes lie one behind the other."""
    return torch.rand(3, 4, 4), number // 20


def picture(number: int) -> Any:
    return Image.new("RGB", (8, 8), (number, 0, 0))


def of_bytes(number: int) -> Any:
    return {"jpg": b"bytes %d" % number, "__key__": f"{number:04}"}


class Sample:
    def __init__(self, number: int) -> None:
        self.number = number


def by_chance(_number: int) -> Any:
    return random.choice(WORDS)


def noisy(number: int) -> Any:
    """Give what no part names, and chance makes another one."""
    return number + torch.rand(3)


def in_turn(number: int) -> Any:
    """Give what was drawn by chance of a class; classes take turns."""
    return torch.rand(3), number % 4


# --- how they are divided -------------------------------------------------------------------------


def shuffled(id_: int, of_: int) -> Any:
    """Shuffle in each worker by itself, all of it."""
    return map(tensor, random.sample(range(NUMBER), NUMBER))


def shuffled_and_divided(id_: int, of_: int) -> Any:
    """Shuffle in each worker by itself, and then take every n-th."""
    order = random.sample(range(NUMBER), NUMBER)
    return map(tensor, order[id_::of_])


def shuffled_alike_and_divided(id_: int, of_: int) -> Any:
    order = [*range(NUMBER)]
    random.Random(0).shuffle(order)
    return map(tensor, order[id_::of_])


def numbered_by_shard(seed: int, id_: int, of_: int) -> Any:
    """Have samples numbered anew in each shard, of which a worker has some."""
    shards = random.Random(seed).sample(range(4), 4)[id_::of_]
    return ((tensor(10 * shard + number), number) for shard in shards for number in range(10))


def numbered_by_other_shards(id_: int, of_: int) -> Any:
    """Shuffle shards in each worker by itself, and then take every n-th."""
    return numbered_by_shard(id_ + 1, id_, of_)


def numbered_by_own_shards(id_: int, of_: int) -> Any:
    return numbered_by_shard(1, id_, of_)


def overlapping(id_: int, of_: int) -> Any:
    each = NUMBER // of_
    return map(tensor, range(id_ * each, min((id_ + 1) * each + 2, NUMBER)))


def without_the_rest(id_: int, of_: int) -> Any:
    each = 43 // of_
    return map(tensor, range(id_ * each, (id_ + 1) * each))


def of_other_parts(id_: int, of_: int) -> Any:
    """Divide twice, as where the list of files was divided before."""
    return map(tensor, range(id_, NUMBER, of_ * of_))


def resampled(id_: int, of_: int) -> Any:
    return (tensor(random.randrange(NUMBER)) for _ in range(NUMBER))


def made_alike(_id: int, of_: int) -> Any:
    """Make samples by the same random numbers in each worker, as many as its part has."""
    rng = random.Random(5)
    return (torch.tensor([rng.random()]) for _ in range(NUMBER // of_))


def made_alike_by_chance(id_: int, of_: int) -> Any:
    return ((number, noisy(number)) for number in made_alike(id_, of_))


def without_an_end(id_: int, of_: int) -> Any:
    return map(tensor, itertools.count(id_, of_))


def mixed(id_: int, of_: int) -> Any:
    """Mix two streams until the first of them ends, which is elsewhere in each worker."""
    large, small = range(30), range(30, NUMBER)
    first = [*large, *small] if of_ == 1 else (large, small)[id_]
    sources = [map(tensor, first), map(tensor, range(NUMBER + id_, 2 * NUMBER, of_))]
    for source in itertools.cycle(sources):
        if (one := next(source, None)) is None:
            return
        yield one


def a_half_by_chance(id_: int, of_: int) -> Any:
    chosen = random.sample(range(1_000), 40)
    return map(tensor, chosen[id_::of_])


def web(*stages: Any, **given: Any) -> Any:
    """Read shards by webdataset's parts, as its own examples put them together."""
    pipeline = wds.DataPipeline(
        wds.SimpleShardList(SHARDS),
        *stages,
        wds.tarfile_to_samples(),
        wds.decode(),
        wds.to_tuple("__key__", "cls"),
    )
    return wds.WebLoader(pipeline, **{"batch_size": 4, "num_workers": 2, **given})


def cut(items: int, *stages: Any) -> Any:
    """End the epoch of each worker behind so many samples."""
    parts = (wds.SimpleShardList(SHARDS), wds.split_by_worker, wds.tarfile_to_samples())
    pipeline = wds.DataPipeline(*parts, *stages, wds.to_tuple("__key__", "cls"))
    return wds.WebLoader(pipeline.with_epoch(items), batch_size=4, num_workers=2)


def packed(samples: list[Any]) -> Any:
    """Put a batch into one row, with the places at which samples begin."""
    return {"tokens": torch.cat(samples)[None], "begins": torch.arange(len(samples))}


def as_objects(samples: list[Any]) -> Any:
    return [Sample(one) for one in samples]


def pictures_and_boxes(samples: list[Any]) -> Any:
    return torch.stack(samples), torch.cat([one.repeat(3) for one in samples])


def without_threes(samples: list[Any]) -> Any:
    """Leave out what ends in a three."""
    return torch.stack([one for one in samples if int(one[0]) % 10 != 3])


class OnceInAProcess(IterableDataset):
    """Is used up in the process that goes through it: each worker has one of its own."""

    def __init__(self) -> None:
        self.rows = iter(range(NUMBER))

    def __iter__(self) -> Any:
        worker = get_worker_info()
        every = itertools.islice(self.rows, worker.id, None, worker.num_workers) if worker else ()
        return map(tensor, every)


def repeated() -> dict[str, Any]:
    """Give those of which each worker gives all."""
    return {
        "tensors": of(whole(tensor)),
        "dicts": of(whole(fields)),
        "texts": of(whole(text)),
        "pairs": of(whole(pair)),
        "words": of(whole(word)),
        "labels": of(whole(label)),
        "padded": of(whole(padded)),
        "augmented": of(whole(augmented)),
        "pictures": of(whole(picture), collate_fn=list),
        "of_bytes": of(whole(of_bytes), collate_fn=list),
        "objects": of(whole(int), collate_fn=as_objects),
        "packed": of(whole(tensor), collate_fn=packed),
        "boxes": of(whole(tensor), collate_fn=pictures_and_boxes),
        "shuffled": of(shuffled),
        "three_workers": of(whole(fields), num_workers=3),
        "dropped": of(whole(tensor, 43), drop_last=True),
        "one_by_one": of(whole(tensor), batch_size=None),
        "fields_one_by_one": of(whole(fields), batch_size=None),
        "texts_one_by_one": of(whole(text), batch_size=None),
        "pairs_one_by_one": of(whole(augmented, 41), batch_size=None),
        "persistent": of(whole(tensor), persistent_workers=True),
        "chained": DataLoader(
            ChainDataset([Stream(whole(tensor)), Stream(whole(tensor, 20))]), 4, num_workers=2
        ),
        "many": of(whole(int, 30_000), batch_size=500),
        "web": web(),
        "made_alike": of(made_alike),
        "counted": of(counted(whole(tensor))),
        "counted_by_chance": of(counted(whole(noisy))),
        "made_alike_by_chance": of(made_alike_by_chance),
        "web_one_by_one": web(batch_size=None),
        "web_rebatched": web(batch_size=None).shuffle(100).batched(4),
    }


def uneven() -> dict[str, Any]:
    """Give those of which some samples come twice, or not at all."""
    return {
        "shuffled_and_divided": of(shuffled_and_divided),
        "numbered_by_other_shards": of(numbered_by_other_shards),
        "overlapping": of(overlapping),
        "without_the_rest": of(without_the_rest, num_workers=4),
        "without_threes": of(divided(tensor), collate_fn=without_threes),
        "always_first": cut(4),
        "always_first_of_batches": web(wds.split_by_worker).with_epoch(3),
        "of_other_parts": of(of_other_parts),
        "of_other_parts_one_by_one": of(of_other_parts, batch_size=None),
    }


def even() -> dict[str, Any]:
    """Give those that are well, also where samples are equal by what they hold."""
    return {
        "tensors": of(divided(tensor)),
        "dicts": of(divided(fields), num_workers=3),
        "texts": of(divided(text)),
        "pairs": of(divided(pair)),
        "words": of(divided(word)),
        "labels": of(divided(label)),
        "padded": of(divided(padded)),
        "counted": of(counted(divided(tensor))),
        "counted_unevenly": of(counted(divided(tensor, 41))),
        "counted_one_by_one": of(counted(divided(tensor)), batch_size=None, num_workers=3),
        "counted_by_chance": of(counted(divided(noisy))),
        "counted_by_chance_unevenly": of(counted(divided(noisy, 41))),
        "constant": of(divided(constant)),
        "constant_of_each": of(whole(constant)),
        "augmented": of(divided(augmented)),
        "pictures": of(divided(picture), collate_fn=list),
        "objects": of(divided(int), collate_fn=as_objects),
        "packed": of(divided(tensor), collate_fn=packed),
        "one_by_one": of(divided(tensor), batch_size=None),
        "fields_one_by_one": of(divided(fields), batch_size=None),
        "dropped": of(divided(tensor, 43), drop_last=True),
        "each_twice": of(divided(lambda number: tensor(number // 2))),
        "shuffled_alike": of(shuffled_alike_and_divided),
        "numbered_by_own_shards": of(numbered_by_own_shards),
        "resampled": of(resampled),
        "mixed": of(mixed),
        "all_in_an_epoch": cut(20),
        "shuffled_in_an_epoch": cut(4, wds.shuffle(10)),
        "val": cut(4),
        "words_by_chance": of(whole(by_chance)),
        "classes_in_turn": of(whole(in_turn)),
        "a_half_by_chance": of(a_half_by_chance),
        "used_up_by_each": DataLoader(OnceInAProcess(), 4, num_workers=2),
        "many": of(divided(int, 30_000), batch_size=500),
        "web": web(wds.split_by_worker),
        "web_one_by_one": web(wds.split_by_worker, batch_size=None),
        "web_rebatched": web(wds.split_by_worker, batch_size=None).shuffle(100).batched(4),
        "web_resampled": wds.WebLoader(
            wds.WebDataset(SHARDS, resampled=True).to_tuple("__key__").with_epoch(20),
            batch_size=4,
            num_workers=2,
        ),
    }


def endless() -> Any:
    """Give one that is left before its end: each worker has its part, and counts."""
    return of(counted(without_an_end))


def drawn() -> dict[str, Any]:
    """Give streams whose shards are drawn: by each worker, or alike by all."""

    def web(shuffle: int = 0, **given: Any) -> Any:
        shards = wds.ResampledShards(SHARDS, deterministic=True, **given)
        mixed = (wds.shuffle(shuffle),) if shuffle else ()
        pipeline = wds.DataPipeline(shards, wds.tarfile_to_samples(), *mixed, wds.to_tuple("cls"))
        return wds.WebLoader(pipeline.with_epoch(20), batch_size=4, num_workers=2)

    return {"each": web(), "alike": web(worker_seed=int), "mixed": web(30, worker_seed=int)}


def lay_shards(folder: Any) -> None:
    """Lay the shards that are read."""
    for number, name in enumerate(SHARDS):
        with wds.TarWriter(str(folder / name)) as shard:
            for sample in range(10):
                shard.write({"__key__": f"{number}{sample:03}", "cls": sample})
