"""Loaders that pickle refuses, in the parent, before a worker runs."""

from __future__ import annotations

import collections
import functools
import os
import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy
import refusing
import torch
import webdataset
from makers import Held, Stream, as_is, holding, kept, ready, spawned
from torch import nn
from torch.utils import data
from torch.utils.data import DataLoader

# --- functions ------------------------------------------------------------------------------------


def lambda_in_a_partial_of_a_partial() -> DataLoader:
    inner = functools.partial(ready, lambda: 0)
    inner.note = "not merged with the outer one"
    return spawned(Held(), worker_init_fn=functools.partial(inner, 1))


def lambda_below_composed_sets() -> DataLoader:
    streams = data.ChainDataset([Stream(), Stream(lambda: 0)])
    return spawned(streams, batch_size=None)


def lambda_in_a_subset() -> DataLoader:
    joined = data.ConcatDataset([Held(), data.Subset(Held(lambda: 0), [0])])
    return spawned(data.StackDataset(joined, joined))


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


def class_that_says_another_module() -> DataLoader:
    made = type("Held", (), {"__module__": "nowhere.at.all"})
    return holding(made())


# --- webdataset -----------------------------------------------------------------------------------


def _fluid() -> Any:
    return webdataset.WebDataset("shard.tar", shardshuffle=False, empty_check=False)


def _weblo(fluid: Any) -> Any:
    return webdataset.WebLoader(
        fluid, num_workers=1, batch_size=None, multiprocessing_context="spawn"
    )


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


CASES: dict[str, Callable[[], Any]] = {
    # functions
    "lambda_in_a_data_set": lambda: holding(lambda x: x),
    "lambda_that_collates": lambda: spawned(Held(), collate_fn=lambda batch: batch),
    "lambda_that_prepares_workers": lambda: spawned(Held(), worker_init_fn=lambda _: None),
    "lambda_in_a_partial": lambda: spawned(
        Held(), collate_fn=functools.partial(as_is, thing=lambda: 0)
    ),
    "lambda_among_transforms": lambda: holding(
        {"train": [as_is, (as_is, [lambda x: x])], "test": [as_is]}
    ),
    "lambda_as_a_key": lambda: holding({lambda: 0: 1}),
    "lambda_in_a_default_dict": lambda: holding(collections.defaultdict(lambda: 0)),
    "lambda_of_eval": lambda: holding(eval("lambda x: x / 255")),
    "lambda_in_an_array": lambda: holding(numpy.array([1, lambda: 0], dtype=object)),
    "local_function": lambda: holding(refusing.inner_function()),
    "local_function_with_its_lock": lambda: spawned(
        Held(), collate_fn=refusing.closing_over(threading.Lock())
    ),
    "local_class": lambda: holding(refusing.inner_class()),
    "object_of_a_local_class": lambda: holding(refusing.inner_class()()),
    "local_dataclass": lambda: holding(refusing.inner_values()[0]),
    "local_enum": lambda: holding(refusing.inner_values()[1]),
    "local_named_tuple": lambda: holding(refusing.inner_values()[2]),
    "object_of_a_class_made_by_type": lambda: holding(refusing.inner_values()[3]),
    "decorated_without_wraps": lambda: spawned(Held(), collate_fn=refusing.decorated),
    "decorator_that_takes_the_name": lambda: holding(refusing.changes(refusing.decorated_plainly)),
    "undecorated_function": lambda: holding(refusing.counted.__wrapped__),
    "redefined_function": lambda: holding(refusing.first_of_its_name),
    "class_that_its_decorator_lost": lambda: holding(refusing.registered),
    "shadowed_class": lambda: holding(refusing.shadowed),
    "named_tuple_of_another_name": lambda: holding(refusing.Renamed(1, 2)),
    "enum_of_another_name": lambda: holding(refusing.Colour.RED),
    "bound_method_that_drags_a_file": lambda: spawned(
        Held(), collate_fn=kept(refusing.Trainer()).collate
    ),
    # webdataset
    "lambda_in_a_map": lambda: _weblo(_fluid().map(lambda sample: sample)),
    "lambda_in_a_select": lambda: _weblo(_fluid().select(lambda sample: len(sample) > 1)),
    "lambda_as_a_handler": lambda: _weblo(
        _fluid().decode("torch", handler=lambda error: error is None)
    ),
    "lambda_in_a_rule": lambda: _weblo(_fluid().map_dict(json=lambda value: value)),
    "lambda_in_a_tuple_of_maps": lambda: _weblo(
        _fluid().to_tuple("txt", "json").map_tuple(as_is, lambda x: x)
    ),
    # what says no itself
    "raises_not_implemented": lambda: holding(refusing.Raises(NotImplementedError("not yet"))),
    "raises_key_error": lambda: holding(refusing.Raises(KeyError("a"))),
    "raises_recursion_error": lambda: holding(refusing.Raises(RecursionError("too deep"))),
    "raises_stop_iteration": lambda: holding(refusing.Raises(StopIteration())),
    "raises_system_exit": lambda: holding(refusing.Raises(SystemExit(3))),
    "raises_assertion_error": lambda: holding(refusing.Raises(AssertionError())),
    "raises_memory_error": lambda: holding(refusing.Raises(MemoryError())),
    "reduces_to_nothing": lambda: holding(refusing.Reduces(None)),
    "reduces_to_too_little": lambda: holding(refusing.Reduces((int,))),
    "reduces_to_an_unknown_name": lambda: holding(refusing.Reduces("NOWHERE")),
    "reduces_to_a_lambda": lambda: holding(refusing.Reduces((lambda: 0, ()))),
    "reduces_to_no_arguments": lambda: holding(refusing.Reduces((int, [1]))),
    "state_that_raises": lambda: holding(refusing.StateRaises()),
    "protocol_that_is_too_new": lambda: holding(refusing.ByProtocol()),
    "class_that_is_denied": lambda: holding(refusing.Lies()),
    "chain_too_deep": lambda: holding(
        functools.reduce(lambda inner, _: [inner], range(50_000), [])
    ),
    "many_at_once": lambda: spawned(
        Held([threading.Lock(), lambda: 0, sys]),
        collate_fn=refusing.inner_function(),
        worker_init_fn=functools.partial(ready, kept(open(os.devnull, "rb"))),  # noqa: SIM115  it stays open
    ),
}
globals().update(CASES)  # each is named as module:name
