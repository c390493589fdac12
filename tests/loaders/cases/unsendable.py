"""Loaders that pickle refuses, in the parent, before a worker runs."""

from __future__ import annotations

import collections
import functools
import os
import sys
import threading
from typing import Any

import numpy
import refusing
import torch
import webdataset
from makers import Held, Stream, as_is, holding, ready, spawned
from torch import nn
from torch.utils import data
from torch.utils.data import DataLoader

_KEPT: list[object] = []  # what must stay open while a loader starts


def _kept(thing: Any) -> Any:
    _KEPT.append(thing)
    return thing


# --- functions ------------------------------------------------------------------------------------


def lambda_in_a_data_set() -> DataLoader:
    return holding(lambda x: x)


def lambda_that_collates() -> DataLoader:
    return spawned(Held(), collate_fn=lambda batch: batch)


def lambda_that_prepares_workers() -> DataLoader:
    return spawned(Held(), worker_init_fn=lambda _: None)


def lambda_in_a_partial() -> DataLoader:
    return spawned(Held(), collate_fn=functools.partial(as_is, thing=lambda: 0))


def lambda_in_a_partial_of_a_partial() -> DataLoader:
    inner = functools.partial(ready, lambda: 0)
    inner.note = "not merged with the outer one"
    return spawned(Held(), worker_init_fn=functools.partial(inner, 1))


def lambda_among_transforms() -> DataLoader:
    return holding({"train": [as_is, (as_is, [lambda x: x])], "test": [as_is]})


def lambda_as_a_key() -> DataLoader:
    return holding({lambda: 0: 1})


def lambda_in_a_default_dict() -> DataLoader:
    return holding(collections.defaultdict(lambda: 0))


def lambda_of_eval() -> DataLoader:
    return holding(eval("lambda x: x / 255"))


def lambda_below_composed_sets() -> DataLoader:
    streams = data.ChainDataset([Stream(), Stream(lambda: 0)])
    return spawned(streams, batch_size=None)


def lambda_in_a_subset() -> DataLoader:
    joined = data.ConcatDataset([Held(), data.Subset(Held(lambda: 0), [0])])
    return spawned(data.StackDataset(joined, joined))


def lambda_in_an_array() -> DataLoader:
    return holding(numpy.array([1, lambda: 0], dtype=object))


def lambda_as_a_hook() -> DataLoader:
    module = nn.Sequential(nn.Linear(2, 2))
    module[0].register_forward_hook(lambda *_: None)
    return holding(module)


def lambda_in_an_optimizer() -> DataLoader:
    optimizer = torch.optim.SGD([nn.Parameter(torch.ones(1))])
    return holding(torch.optim.lr_scheduler.LambdaLR(optimizer, lambda _: 1.0))


def lambda_on_a_tensor() -> DataLoader:
    tensor = torch.ones(1, requires_grad=True)
    tensor.register_hook(lambda gradient: gradient)
    return holding([tensor * 1])


def local_function() -> DataLoader:
    return holding(refusing.inner_function())


def local_function_with_its_lock() -> DataLoader:
    return spawned(Held(), collate_fn=refusing.closing_over(threading.Lock()))


def local_class() -> DataLoader:
    return holding(refusing.inner_class())


def object_of_a_local_class() -> DataLoader:
    return holding(refusing.inner_class()())


def local_dataclass() -> DataLoader:
    return holding(refusing.inner_values()[0])


def local_enum() -> DataLoader:
    return holding(refusing.inner_values()[1])


def local_named_tuple() -> DataLoader:
    return holding(refusing.inner_values()[2])


def object_of_a_class_made_by_type() -> DataLoader:
    return holding(refusing.inner_values()[3])


def decorated_without_wraps() -> DataLoader:
    return spawned(Held(), collate_fn=refusing.decorated)


def decorator_that_takes_the_name() -> DataLoader:
    return holding(refusing.changes(refusing.decorated_plainly))


def undecorated_function() -> DataLoader:
    return holding(refusing.counted.__wrapped__)


def redefined_function() -> DataLoader:
    return holding(refusing.first_of_its_name)


def class_that_its_decorator_lost() -> DataLoader:
    return holding(refusing.registered)


def shadowed_class() -> DataLoader:
    return holding(refusing.shadowed)


def named_tuple_of_another_name() -> DataLoader:
    return holding(refusing.Renamed(1, 2))


def enum_of_another_name() -> DataLoader:
    return holding(refusing.Colour.RED)


def class_that_says_another_module() -> DataLoader:
    made = type("Held", (), {"__module__": "nowhere.at.all"})
    return holding(made())


def bound_method_that_drags_a_file() -> DataLoader:
    return spawned(Held(), collate_fn=_kept(refusing.Trainer()).collate)


# --- webdataset -----------------------------------------------------------------------------------


def _fluid() -> Any:
    return webdataset.WebDataset("shard.tar", shardshuffle=False, empty_check=False)


def _weblo(fluid: Any) -> Any:
    return webdataset.WebLoader(
        fluid, num_workers=1, batch_size=None, multiprocessing_context="spawn"
    )


def lambda_in_a_map() -> Any:
    return _weblo(_fluid().map(lambda sample: sample))


def lambda_in_a_select() -> Any:
    return _weblo(_fluid().select(lambda sample: len(sample) > 1))


def lambda_as_a_handler() -> Any:
    return _weblo(_fluid().decode("torch", handler=lambda error: error is None))


def lambda_in_a_rule() -> Any:
    return _weblo(_fluid().map_dict(json=lambda value: value))


def lambda_in_a_tuple_of_maps() -> Any:
    return _weblo(_fluid().to_tuple("txt", "json").map_tuple(as_is, lambda x: x))


def lambdas_everywhere() -> DataLoader:
    """As StableCascade has them."""
    stages = webdataset.DataPipeline(
        webdataset.SimpleShardList("shard.tar"),
        webdataset.tarfile_to_samples(handler=lambda _: True),
        webdataset.select(functools.partial(as_is, thing=lambda: 0)),
        webdataset.map(refusing.closing_over(webdataset)),
        webdataset.map_dict(txt=lambda text: text, json=refusing.inner_function()),
    )
    return spawned(stages, batch_size=None, collate_fn=lambda batch: batch)


# --- what says no itself --------------------------------------------------------------------------


def raises_not_implemented() -> DataLoader:
    return holding(refusing.Raises(NotImplementedError("not yet")))


def raises_key_error() -> DataLoader:
    return holding(refusing.Raises(KeyError("a")))


def raises_recursion_error() -> DataLoader:
    return holding(refusing.Raises(RecursionError("too deep")))


def raises_stop_iteration() -> DataLoader:
    return holding(refusing.Raises(StopIteration()))


def raises_system_exit() -> DataLoader:
    return holding(refusing.Raises(SystemExit(3)))


def raises_assertion_error() -> DataLoader:
    return holding(refusing.Raises(AssertionError()))


def raises_memory_error() -> DataLoader:
    return holding(refusing.Raises(MemoryError()))


def reduces_to_nothing() -> DataLoader:
    return holding(refusing.Reduces(None))


def reduces_to_too_little() -> DataLoader:
    return holding(refusing.Reduces((int,)))


def reduces_to_an_unknown_name() -> DataLoader:
    return holding(refusing.Reduces("NOWHERE"))


def reduces_to_a_lambda() -> DataLoader:
    return holding(refusing.Reduces((lambda: 0, ())))


def reduces_to_no_arguments() -> DataLoader:
    return holding(refusing.Reduces((int, [1])))


def state_that_raises() -> DataLoader:
    return holding(refusing.StateRaises())


def protocol_that_is_too_new() -> DataLoader:
    return holding(refusing.ByProtocol())


def class_that_is_denied() -> DataLoader:
    return holding(refusing.Lies())


def chain_too_deep() -> DataLoader:
    return holding(functools.reduce(lambda inner, _: [inner], range(50_000), []))


def many_at_once() -> DataLoader:
    return spawned(
        Held([threading.Lock(), lambda: 0, sys]),
        collate_fn=refusing.inner_function(),
        worker_init_fn=functools.partial(ready, _kept(open(os.devnull, "rb"))),
    )
