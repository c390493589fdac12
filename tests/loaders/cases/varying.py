"""Loaders that start or not, by the version of Python or by the system: whatever really happens."""

from __future__ import annotations

import enum
import functools
import itertools
import multiprocessing
import operator
import struct
import tempfile
import time
import weakref
from collections.abc import Callable
from typing import Any

import arriving
import numpy
import torch
import travelling
from makers import Held, Using, as_is, asked, holding, spawned
from torch.utils.data import DataLoader

ACQUIRE = operator.methodcaller("acquire", False)  # noqa: FBT003  as a lock takes it
Moment = enum.Enum("Moment", {"NOW": time.time_ns()})


def lock_for_forking() -> DataLoader:
    method = "fork" if "fork" in multiprocessing.get_all_start_methods() else "spawn"
    return spawned(Using(multiprocessing.get_context(method).Lock(), ACQUIRE))


def config_with_attributes_of_its_own() -> DataLoader:
    config = travelling.Config(a=1)
    vars(config)["path"] = "a"
    return holding(config)


CASES: dict[str, Callable[[], Any]] = {
    "iterators": lambda: holding(
        itertools.chain([1], [2]), itertools.count(3), itertools.cycle([1])
    ),
    "lock_of_the_default_context": lambda: spawned(Using(multiprocessing.Lock(), ACQUIRE)),
    "queue_of_the_default_context": lambda: spawned(
        Using(multiprocessing.Queue(), operator.methodcaller("put", 1))
    ),
    "value_of_the_default_context": lambda: spawned(Using(multiprocessing.Value("i", 1), ACQUIRE)),
    "event_of_the_default_context": lambda: spawned(
        Held(), worker_init_fn=functools.partial(asked, multiprocessing.Event())
    ),
    "cached_property": lambda: holding(functools.cached_property(as_is)),
    "static_method": lambda: holding(vars(travelling.Augment)["static"]),
    "enum_of_this_moment": lambda: holding(Moment.NOW),
    "chain_that_is_deep": lambda: holding(
        functools.reduce(lambda inner, _: [inner], range(3_000), [])
    ),
    "tensors_of_odd_kinds": lambda: holding(
        torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.qint8),
        torch.ones(2, device="meta"),
        torch.nested.nested_tensor([torch.ones(1), torch.ones(2)]),
    ),
    "scripted_module": lambda: holding(torch.jit.trace(torch.nn.ReLU(), torch.ones(1))),
    "weak_set": lambda: holding(weakref.WeakSet()),
    "struct_of_bytes": lambda: holding(struct.Struct("<I")),
    "temporary_folder": lambda: holding(tempfile.TemporaryDirectory()),
    "config_with_attributes": lambda: holding(travelling.Config(a=1)),
    "iterator_of_numpy": lambda: holding(numpy.nditer(numpy.ones(2))),
    "types_of_the_interpreter": lambda: holding(
        type(None), type(...), type(as_is), type(travelling.Augment().method)
    ),
    # Dies: torch shares the memory of a tensor that is gone before the worker takes it over.
    "tensor_made_on_the_way": lambda: holding(arriving.MakesTensors()),
    # Dies, for the same reason: its state is a tensor that is made while it is pickled.
    "generator_of_torch": lambda: holding(torch.Generator()),
}
globals().update(CASES)  # each is named as module:name
