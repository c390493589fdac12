"""Data sets as jobs write them that make their pipelines while they are gone over.

A case is a function that gives a loader, as in `pipelines`, with the shards of which it is tried.
"""

# ruff: noqa: D101, BLE001  (jobs are written so)

from __future__ import annotations

import functools
import glob
import itertools

import webdataset as wds
from torch.utils.data import DataLoader, Dataset, IterableDataset

GOES_ON = wds.ignore_and_continue


def shards():
    return sorted(glob.glob("data/[0-3].tar"))


def pipeline(work, *more, urls=None, handler=GOES_ON):
    return wds.DataPipeline(
        wds.SimpleShardList(shards() if urls is None else urls),
        wds.split_by_worker,
        wds.tarfile_to_samples(),
        *more,
        wds.map(work, handler=handler),
    )


class Shards(IterableDataset):
    def __init__(self, make):
        self.make = make

    def __iter__(self):
        yield from self.make()


class InTurns(IterableDataset):
    """Mixes two."""

    def __init__(self, first, second):
        self.works = first, second

    def __iter__(self):
        urls = shards()
        half = [pipeline(self.works[0], urls=urls[:2]), pipeline(self.works[1], urls=urls[2:])]
        for each in itertools.zip_longest(*half):
            yield from (one for one in each if one is not None)


class Forgiving(IterableDataset):
    """Gives something else where a sample cannot be had."""

    def __init__(self, work):
        self.work = work

    def __iter__(self):
        for sample in pipeline(dict):
            try:
                value = self.work(sample)
            except Exception:
                value = -1
            yield value


class Lenient(Forgiving):
    def __iter__(self):
        for sample in pipeline(dict):
            try:
                value = self.work(sample)
            except Exception:
                continue
            yield value


class ByShard(Dataset):
    """Opens the shard that it is asked for."""

    def __init__(self, work):
        self.work = work

    def __len__(self):
        return len(shards())

    def __getitem__(self, number):
        urls = shards()[number : number + 1]
        one = wds.WebDataset(urls, shardshuffle=False, workersplitter=None, empty_check=False)
        return list(one.map(self.work, handler=GOES_ON))


class AtOnce(Dataset):
    """Has gone over its shards when it is made."""

    def __init__(self, work):
        self.samples = list(pipeline(work))

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, number):
        return self.samples[number]


def batches_of(work):
    batch = []
    for one in pipeline(work):
        batch.append(one)
        if len(batch) == 8:
            yield batch
            batch = []
    if batch:
        yield batch


def inner():
    """Give a pipeline that another begins with; webdataset 0.2 takes only its iterator."""
    one = pipeline(dict)
    return functools.partial(iter, one) if wds.__version__.startswith("0.2.") else one


def nested(work, handler=GOES_ON):
    return wds.DataPipeline(inner(), wds.map(work, handler=handler))


def loader(dataset, workers=0, **given):
    return DataLoader(dataset, batch_size=None, num_workers=workers, **given)


def late(work, *more, **given):
    return Shards(functools.partial(pipeline, work, *more, **given))


def resampled(work):
    return wds.WebDataset(shards(), resampled=True, shardshuffle=False).map(work, handler=GOES_ON)


def sound(number_of, is_small, want_few):
    return {
        "late_sound": lambda: loader(late(number_of)),
        "late_sound_in_workers": lambda: loader(late(number_of), 2),
        "late_sound_selected": lambda: loader(late(number_of, wds.select(is_small))),
        "late_sound_with_epoch": lambda: loader(
            Shards(lambda: resampled(number_of).with_epoch(300)),
        ),
        "late_sound_nested": lambda: loader(Shards(functools.partial(nested, number_of)), 1),
        "late_sound_mixed": lambda: loader(InTurns(number_of, number_of)),
        "late_sound_forgiving": lambda: loader(Forgiving(want_few)),
        "late_sound_by_shard": lambda: loader(ByShard(number_of), 2),
    }


def bad(number_of, want_few, want_caption, want_title, lenient):
    return {
        "late_tenth": lambda: loader(late(want_caption)),
        "late_few_in_workers": lambda: loader(late(want_few), 2),
        "late_nothing": lambda: loader(late(want_title), 1),
        "late_nested": lambda: loader(Shards(functools.partial(nested, want_caption)), 1),
        "late_mixed": lambda: loader(InTurns(number_of, want_few)),
        "late_own_stage": lambda: loader(Shards(lambda: wds.DataPipeline(inner(), lenient))),
        "late_lenient": lambda: loader(Lenient(want_caption)),
        "late_by_shard": lambda: loader(ByShard(want_few), 2),
    }
