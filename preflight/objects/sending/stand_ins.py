"""Lets large data be sent as its size: in the worker, zeros of the same size stand in for it.

Zeros that nobody writes to take no memory, there or here, and nothing is copied. Small data travels
as it is. Each reduction below is made of functions that any worker can import.
"""

from __future__ import annotations

import array
import ctypes
import functools
import mmap
import operator
import os
import sys
import types
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from preflight.objects.paths import type_name
from preflight.objects.sending.pickle_trial import (
    NOTHING,
    InheritedDescriptor,
    bulk,
    refuse_forked_lock,
)

LARGE = 1 << 20
"""Bytes from which on zeros are sent, in the data of arrays and tensors and in long strings."""

_METHODS = (types.MethodType, types.BuiltinMethodType)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Call:
    """Is pickled as a call, which is made where it is loaded."""

    function: Any
    arguments: tuple[Any, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """What is not sent, by id and by type; a zero is sent in its place."""

    things: Mapping[int, object] = field(default_factory=dict)
    kinds: tuple[type, ...] = ()

    def has(self, thing: object) -> bool:
        """Whether this object is left out, or is a method of one that is (`lock.acquire`)."""
        kind = type(thing)
        if any(kind is one for one in _METHODS) and self.has(cast("Any", thing).__self__):
            return True
        return id(thing) in self.things or any(kind is one for one in self.kinds)

    def and_also(self, thing: object, kind: type | None) -> LeftOut:
        """Leave out one more object, and all instances of a class if need be."""
        kinds = self.kinds if kind is None else (*self.kinds, kind)
        return LeftOut(things={**self.things, id(thing): thing}, kinds=kinds)

    def __bool__(self) -> bool:
        return bool(self.things or self.kinds)


@dataclass(slots=True)
class StandIns:
    """How data is sent, and how much of it there was."""

    large: int = LARGE
    left_out: LeftOut = field(default_factory=LeftOut)
    stood_in: int = 0
    """Bytes of arrays that were sent as their size."""

    lacking: int = 0
    """Bytes of data in whose place there are zeros, of arrays and of tensors."""

    tensors: int = 0
    """Bytes of tensors, which a real worker would share with us."""

    storages: list[Any] = field(default_factory=list)
    """Weak references to the memory of tensors. A worker that starts is handed its descriptor,
    which is closed with it."""

    @property
    def fleeting(self) -> bool:
        """Whether a tensor was made to be sent and is gone: no worker could open its memory."""
        return any(one.expired() for one in self.storages)

    def reduction(self, thing: object) -> Any:
        """Say how an object is pickled; NotImplemented for what travels as any object does."""
        if self.left_out and self.left_out.has(thing):
            return NOTHING
        refuse_forked_lock(thing)
        if type(thing) is _Call:
            return thing.function, thing.arguments
        if type(thing) is array.array:
            return self._array(thing)
        torch = cast("Any", sys.modules.get("torch"))
        if torch is not None and hasattr(torch, "UntypedStorage"):
            known = self._torch(torch, thing)
            if known is not NotImplemented:
                return known
        numpy = cast("Any", sys.modules.get("numpy"))
        if numpy is not None and issubclass(type(thing), getattr(numpy, "ndarray", ())):
            return self._numpy(numpy, thing)
        arrow = cast("Any", sys.modules.get("pyarrow"))
        if arrow is not None and type(thing) is getattr(arrow, "Buffer", None):
            size = cast("Any", thing).size
            if size >= self.large:
                self._stand_in(size)
                return arrow.py_buffer, (_zeros(size),)
        return _handle(thing)

    def _stand_in(self, size: int) -> None:
        self.stood_in += size
        self.lacking += size

    def _array(self, thing: array.array[Any]) -> Any:
        size = len(thing) * thing.itemsize
        if size < self.large:
            return NotImplemented
        self._stand_in(size)
        return array.array, (thing.typecode,)

    def _numpy(self, numpy: Any, thing: Any) -> Any:
        kind, own = type(thing), numpy.ndarray
        if bulk(thing) is NotImplemented:
            return NotImplemented
        # A subclass may have attributes of its own by these names.
        size, flags = own.nbytes.__get__(thing), own.flags.__get__(thing)
        if size < self.large:
            return NotImplemented
        self._stand_in(size)
        order = "F" if flags.fnc and not flags.c_contiguous else "C"
        zeros = (numpy.zeros, (own.shape.__get__(thing), own.dtype.__get__(thing), order))
        if kind is numpy.ndarray:
            return zeros
        return operator.methodcaller("view", kind), (_Call(function=zeros[0], arguments=zeros[1]),)

    def _torch(self, torch: Any, thing: Any) -> Any:
        """Take tensors apart as torch does for a worker, but for the sharing of their memory."""
        kind = type(thing)
        if issubclass(kind, torch.Tensor):
            if bulk(thing) is NotImplemented:  # of a class of its own, which pickles as it likes
                return NotImplemented
            if thing.device.type != "cpu":
                self.tensors += thing.nbytes
                self.lacking += thing.nbytes
                return functools.partial(torch.empty, dtype=thing.dtype), (tuple(thing.shape),)
            return torch.multiprocessing.reductions.reduce_tensor(thing)
        if issubclass(kind, torch.storage.TypedStorage):
            rebuild = torch.multiprocessing.reductions.rebuild_typed_storage
            return rebuild, (thing._untyped_storage, thing.dtype)  # noqa: SLF001
        if issubclass(kind, torch.UntypedStorage):
            return self._storage(torch, thing)
        return NotImplemented

    def _storage(self, torch: Any, thing: Any) -> Any:
        size = thing.nbytes()
        self.tensors += size
        if not size:
            return torch.UntypedStorage, (0,)
        if torch.multiprocessing.get_sharing_strategy() == "file_descriptor":
            self.storages.append(torch.multiprocessing.reductions.StorageWeakRef(thing))
        content = _zeros(size)
        if size < self.large and thing.device.type == "cpu":
            held = ctypes.string_at(thing.data_ptr(), size)
            content = _Call(function=bytearray, arguments=(held,))
        else:
            self.lacking += size
        flat = functools.partial(torch.frombuffer, dtype=torch.uint8)
        tensor = _Call(function=flat, arguments=(content,))
        return operator.methodcaller("untyped_storage"), (tensor,)


def _zeros(size: int) -> _Call:
    """Call for pages that take no memory until they are written to, as a bytearray's would."""
    return _Call(function=mmap.mmap, arguments=(-1, size))


def _handle(thing: object) -> Any:
    """Make pipes, sockets and shared heaps anew: only a process that is just starting inherits.

    Python's own way is to hand their descriptors over while it starts the process.
    """
    kind = type(thing)
    name = type_name(kind)
    if name in _PIPES:
        cast("Any", thing).fileno()  # raises where it is closed, as its own reducer does
        connection = cast("Any", sys.modules["multiprocessing.connection"])
        return operator.itemgetter(0), (_Call(function=connection.Pipe, arguments=()),)
    if kind is InheritedDescriptor:
        opened = _Call(function=os.open, arguments=(os.devnull, os.O_RDWR))
        given = cast("Any", sys.modules["multiprocessing.popen_spawn_posix"])
        return given._DupFd, (opened,)  # noqa: SLF001  what a spawned process is sent for it
    if name == "multiprocessing.heap.Arena":
        return kind, (cast("Any", thing).size,)
    if name == "socket.socket":
        if cast("Any", thing).fileno() < 0:
            raise ValueError("a closed socket has no descriptor to hand over")
        return kind, ()
    return NotImplemented


_PIPES = ("multiprocessing.connection.Connection", "multiprocessing.connection.PipeConnection")
