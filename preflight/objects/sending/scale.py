"""Counts what pickle writes for an object, with the data of arrays, and copies none of it."""

from __future__ import annotations

import array
import contextlib
import pickle
import sys
from collections.abc import Iterator
from typing import Any, cast

from preflight.objects.attributes import classes
from preflight.objects.sending.pickle_trial import NOTHING, Sink, bulk, reducers

# Protocol 5 hands data over instead of copying it; what is written is as long as in protocol 4.
PROTOCOL = 5

_MOST = 256 << 30  # bytes; what is longer has no end


class Scale(pickle.Pickler):
    """The pickler in C, which weighs one object after the other, each thing in them once."""

    def __init__(self) -> None:
        self._tally = Sink(_MOST)
        super().__init__(self._tally, PROTOCOL, buffer_callback=self._take_buffer)
        self.dispatch_table = reducers()
        self._data = 0
        self.mapped = 0
        """Bytes of all that were memory maps of numpy."""

        self.shared = 0
        """Bytes of the storages of tensors on the CPU, each storage once."""

        self._storages: set[int] = set()
        self._ordinary: set[type] = set()

    @property
    def bytes(self) -> int:
        """What pickle writes for all that was weighed, with the data of arrays."""
        return self._tally.written + self._data

    def put(self, thing: object) -> None:
        """Weigh one more thing, as far as pickle takes it, and as it has an end."""
        try:
            self.dump(thing)
        except KeyboardInterrupt:
            raise
        except BaseException:  # noqa: BLE001, S110  pickle runs the user's own code
            pass

    def reducer_override(self, thing: object) -> Any:
        """Count the data of what holds much of it, and leave it where it is."""
        kind = type(thing)
        if kind in self._ordinary:  # most of what there is, when there is much of it
            return NotImplemented
        if kind is array.array:
            self._data += len(cast("Any", thing)) * cast("Any", thing).itemsize
            return NOTHING
        given = bulk(thing)
        if given is not NotImplemented:
            self._count(thing)
        elif not _holds_data(kind):
            self._ordinary.add(kind)
        return given

    def _take_buffer(self, buffer: pickle.PickleBuffer) -> None:
        with memoryview(buffer) as view:
            self._data += view.nbytes

    def _count(self, thing: Any) -> None:
        kind = type(thing)
        if issubclass(kind, classes("numpy", "ndarray")):
            numpy = cast("Any", sys.modules["numpy"])
            size = numpy.ndarray.nbytes.__get__(thing)
            self._data += size
            self.mapped += size if _is_mapped(numpy, thing) else 0
        elif issubclass(kind, classes("pyarrow", "Buffer")):
            self._data += int(thing.size)
        else:
            for storage in _storages(sys.modules["torch"], thing):
                self._share(storage)

    def _share(self, storage: Any) -> None:
        """Count a storage that torch moves to memory which all workers share."""
        key = storage._cdata  # noqa: SLF001  torch's own key: the same for all views
        if storage.device.type == "cpu" and key not in self._storages:
            self._storages.add(key)
            self.shared += storage.nbytes()


def is_bulk(thing: object) -> bool:
    """Whether it is weighed as one thing, by the size of its data."""
    if type(thing) is array.array or type(thing) is pickle.PickleBuffer:
        return True
    try:
        return bulk(thing) is not NotImplemented
    except RuntimeError:  # a tensor that is refused
        return True


def _holds_data(kind: type) -> bool:
    """Whether one of these may be weighed in another way than the next one."""
    return issubclass(kind, (*classes("numpy", "ndarray"), *classes("torch", "Tensor")))


def _is_mapped(numpy: Any, thing: Any) -> bool:
    """Whether an array is a memory map, or looks at one."""
    while issubclass(type(thing), numpy.ndarray):
        if issubclass(type(thing), numpy.memmap):
            # A copy of one, and what was computed of one, are of its type, and map nothing.
            return object.__getattribute__(thing, "__dict__").get("_mmap") is not None
        thing = numpy.ndarray.base.__get__(thing)
    return False


def _storages(torch: Any, thing: Any) -> list[Any]:
    kind = type(thing)
    if issubclass(kind, torch.storage.TypedStorage):
        return [thing._untyped_storage]  # noqa: SLF001  the public way warns
    if issubclass(kind, torch.UntypedStorage):
        return [thing]
    found = []
    for tensor in _dense(torch, thing):
        # Some tensors have no storage: those of a compiler's trace, of other libraries.
        with contextlib.suppress(RuntimeError, NotImplementedError):
            found.append(tensor.untyped_storage())
    return found


def _dense(torch: Any, tensor: Any) -> Iterator[Any]:
    """Give the tensors that a sparse one is made of; of any other, itself."""
    if tensor.layout is torch.sparse_coo:
        yield from (tensor._indices(), tensor._values())  # noqa: SLF001  also where it is not coalesced
    elif tensor.layout in (torch.sparse_csr, torch.sparse_bsr):
        yield from (tensor.crow_indices(), tensor.col_indices(), tensor.values())
    elif tensor.layout in (torch.sparse_csc, torch.sparse_bsc):
        yield from (tensor.ccol_indices(), tensor.row_indices(), tensor.values())
    else:
        yield tensor
