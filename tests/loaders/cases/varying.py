"""Loaders that start or not, by the version of Python or by the system: whatever really happens."""

from __future__ import annotations

import enum
import functools
import itertools
import multiprocessing
import struct
import tempfile
import time
import weakref

import arriving
import numpy
import torch
import travelling
from makers import Held, as_is, holding, spawned
from torch.utils.data import DataLoader

Moment = enum.Enum("Moment", {"NOW": time.time_ns()})


def iterators() -> DataLoader:
    return holding(itertools.chain([1], [2]), itertools.count(3), itertools.cycle([1]))


def lock_of_the_default_context() -> DataLoader:
    return holding(multiprocessing.Lock())


def queue_of_the_default_context() -> DataLoader:
    return holding(multiprocessing.Queue())


def value_of_the_default_context() -> DataLoader:
    return holding(multiprocessing.Value("i", 1))


def event_of_the_default_context() -> DataLoader:
    return spawned(Held(), worker_init_fn=functools.partial(as_is, multiprocessing.Event()))


def lock_for_forking() -> DataLoader:
    method = "fork" if "fork" in multiprocessing.get_all_start_methods() else "spawn"
    return holding(multiprocessing.get_context(method).Lock())


def cached_property() -> DataLoader:
    return holding(functools.cached_property(as_is))


def static_method() -> DataLoader:
    return holding(vars(travelling.Augment)["static"])


def enum_of_this_moment() -> DataLoader:
    return holding(Moment.NOW)


def chain_that_is_deep() -> DataLoader:
    return holding(functools.reduce(lambda inner, _: [inner], range(3_000), []))


def tensors_of_odd_kinds() -> DataLoader:
    return holding(
        torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.qint8),
        torch.ones(2, device="meta"),
        torch.nested.nested_tensor([torch.ones(1), torch.ones(2)]),
    )


def scripted_module() -> DataLoader:
    return holding(torch.jit.trace(torch.nn.ReLU(), torch.ones(1)))


def weak_set() -> DataLoader:
    return holding(weakref.WeakSet())


def struct_of_bytes() -> DataLoader:
    return holding(struct.Struct("<I"))


def temporary_folder() -> DataLoader:
    return holding(tempfile.TemporaryDirectory())


def config_with_attributes() -> DataLoader:
    return holding(travelling.Config(a=1))


def config_with_attributes_of_its_own() -> DataLoader:
    config = travelling.Config(a=1)
    vars(config)["path"] = "a"
    return holding(config)


def iterator_of_numpy() -> DataLoader:
    return holding(numpy.nditer(numpy.ones(2)))


def types_of_the_interpreter() -> DataLoader:
    return holding(type(None), type(...), type(as_is), type(travelling.Augment().method))


def tensor_made_on_the_way() -> DataLoader:
    """Dies: torch shares the memory of a tensor that is gone before the worker takes it over."""
    return holding(arriving.MakesTensors())


def generator_of_torch() -> DataLoader:
    """Dies, for the same reason: its state is a tensor that is made while it is pickled."""
    return holding(torch.Generator())
