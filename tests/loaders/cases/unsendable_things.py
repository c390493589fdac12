"""Loaders that pickle refuses, in the parent: for what belongs to this process alone."""

from __future__ import annotations

import argparse
import asyncio
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
from typing import Any

import numpy
import refusing
import torch
from makers import Held, as_is, holding, ready, spawned
from PIL import Image
from torch import nn
from torch.utils.data import DataLoader

_KEPT: list[object] = []  # what must stay open while a loader starts


def _kept(thing: Any) -> Any:
    _KEPT.append(thing)
    return thing


# --- what belongs to this process -----------------------------------------------------------------


def lock() -> DataLoader:
    return holding(threading.Lock())


def lock_below_slots() -> DataLoader:
    return holding(refusing.Slots())


def lock_round_a_cycle() -> DataLoader:
    return holding(refusing.Cycle())


def second_lock() -> DataLoader:
    return holding(refusing.StateHolds())


def method_of_a_lock() -> DataLoader:
    return holding({threading.Lock().acquire})


def signals_of_threads() -> DataLoader:
    return holding(threading.Event())


def values_of_threads() -> DataLoader:
    return holding(threading.local())


def thread() -> DataLoader:
    return holding(threading.Thread(target=ready))


def executor() -> DataLoader:
    return holding(_kept(concurrent.futures.ThreadPoolExecutor(1)))


def pool() -> DataLoader:
    made = _kept(multiprocessing.pool.ThreadPool(1))
    made.terminate()
    return holding(made)


def queue_of_threads() -> DataLoader:
    return holding(queue.Queue())


def simple_queue_of_threads() -> DataLoader:
    return holding(queue.SimpleQueue())


def started_process() -> DataLoader:
    with subprocess.Popen([sys.executable, "-c", ""], stdin=subprocess.PIPE) as started:
        return holding(started)


def open_file() -> DataLoader:
    return holding(_kept(open(os.devnull, encoding="utf-8")))


def closed_file() -> DataLoader:
    with open(os.devnull, "rb") as file:
        return holding(file)


def closed_memory() -> DataLoader:
    memory = io.BytesIO(b"a")
    memory.close()
    return holding(memory)


def standard_output() -> DataLoader:
    return holding(sys.stderr)


def temporary_file() -> DataLoader:
    return holding(_kept(tempfile.TemporaryFile()))


def archive() -> DataLoader:
    with tarfile.open("some.tar", "w") as archive:
        return holding(archive)


def zip_archive() -> DataLoader:
    with zipfile.ZipFile("some.zip", "w") as archive:
        return holding(archive)


def compressed_file() -> DataLoader:
    with gzip.open("some.gz", "w") as file:
        return holding(file)


def mapped_file() -> DataLoader:
    return holding(_kept(mmap.mmap(-1, 8)))


def entries_of_a_folder() -> DataLoader:
    with os.scandir() as entries:
        return holding(list(entries))


def environment() -> DataLoader:
    return holding(os.environ)


def sqlite_connection() -> DataLoader:
    return holding(_kept(sqlite3.connect(":memory:")))


def hdf5_file() -> DataLoader:
    import h5py

    return holding(_kept(h5py.File("some.h5", "w", driver="core", backing_store=False)))


def lmdb_environment() -> DataLoader:
    import lmdb

    return holding(_kept(lmdb.open("some.lmdb", lock=False)))


def archive_of_numpy() -> DataLoader:
    numpy.savez("some.npz", a=numpy.ones(1))
    return holding(_kept(numpy.load("some.npz")))


def closed_image() -> DataLoader:
    Image.new("RGB", (4, 4)).save("closed.png")
    image = Image.open("closed.png")
    image.close()
    return holding(image)


def handler_of_logs() -> DataLoader:
    return holding(logging.StreamHandler())


def security_context() -> DataLoader:
    return holding(ssl.create_default_context())


def event_loop() -> DataLoader:
    loop = asyncio.new_event_loop()
    loop.close()
    return holding(loop)


def system_random() -> DataLoader:
    return holding(random.SystemRandom())


# --- what runs, and what points -------------------------------------------------------------------


def generator() -> DataLoader:
    return holding(number for number in range(3))


def generator_of_a_method() -> DataLoader:
    return holding(refusing.Dataset())


def asynchronous_generator() -> DataLoader:
    async def numbers() -> Any:
        yield 1

    return holding(numbers())


def iterator_of_a_loader() -> DataLoader:
    return holding(iter(DataLoader(Held())))


def module() -> DataLoader:
    return holding(torch)


def module_as_a_backend() -> DataLoader:
    return spawned(Held(), collate_fn=functools.partial(as_is, numpy))


def code() -> DataLoader:
    return holding(as_is.__code__)


def frame() -> DataLoader:
    return holding(sys._getframe())


def trace() -> DataLoader:
    try:
        int("a")
    except ValueError as error:
        return holding(error.__traceback__)


def cell() -> DataLoader:
    return holding(types.CellType(1))


def property_object() -> DataLoader:
    return holding(property(as_is))


def proxy_of_a_dict() -> DataLoader:
    return holding(types.MappingProxyType({"a": 1}))


def view_of_a_dict() -> DataLoader:
    return holding({"a": 1}.keys())


def memory_view() -> DataLoader:
    return holding(memoryview(b"a"))


def weak_reference() -> DataLoader:
    return holding(weakref.ref(_kept(Held())))


def weak_dict() -> DataLoader:
    return holding(weakref.WeakValueDictionary())


def context_variable() -> DataLoader:
    return holding(contextvars.ContextVar("a"))


def pointer() -> DataLoader:
    return holding(ctypes.pointer(ctypes.c_int(1)))


def match_of_a_pattern() -> DataLoader:
    return holding(re.match("a", "a"))


def digest() -> DataLoader:
    return holding(hashlib.sha256())


def compressor() -> DataLoader:
    return holding(zlib.compressobj())


def reader_of_tables() -> DataLoader:
    return holding(csv.reader([]))


def parser_of_arguments() -> DataLoader:
    return holding(argparse.ArgumentParser())


def computed_tensor() -> DataLoader:
    return holding(torch.ones(2, requires_grad=True) * 2)


def computed_tensor_of_a_class() -> DataLoader:
    weight = nn.Linear(2, 2)
    weight.scale = weight.weight * 2
    return holding(weight)


def scripted_function() -> DataLoader:
    return holding(torch.jit.trace(torch.relu, torch.ones(1)))
