"""Loaders that pickle refuses, in the parent: for what belongs to this process alone."""

# ruff: noqa: SIM115  what is opened is kept open, or ended by the case

from __future__ import annotations

import argparse
import asyncio
import bz2
import concurrent.futures
import contextvars
import csv
import ctypes
import functools
import gzip
import hashlib
import io
import logging
import mmap
import multiprocessing.pool
import os
import queue
import random
import re
import sqlite3
import ssl
import subprocess
import sys
import tarfile
import tempfile
import threading
import types
import weakref
import zipfile
import zlib
from collections.abc import Callable
from typing import Any

import numpy
import refusing
import torch
from makers import Held, as_is, holding, kept, ready, spawned
from PIL import Image
from torch import nn
from torch.utils.data import DataLoader


def _ended(opened: Any) -> Any:
    """Give what can be closed or waited for, once it has been."""
    with opened as thing:
        return thing


def _taken_apart(file: Any) -> Any:
    kept(file.detach())
    return file


# --- what belongs to this process -----------------------------------------------------------------


def pool() -> DataLoader:
    made = kept(multiprocessing.pool.ThreadPool(1))
    made.terminate()
    return holding(made)


def entries_of_a_folder() -> DataLoader:
    with os.scandir() as entries:
        return holding(list(entries))


def hdf5_file() -> DataLoader:
    import h5py

    return holding(kept(h5py.File("some.h5", "w", driver="core", backing_store=False)))


def lmdb_environment() -> DataLoader:
    import lmdb

    return holding(kept(lmdb.open("some.lmdb", lock=False)))


def archive_of_numpy() -> DataLoader:
    numpy.savez("some.npz", a=numpy.ones(1))
    return holding(kept(numpy.load("some.npz")))


def closed_image() -> DataLoader:
    Image.new("RGB", (4, 4)).save("closed.png")
    image = Image.open("closed.png")
    image.close()
    return holding(image)


def event_loop() -> DataLoader:
    loop = asyncio.new_event_loop()
    loop.close()
    return holding(loop)


# --- what runs, and what points -------------------------------------------------------------------


def asynchronous_generator() -> DataLoader:
    async def numbers() -> Any:
        yield 1

    return holding(numbers())


def trace() -> DataLoader:
    try:
        int("a")
    except ValueError as error:
        return holding(error.__traceback__)


def computed_tensor_of_a_class() -> DataLoader:
    weight = nn.Linear(2, 2)
    weight.scale = weight.weight * 2
    return holding(weight)


CASES: dict[str, Callable[[], Any]] = {
    # what belongs to this process
    "lock": lambda: holding(threading.Lock()),
    "lock_below_slots": lambda: holding(refusing.Slots()),
    "lock_round_a_cycle": lambda: holding(refusing.Cycle()),
    "second_lock": lambda: holding(refusing.StateHolds()),
    "method_of_a_lock": lambda: holding({threading.Lock().acquire}),
    "signals_of_threads": lambda: holding(threading.Event()),
    "values_of_threads": lambda: holding(threading.local()),
    "thread": lambda: holding(threading.Thread(target=ready)),
    "executor": lambda: holding(kept(concurrent.futures.ThreadPoolExecutor(1))),
    "queue_of_threads": lambda: holding(queue.Queue()),
    "simple_queue_of_threads": lambda: holding(queue.SimpleQueue()),
    "open_file": lambda: holding(kept(open(os.devnull, encoding="utf-8"))),
    "standard_output": lambda: holding(sys.stderr),
    "temporary_file": lambda: holding(kept(tempfile.TemporaryFile())),
    "mapped_file": lambda: holding(kept(mmap.mmap(-1, 8))),
    "started_process": lambda: holding(
        _ended(subprocess.Popen([sys.executable, "-c", ""], stdin=subprocess.PIPE))
    ),
    "closed_file": lambda: holding(_ended(open(os.devnull, "rb"))),
    "closed_memory": lambda: holding(_ended(io.BytesIO(b"a"))),
    "archive": lambda: holding(_ended(tarfile.open("some.tar", "w"))),
    "zip_archive": lambda: holding(_ended(zipfile.ZipFile("some.zip", "w"))),
    "compressed_file": lambda: holding(_ended(gzip.open("some.gz", "w"))),
    "compressed_file_that_is_open": lambda: holding(kept(gzip.open("open.gz", "w"))),
    "compressed_text": lambda: holding(kept(bz2.open("some.bz2", "wt"))),
    "file_that_was_taken_apart": lambda: holding(_taken_apart(open("some.txt", "w"))),
    "environment": lambda: holding(os.environ),
    "sqlite_connection": lambda: holding(kept(sqlite3.connect(":memory:"))),
    "handler_of_logs": lambda: holding(logging.StreamHandler()),
    "security_context": lambda: holding(ssl.create_default_context()),
    "system_random": lambda: holding(random.SystemRandom()),
    # what runs, and what points
    "generator": lambda: holding(number for number in range(3)),
    "generator_of_a_method": lambda: holding(refusing.Dataset()),
    "iterator_of_a_loader": lambda: holding(iter(DataLoader(Held()))),
    "module": lambda: holding(torch),
    "module_as_a_backend": lambda: spawned(Held(), collate_fn=functools.partial(as_is, numpy)),
    "code": lambda: holding(as_is.__code__),
    "frame": lambda: holding(sys._getframe()),
    "cell": lambda: holding(types.CellType(1)),
    "property_object": lambda: holding(property(as_is)),
    "proxy_of_a_dict": lambda: holding(types.MappingProxyType({"a": 1})),
    "view_of_a_dict": lambda: holding({"a": 1}.keys()),
    "memory_view": lambda: holding(memoryview(b"a")),
    "weak_reference": lambda: holding(weakref.ref(kept(Held()))),
    "weak_dict": lambda: holding(weakref.WeakValueDictionary()),
    "context_variable": lambda: holding(contextvars.ContextVar("a")),
    "pointer": lambda: holding(ctypes.pointer(ctypes.c_int(1))),
    "match_of_a_pattern": lambda: holding(re.match("a", "a")),
    "digest": lambda: holding(hashlib.sha256()),
    "compressor": lambda: holding(zlib.compressobj()),
    "reader_of_tables": lambda: holding(csv.reader([])),
    "parser_of_arguments": lambda: holding(argparse.ArgumentParser()),
    "computed_tensor": lambda: holding(torch.ones(2, requires_grad=True) * 2),
    "scripted_function": lambda: holding(torch.jit.trace(torch.relu, torch.ones(1))),
}
globals().update(CASES)  # each is named as module:name
