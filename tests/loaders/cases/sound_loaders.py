"""Loaders of each kind that start: odd, and legal."""

from __future__ import annotations

import functools
import io
import multiprocessing
import os
import random
import sys
import tarfile
import threading
from collections.abc import Iterator
from typing import Any

import arriving
import makers
import torch
import travelling
import webdataset
from makers import Held, Stream, as_is, holding, ready, spawned
from torch.utils import data
from torch.utils.data import DataLoader

# --- kinds of loaders -----------------------------------------------------------------------------


def every_option() -> DataLoader:
    return spawned(
        Held(),
        num_workers=2,
        shuffle=True,
        drop_last=True,
        batch_size=2,
        prefetch_factor=4,
        persistent_workers=True,
        timeout=200,
        collate_fn=as_is,
        worker_init_fn=functools.partial(functools.partial(ready, 1), 2),
        generator=torch.Generator(),
        multiprocessing_context=multiprocessing.get_context("spawn"),
    )


class _Backwards(data.Sampler):
    """Stays in the parent, with all that could not travel."""

    def __init__(self) -> None:
        self.key = lambda n: -n
        self.lock = threading.Lock()
        self.stream = (n for n in range(3))

    def __iter__(self) -> Iterator[int]:
        return iter(sorted((0, 1), key=self.key))

    def __len__(self) -> int:
        return 2


def stream_without_batches() -> DataLoader:
    chain = data.ChainDataset([Stream(), Stream([1])])
    return spawned(chain, batch_size=None, pin_memory=True)


def sets_of_sets() -> DataLoader:
    """Sampled by what could not travel, and does not."""
    first, second = data.random_split(Held(), [1, 1], generator=torch.Generator())
    joined = data.ConcatDataset([first, second, data.Subset(Held(), [0, 1])])
    tensors = data.TensorDataset(torch.arange(4), torch.arange(4).view(2, 2).repeat(2, 1))
    inner = Held([DataLoader(Held(), batch_size=2), data.WeightedRandomSampler([0.5, 0.5], 2)])
    stacked = data.StackDataset(joined, tensors, data.Subset(inner, [0, 1, 0, 1]))
    batches = data.BatchSampler(_Backwards(), 1, drop_last=False)
    batches.note = lambda: 0
    loader = spawned(stacked, batch_sampler=batches, generator=torch.Generator(), collate_fn=as_is)
    loader.note, loader.lock = lambda: 0, threading.Lock()
    return loader


def methods_of_the_data_set() -> DataLoader:
    held = _Collating()
    return spawned(held, collate_fn=held.collate, worker_init_fn=held.prepare)


class _Collating(Held):
    def collate(self, batch: Any) -> Any:
        return batch

    def prepare(self, worker: int) -> None:
        self.worker = worker

    def __getattr__(self, name: str) -> Any:
        if name == "shape":
            return (2,)
        raise AttributeError(name)


# --- webdataset -----------------------------------------------------------------------------------


def _shard() -> str:
    with tarfile.open("shard.tar", "w") as shard:
        for key, text in ("0.txt", b"a"), ("0.json", b"[1]"):
            member = tarfile.TarInfo(key)
            member.size = len(text)
            shard.addfile(member, io.BytesIO(text))
    return "shard.tar"


def _keep(sample: Any, *, least: int = 0) -> bool:
    return len(sample) > least


def pipeline_of_stages() -> DataLoader:
    stages = webdataset.DataPipeline(
        webdataset.SimpleShardList(_shard()),
        webdataset.split_by_worker,
        webdataset.tarfile_to_samples(handler=webdataset.warn_and_continue),
        webdataset.shuffle(10, rng=random.Random(1)),
        webdataset.select(functools.partial(_keep, least=1)),
        webdataset.map(as_is, handler=webdataset.reraise_exception),
        webdataset.to_tuple("txt", "json"),
        webdataset.map_tuple(as_is, travelling.Augment()),
        webdataset.batched(1, partial=True),
    )
    return spawned(stages, batch_size=None)


def fluid_pipeline() -> Any:
    fluid = (
        webdataset.WebDataset(
            _shard(), shardshuffle=False, handler=webdataset.ignore_and_continue, empty_check=False
        )
        .shuffle(4)
        .decode("torch", handler=webdataset.warn_and_stop)
        .map_dict(json=functools.partial(as_is), txt=travelling.decorated)
        .select(_keep)
        .to_tuple("txt", "json")
    )
    return webdataset.WebLoader(
        fluid, num_workers=1, batch_size=None, multiprocessing_context="spawn"
    ).map(lambda batch: batch)  # a stage of the parent's


def module_that_asks_for_its_parent() -> DataLoader:
    """Starts: a worker has no parent yet while it loads; multiprocessing sets it afterwards."""
    text = "import multiprocessing\nassert multiprocessing.parent_process() is None\n"
    module = makers.written("asking", "asks_for_its_parent", f"{text}def read():\n    return 0\n")
    sys.path.append(os.path.abspath("asking"))
    return holding(module.read)


def descriptor_of_its_own() -> DataLoader:
    """Starts: multiprocessing hands descriptors over, for whoever asks in `__reduce__`."""
    return holding(arriving.SharesDescriptor(os.open(os.devnull, os.O_RDONLY)))
