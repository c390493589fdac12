"""Loaders that start, with values of each kind: many in each, since a start costs seconds."""

from __future__ import annotations

import array
import ast
import asyncio
import builtins
import collections
import datetime
import decimal
import fractions
import functools
import inspect
import io
import ipaddress
import json
import logging
import math
import multiprocessing
import operator
import os
import pathlib
import queue
import random
import re
import socket
import statistics
import string
import sys
import tarfile
import tempfile
import time
import types
import typing
import uuid
import zipfile
from multiprocessing import shared_memory
from typing import Any

import arriving
import makers
import numpy
import torch
import travelling
from makers import Held, as_is, holding, kept
from PIL import Image
from torch import nn
from torch.utils.data import DataLoader


def _tensors() -> dict[str, Any]:
    storage = torch.arange(6.0)
    hooked = nn.Linear(2, 2)
    hooked.register_forward_hook(as_is)
    buffered = nn.BatchNorm1d(2)
    return {
        "plain": torch.ones(3),
        "leaf": torch.ones(3, requires_grad=True),
        "computed, and detached": (torch.ones(1, requires_grad=True) * 2).detach(),
        "parameter": nn.Parameter(torch.ones(2)),
        "sparse": torch.eye(3).to_sparse(),
        "compressed": torch.eye(3).to_sparse_csr(),
        "bool": torch.tensor([True]),
        "half": torch.ones(2, dtype=torch.bfloat16),
        "complex": torch.ones(2, dtype=torch.complex64),
        "empty": torch.empty(0, 3),
        "a number": torch.tensor(1),
        "view": storage[2:],
        "same storage": [storage, storage.view(2, 3).t(), storage[::2]],
        "shared": torch.ones(2).share_memory_(),
        "stretched": torch.ones(1).expand(1_000, 1_000),
        "storage": storage.untyped_storage(),
        "from numpy": torch.from_numpy(numpy.ones(2)),
        "tagged": torch.ones(2).as_subclass(travelling.Tagged),
        "names of torch": [torch.float16, torch.Size([1, 2]), torch.device("cpu")],
        "finfo and functions": [torch.nn.functional.relu, torch.add, torch.Tensor.add],
        "modules": [hooked, nn.Sequential(buffered, nn.Dropout()), nn.LSTM(2, 2)],
        "optimizer": torch.optim.Adam(hooked.parameters()),
    }


def _arrays_and_images() -> dict[str, Any]:
    Image.new("RGB", (4, 4)).save("image.png")
    opened = kept(Image.open("image.png"))
    fixed = numpy.arange(4)
    fixed.flags.writeable = False
    mapped = numpy.memmap("mapped.bin", dtype="u1", mode="w+", shape=(4,))
    return {
        "structured": numpy.zeros(2, dtype=[("key", "U4"), ("size", "<i8", (2,))]),
        "record": numpy.rec.array([(1, "a")], names="n,s"),
        "objects": numpy.array([{"a": 1}, None, travelling.decorated], dtype=object),
        "mapped": mapped,
        "fixed": fixed,
        "a number": numpy.array(3),
        "scalar": numpy.float32(1.5),
        "fortran": numpy.asfortranarray(numpy.ones((3, 2))),
        "view": numpy.arange(10)[::-2],
        "stretched": numpy.broadcast_to(numpy.ones(1), (1_000, 1_000)),
        "dates": numpy.array(["2024-01-01"], dtype="datetime64[D]"),
        "masked": numpy.ma.masked_array([1, 2], [True, False]),
        "marked": numpy.ones(2).view(travelling.Marked),
        "random": [numpy.random.default_rng(1), numpy.random.RandomState(1)],
        "functions": [numpy.add, numpy.mean, numpy.dtype("f4"), numpy.float32],
        "images": [Image.new("P", (2, 2)), opened, Image.Resampling.BICUBIC],
    }


def values_of_python() -> DataLoader:
    cycle: list[object] = []
    cycle.append({"again": cycle})
    deep = functools.reduce(lambda inner, _: [inner], range(80), [])
    return holding(
        {
            "nothing": [None, ..., NotImplemented, True, 1 << 80, 1j, "\ud800", b"\0", math.nan],
            "containers": [{1}, frozenset({2}), bytearray(3), range(4), deep, cycle],
            "paths": [
                pathlib.Path("a/b"),
                pathlib.PurePosixPath("a"),
                pathlib.PureWindowsPath("a"),
            ],
            "patterns": [re.compile("(a)|b", re.IGNORECASE), string.Template("$a")],
            "times": [
                datetime.datetime(2024, 1, 1, tzinfo=datetime.timezone.utc),
                datetime.timedelta(1),
                datetime.timezone.utc,
                time.localtime(),
                os.times(),
            ],
            "numbers": [decimal.Decimal("1.5"), fractions.Fraction(1, 3), statistics.NormalDist()],
            "addresses": [ipaddress.ip_network("10.0.0.0/8"), uuid.UUID(int=3)],
            "logging": [logging.getLogger("a.b"), logging.Formatter(), logging.INFO],
            "random": random.Random(3),
            "collections": [
                collections.OrderedDict(a=1),
                collections.Counter("aab"),
                collections.ChainMap({"a": 1}, {}),
                collections.deque([1, 2], maxlen=3),
                collections.defaultdict(list, a=[1]),
                collections.UserDict(a=1),
                types.SimpleNamespace(a=1),
                array.array("i", [1, 2]),
            ],
            "functions": [
                len,
                print,
                [].append,
                str.upper,
                "a".join,
                operator.itemgetter(1, 2),
                operator.attrgetter("a.b"),
                operator.methodcaller("get", "a"),
                math.sqrt,
                os.path.join,
                json.dumps,
            ],
            "memory": [io.BytesIO(b"a"), io.StringIO("a")],
            "files": [os.stat("."), tarfile.TarInfo("a"), zipfile.ZipInfo("a")],
            "typing": [
                list[int],
                dict[str, list[int]],
                int | None,
                typing.Optional[int],  # noqa: UP045  as older code has it
                typing.Literal["a"],
                typing.Any,
                typing.Callable[[int], str],
            ],
            "code": [ast.parse("a = 1"), inspect.signature(as_is), json.JSONEncoder()],
            "errors": [ValueError("a", 1), KeyError("a"), OSError(2, "a"), _unicode_error()],
            "the rest": [
                slice(1, 2),
                [enumerate([1]), zip([1], [2], strict=True), map(as_is, [1]), reversed([1])],
                functools.partialmethod(as_is, 1),
                string.Formatter(),
                tempfile.SpooledTemporaryFile(),
                object(),
                iter([1, 2]),
                types.GenericAlias(list, int),
                builtins.__dict__["int"],
                sys.version_info.major,
                sys.byteorder,
                queue.Empty("a"),
                logging.getLevelName(10),
                asyncio.CancelledError(),
            ],
        }
    )


def _unicode_error() -> UnicodeDecodeError:
    return UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid")


def _functions() -> dict[str, Any]:
    augment = travelling.Augment()
    return {
        "wrapped": travelling.decorated,
        "remembered": travelling.remembered,
        "dispatched": travelling.dispatched,
        "managed": travelling.managed,
        "without gradients": travelling.without_gradients,
        "defined again": travelling.redefined,
        "partials": functools.partial(functools.partial(as_is, thing=[1]), thing=augment),
        "bound": [augment.method, augment.of_class, augment.static, augment],
        "bound below": [Held([1]).__getitem__, travelling.Split.TRAIN.folder],
        "of classes": [travelling.Augment.method, travelling.Augment.of_class],
        "in lists": [{"train": [as_is, (as_is,)]}, {as_is: 1}, {as_is}],
        "of a class in a class": travelling.Augment.Inner.__init__,
        "types": [
            travelling.Item,
            travelling.Name,
            travelling.Box[int],
            travelling.Reader,
            travelling.Reads,
            travelling.Registry,
            travelling.Known,
            travelling.Options,
            travelling.Augment.Inner,
            travelling.Split,
            travelling.Header,
        ],
    }


def _objects() -> list[Any]:
    opened = kept(travelling.OpensAgain(os.devnull))
    cached = travelling.Augment()
    assert cached.slow
    return [
        travelling.Frozen("a"),
        travelling.Slotted("a"),
        travelling.FrozenSlotted("a"),
        travelling.Size(1, 2),
        travelling.Pair(1, 2),
        travelling.Named(),
        travelling.Split.TEST,
        travelling.Flags.FLIP | travelling.Flags.CROP,
        travelling.Options(seed=1),
        travelling.Name("a"),
        travelling.Augment.Inner(),
        travelling.DropsItsLock(),
        opened,
        cached,
        travelling.ByProtocol(),
        travelling.NewArguments(seed=1),
        travelling.Registered("a"),
        travelling.OnlyOne(),
        travelling.BY_NAME,
        travelling.Files(),
        travelling.Box([1]),
        travelling.Known(),
        travelling.Forwards([1]),
        travelling.ChecksItself("a"),
        travelling.Refusal(1, "a"),
        travelling.Slots(),
        travelling.Parent(),
        travelling.Defaults(list),
        travelling.Attributes(a=1),
        travelling.Header(1, 2.0),
        [travelling.Odd(), travelling.Odd()],
        arriving.OnlyWhileStarting(),
    ]


def loads_with_noise() -> DataLoader:
    return holding(arriving.Noisy(), arriving.Catches(), arriving.FromEnvironment())


def numbers_and_images() -> DataLoader:
    """Some are looked at while they are loaded: zeros in their place would not do."""
    counted = [arriving.CountsAgain(8), arriving.CountsAgain(500_000)]
    return holding(_tensors(), _arrays_and_images(), counted)


def what_a_user_defines() -> DataLoader:
    """With a class from a folder that the factory puts on the path for good."""
    module = makers.written("beside", "found_beside", "class Reader:\n    pass\n")
    sys.path.append(os.path.abspath("beside"))
    return holding(_functions(), _objects(), module.Reader())


# --- what processes share -------------------------------------------------------------------------


def shared_by_processes() -> DataLoader:
    """One manager has ended: a worker calls none of them while it loads."""
    spawn = multiprocessing.get_context("spawn")
    ends, sockets = spawn.Pipe(), socket.socketpair()
    memory = shared_memory.SharedMemory(create=True, size=8)
    pathlib.Path("shared.txt").write_text(memory.name, encoding="utf-8")
    manager, ended = spawn.Manager(), spawn.Manager()
    left = ended.dict()
    ended.shutdown()
    kept([ends, sockets, memory, manager])
    return holding(
        {
            "locks": [spawn.Lock(), spawn.RLock(), spawn.Semaphore(2), spawn.BoundedSemaphore(2)],
            "signals": [spawn.Condition(), spawn.Event(), spawn.Barrier(2)],
            "queues": [spawn.Queue(2), spawn.SimpleQueue(), spawn.JoinableQueue()],
            "memory": [spawn.Value("i", 1), spawn.Array("d", 2), spawn.RawArray("i", 2)],
            "ends": ends,
            "sockets": sockets,
            "by name": memory,
            "by a manager": [manager.dict(a=1), manager.list([1]), manager.Lock(), left],
        }
    )
