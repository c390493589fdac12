"""Loaders that pickle takes, and whose worker ends while it loads what it was sent."""

from __future__ import annotations

import functools
import os
import sys
import types
from multiprocessing import shared_memory
from typing import Any

import lost
import makers
import numpy
import webdataset
from makers import Held, as_is, holding, ready, spawned
from torch.utils import data
from torch.utils.data import DataLoader

# --- how objects are made -------------------------------------------------------------------------


def bound_method_that_drags_a_config() -> DataLoader:
    """As in StableCascade, once its lambdas are methods."""
    stages = webdataset.DataPipeline(
        webdataset.SimpleShardList("shard.tar"), webdataset.map(lost.Core().collate)
    )
    return spawned(stages, batch_size=None)


def error_that_needs_arguments() -> DataLoader:
    return holding({"last": lost.CannotOpenError("a", "gone")})


def new_that_needs_arguments() -> DataLoader:
    return holding([as_is, (lost.NeedsArguments("a"),)])


def text_made_of_two_things() -> DataLoader:
    return holding(lost.Token("a", 1))


def state_that_raises() -> DataLoader:
    joined = data.ConcatDataset([Held(), Held(lost.StateRaises())])
    return spawned(data.Subset(joined, [0]))


def call_that_fails() -> DataLoader:
    return spawned(Held(), worker_init_fn=functools.partial(ready, lost.Calls(int, "x")))


def endless_question() -> DataLoader:
    return holding(lost.Delegates())


def dict_that_counts() -> DataLoader:
    return holding(lost.Keyed())


def hash_before_its_name() -> DataLoader:
    return holding(lost.Node("a"))


def frozen_with_slots() -> DataLoader:
    return holding(lost.FrozenSlots("a"))


def array_that_needs_marks() -> DataLoader:
    return holding(numpy.ones(2).view(lost.Marked))


# --- where names are ------------------------------------------------------------------------------


def class_that_only_the_parent_has() -> DataLoader:
    return holding(lost.OnlyInTheParent())


def function_that_was_put_into_its_module() -> DataLoader:
    def added(x: Any) -> Any:
        return x

    added.__module__, added.__qualname__ = lost.__name__, "added"
    lost.added = added
    return spawned(Held(), collate_fn=added)


def module_that_was_made() -> DataLoader:
    module = types.ModuleType("made_at_run_time")
    exec("class Reader:\n    pass\n", vars(module))
    sys.modules[module.__name__] = module
    return holding(module.Reader())


def module_whose_folder_left_the_path() -> DataLoader:
    return holding(makers.written("aside", "left_the_path", "def read():\n    return 0\n").read)


def module_that_no_worker_may_import() -> DataLoader:
    text = "from multiprocessing import current_process\nassert 'Main' in current_process().name\n"
    module = makers.written("strict", "parents_only", f"{text}class Reader:\n    pass\n")
    sys.path.append(os.path.abspath("strict"))
    return holding(module.Reader)


def module_that_wants_a_variable() -> DataLoader:
    os.environ["LOADER_CASES_ROOT"] = "a"
    text = "import os\nROOT = os.environ['LOADER_CASES_ROOT']\ndef read():\n    return ROOT\n"
    module = makers.written("wanting", "wants_a_variable", text)
    sys.path.append(os.path.abspath("wanting"))
    del os.environ["LOADER_CASES_ROOT"]
    return holding(module.read)


# --- what is gone ---------------------------------------------------------------------------------


def file_that_is_gone() -> DataLoader:
    return holding(lost.Reader("/nowhere/at/all"))


def shared_memory_that_is_gone() -> DataLoader:
    memory = shared_memory.SharedMemory(create=True, size=8)
    memory.close()
    memory.unlink()
    return holding(memory)


# --- how workers end ------------------------------------------------------------------------------


def worker_that_leaves_in_silence() -> DataLoader:
    return holding(lost.Unlucky("leave in silence"))


def worker_that_is_interrupted() -> DataLoader:
    return holding(lost.Unlucky("interrupt"))


def worker_that_segfaults() -> DataLoader:
    return holding(lost.Unlucky("segfault"))


def worker_that_starts_another() -> DataLoader:
    return holding(lost.Starts())
