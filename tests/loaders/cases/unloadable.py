"""Loaders that pickle takes, and whose worker ends while it loads what it was sent."""

from __future__ import annotations

import functools
import os
import sys
import types
from collections.abc import Callable
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


def state_that_raises() -> DataLoader:
    joined = data.ConcatDataset([Held(), Held(lost.StateRaises())])
    return spawned(data.Subset(joined, [0]))


# --- where names are ------------------------------------------------------------------------------


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


def shared_memory_that_is_gone() -> DataLoader:
    memory = shared_memory.SharedMemory(create=True, size=8)
    memory.close()
    memory.unlink()
    return holding(memory)


CASES: dict[str, Callable[[], Any]] = {
    # how objects are made
    "error_that_needs_arguments": lambda: holding({"last": lost.CannotOpenError("a", "gone")}),
    "new_that_needs_arguments": lambda: holding([as_is, (lost.NeedsArguments("a"),)]),
    "text_made_of_two_things": lambda: holding(lost.Token("a", 1)),
    "call_that_fails": lambda: spawned(
        Held(), worker_init_fn=functools.partial(ready, lost.Calls(int, "x"))
    ),
    "endless_question": lambda: holding(lost.Delegates()),
    "dict_that_counts": lambda: holding(lost.Keyed()),
    "hash_before_its_name": lambda: holding(lost.Node("a")),
    "frozen_with_slots": lambda: holding(lost.FrozenSlots("a")),
    "array_that_needs_marks": lambda: holding(numpy.ones(2).view(lost.Marked)),
    # where names are
    "class_that_only_the_parent_has": lambda: holding(lost.OnlyInTheParent()),
    "module_whose_folder_left_the_path": lambda: holding(
        makers.written("aside", "left_the_path", "def read():\n    return 0\n").read
    ),
    # what is gone
    "file_that_is_gone": lambda: holding(lost.Reader("/nowhere/at/all")),
    # how workers end
    "worker_that_leaves_in_silence": lambda: holding(lost.Unlucky("leave in silence")),
    "worker_that_is_interrupted": lambda: holding(lost.Unlucky("interrupt")),
    "worker_that_segfaults": lambda: holding(lost.Unlucky("segfault")),
    "worker_that_starts_another": lambda: holding(lost.Starts()),
}
globals().update(CASES)  # each is named as module:name
