"""Loaders of which something else is said than what really happens. Each is to leave this file."""

from __future__ import annotations

import os
import sys

import arriving
import makers
import torch
from makers import holding
from torch.utils.data import DataLoader


def module_that_asks_for_its_parent() -> DataLoader:
    """Starts: a worker has no parent yet while it loads; multiprocessing sets it afterwards."""
    text = "import multiprocessing\nassert multiprocessing.parent_process() is None\n"
    module = makers.written("asking", "asks_for_its_parent", f"{text}def read():\n    return 0\n")
    sys.path.append(os.path.abspath("asking"))
    return holding(module.read)


def descriptor_of_its_own() -> DataLoader:
    """Starts: multiprocessing hands descriptors over, for whoever asks in `__reduce__`."""
    return holding(arriving.SharesDescriptor(os.open(os.devnull, os.O_RDONLY)))


def tensor_made_on_the_way() -> DataLoader:
    """Dies: torch shares the memory of a tensor that is gone before the worker takes it over."""
    return holding(arriving.MakesTensors())


def generator_of_torch() -> DataLoader:
    """Dies, for the same reason: its state is a tensor that is made while it is pickled."""
    return holding(torch.Generator())
