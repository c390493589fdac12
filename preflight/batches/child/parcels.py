"""Measures what a batch takes on its way from a worker: shared memory, and open files."""

from __future__ import annotations

import contextlib
import gc
import mmap
import os
import sys
from collections import deque
from collections.abc import Callable, Iterator
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

from preflight.batches.facts import OnTheWay, Parcel
from preflight.epochs.taken_batches import fetching
from preflight.host.room import open_files, shared_memory
from preflight.loaders.wrappers import makes_its_own, real_loader
from preflight.objects.attributes import classes, own_attributes
from preflight.values.own_files import passes_on

# Objects of one batch that are looked at.
_MOST = 50_000

# What is sent by its name, and not with what it holds.
_NOT_SENT = (type, ModuleType, FunctionType, BuiltinFunctionType, MethodType)

# Where tensors of other layouts than torch's usual one have their data.
_OF_ROWS = ("crow_indices", "col_indices", "ccol_indices", "row_indices")
_PARTS = ("_indices", "_values", "values", "offsets", *_OF_ROWS)


def way_of(loader: Any) -> OnTheWay:
    """Say what is known before the workers of a loader start."""
    size, free = shared_memory()
    length = None
    real = real_loader(loader)
    with contextlib.suppress(Exception):  # the user's `__len__`
        length = len(loader)
    return OnTheWay(
        prefetch=_prefetch(real),
        length=length,
        pinned=_pins(real),
        open_before=opened(),
        open_files=open_files(),
        shm_free=free,
        shm_size=size,
    )


def _prefetch(loader: Any) -> int:
    value = getattr(loader, "prefetch_factor", None)
    return value if isinstance(value, int) else 2  # torch's own


def _pins(loader: Any) -> bool:
    return bool(getattr(loader, "pin_memory", False)) and _has_cuda()


def _has_cuda() -> bool:
    cuda: Any = sys.modules.get("torch.cuda")
    return cuda is not None and bool(cuda.is_available())


def opened() -> int:
    """Give how many files this process has open; 0 where nobody can say."""
    try:
        return len(os.listdir("/proc/self/fd"))
    except OSError:
        return 0


class Weighed:
    """Notes what batches take as they come from workers, where others are made of them on the way.

    Such as by a class of the job's own that converts each of them, or by accelerate's loader, which
    puts them on a GPU or divides them among ranks.
    """

    def __init__(self, loader: Any) -> None:
        real = real_loader(loader)
        self._dataset = own_attributes(real).get("dataset") if makes_its_own(loader) else None
        self._most = Parcel()

    def noting(self) -> contextlib.AbstractContextManager[None]:
        """Note meanwhile what any iterator of that data set gives."""
        if self._dataset is None:
            return contextlib.nullcontext()
        return fetching(self._dataset, self._fetch)

    @passes_on
    def _fetch(self, following: Callable[[], Any]) -> Any:
        batch = following()
        self._most = max(self._most, parcel_of(batch), key=lambda one: one.bytes)
        return batch

    def parcel_of(self, batch: Any) -> Parcel:
        """Say how much a batch takes, or those do of which it was made."""
        return max(parcel_of(batch), self._most, key=lambda one: one.bytes)


class Heaviest:
    """Notes which batches of an epoch take the most, of as many as are on their way at a time."""

    def __init__(self, loader: Any, workers: int) -> None:
        real = real_loader(loader)
        way = OnTheWay(prefetch=_prefetch(real), pinned=_pins(real))
        self._ahead = deque[int](maxlen=way.at_a_time(workers))
        self._number = 0
        self._most = 0
        self._at = 0

    def take(self, batch: Any) -> None:
        """Weigh a batch of an epoch, in the order in which they come."""
        self._number += 1
        self._ahead.append(parcel_of(batch).bytes)
        together = sum(self._ahead)
        if together > self._most:
            self._most, self._at = together, self._number

    def told(self) -> dict[str, int]:
        """Give it by the names that facts have for it."""
        return {"heaviest": self._most, "heaviest_at": self._at}


def parcel_of(batch: Any) -> Parcel:
    """Say how much of a batch lies in memory that was shared by a worker."""
    tensors = classes("torch", "Tensor")
    sizes: dict[int, int] = {}
    waiting, seen = [batch], set[int]()
    while waiting and len(seen) < _MOST:
        one = waiting.pop()
        if id(one) in seen or isinstance(one, _NOT_SENT):
            continue
        seen.add(id(one))
        if isinstance(one, tensors):
            for part in _parts_of(one):
                with contextlib.suppress(Exception):  # of no data, or of another device
                    _add(part, sizes)
        else:
            waiting += gc.get_referents(one)
    return Parcel(tensors=len(sizes), bytes=sum(sizes.values()))


def _parts_of(tensor: Any) -> Iterator[Any]:
    """Give what a tensor has its data in: of a sparse or a nested one, others."""
    if str(tensor.layout) == "torch.strided":
        yield tensor
        return
    for name in _PARTS:
        with contextlib.suppress(Exception):  # each layout has some of them
            yield getattr(tensor, name)()


def _add(tensor: Any, sizes: dict[int, int]) -> None:
    data = tensor.untyped_storage()
    size = data.nbytes()
    if size and data.device.type == "cpu" and (data.is_shared() or _is_pinned(tensor)):
        sizes[data.data_ptr()] = -(-size // mmap.PAGESIZE) * mmap.PAGESIZE


def _is_pinned(tensor: Any) -> bool:
    return _has_cuda() and bool(tensor.is_pinned())
