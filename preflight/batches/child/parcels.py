"""Measures what a batch takes on its way from a worker: shared memory, and open files."""

from __future__ import annotations

import contextlib
import mmap
import os
import sys
from collections import UserDict
from typing import Any

from preflight.batches.facts import OnTheWay, Parcel
from preflight.host.room import open_files, shared_memory
from preflight.loaders.wrappers import real_loader
from preflight.objects.attributes import classes

# Objects of one batch that are looked at.
_MOST = 50_000


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
        pinned=bool(getattr(real, "pin_memory", False)) and _has_cuda(),
        open_before=opened(),
        open_files=open_files(),
        shm_free=free,
        shm_size=size,
    )


def _prefetch(loader: Any) -> int:
    value = getattr(loader, "prefetch_factor", None)
    return value if isinstance(value, int) else 2  # torch's own


def _has_cuda() -> bool:
    cuda: Any = sys.modules.get("torch.cuda")
    return cuda is not None and bool(cuda.is_available())


def opened() -> int:
    """Give how many files this process has open; 0 where nobody can say."""
    try:
        return len(os.listdir("/proc/self/fd"))
    except OSError:
        return 0


def parcel_of(batch: Any) -> Parcel:
    """Say how much of a batch lies in memory that was shared by a worker."""
    tensors = classes("torch", "Tensor")
    sizes: dict[int, int] = {}
    waiting, seen = [batch], 0
    while waiting and seen < _MOST:
        one = waiting.pop()
        seen += 1
        if isinstance(one, tensors):
            with contextlib.suppress(Exception):  # of no data, or of another device
                _add(one, sizes)
        elif isinstance(one, (tuple, list)):
            waiting += one
        elif isinstance(one, (dict, UserDict)):
            waiting += one.values()
        elif type(one).__module__ != "builtins":
            waiting += getattr(one, "__dict__", {}).values()
    return Parcel(tensors=len(sizes), bytes=sum(sizes.values()))


def _add(tensor: Any, sizes: dict[int, int]) -> None:
    data = tensor.untyped_storage()
    size = data.nbytes()
    if size and data.device.type == "cpu" and (data.is_shared() or _is_pinned(tensor)):
        sizes[data.data_ptr()] = -(-size // mmap.PAGESIZE) * mmap.PAGESIZE


def _is_pinned(tensor: Any) -> bool:
    return _has_cuda() and bool(tensor.is_pinned())
