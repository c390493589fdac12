"""Loads a file of torch.save with weights_only, and looks at the numbers of every tensor in it.

torch runs here, and nothing else: neither code of the user's nor a class that torch does not know.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from preflight.kinds.asked import CannotLookError
from preflight.tensors.facts import CachedTensor
from preflight.tensors.numbers import (
    Numbers,
    bare,
    bytes_of,
    is_measured,
    pieces_of,
    values_of,
)
from preflight.values.names import shown

SAFE_SINCE = (2, 6)
"""Before this version a file could make torch.load run code with weights_only (CVE-2025-32434)."""

# Bytes from which on a file is mapped into memory, and not read into it.
_LARGE = 1 << 26

# How many times the bytes of a file are looked at, at the most.
_MOST_TIMES = 8

# Nodes of a loaded object that are visited.
_MOST_NODES = 1_000_000

_MOST_KEY = 80

# What torch wants to be imported before it loads such tensors, by what it says of it.
_IMPORTS = {
    "torch.distributed.tensor": "torch.distributed.tensor",
    "torch._dynamo": "torch._dynamo",
}


def import_torch(*, trusted: bool) -> Any:
    """Import torch, to load files with it.

    Raises:
        CannotLookError: it is not there, or too old for files that nobody trusts.
    """
    try:
        import torch
    except (ImportError, OSError) as error:
        raise CannotLookError(
            f"torch cannot be imported here: {shown(str(error))}",
            fix="Install torch beside preflight, or leave --deep out.",
        ) from error
    torch.set_num_threads(1)  # there is a process for each core
    version = tuple(int(part) for part in torch.__version__.split(".")[:2])
    if version < SAFE_SINCE and not trusted:
        raise CannotLookError(
            f"a file can make torch {torch.__version__} run code, even with weights_only "
            "(CVE-2025-32434)",
            fix="Use torch 2.6 or newer, or say that you trust these files:  "
            "preflight run --deep --trust-caches",
        )
    return torch


def load(torch: Any, source: str | BinaryIO, size: int) -> Any:
    """Load a file, or raise whatever torch raises.

    Raises:
        MemoryError: there is more in it than fits.
    """
    options = {"map_location": "cpu", "weights_only": True}
    if isinstance(source, str) and size >= _LARGE and _is_zip(source):
        options["mmap"] = True
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what is new or old in torch
        # An older one says so, and then has torch.jit.load run it.
        warnings.filterwarnings("error", ".*TorchScript archive")
        try:
            return _load(torch, source, options)
        except RuntimeError as error:
            if "allocate memory" in str(error):
                raise MemoryError from error
            raise


def _is_zip(path: str) -> bool:
    with open(path, "rb") as file:
        return file.read(4) == b"PK\3\4"


def _load(torch: Any, source: str | BinaryIO, options: Mapping[str, Any]) -> Any:
    import importlib
    import pickle

    try:
        return torch.load(source, **options)
    except pickle.UnpicklingError as error:
        wanted = [module for said, module in _IMPORTS.items() if f"``{said}``" in str(error)]
        if not wanted and "``torch.nested`` and" not in str(error):
            raise
        for module in wanted or ("torch.nested", "torch._dynamo"):
            importlib.import_module(module)
        if not isinstance(source, str):
            source.seek(0)
        return torch.load(source, **options)


def walk(
    torch: Any, loaded: Any, size: int, tell: Callable[[], None]
) -> tuple[str, tuple[str, ...], Iterator[CachedTensor]]:
    """Find every tensor in a loaded object, and look at its numbers as it is asked for.

    Gives the kind of the object, its keys, and the tensors.
    """
    keys: dict[str, None] = {}
    found = [
        (path, value)
        for path, value in _nodes(torch, loaded, keys)
        if isinstance(value, torch.Tensor)
    ]
    storages = _Storages(torch)
    for _, tensor in found:
        storages.add(tensor)
    left = _MOST_TIMES * size + _LARGE

    def spend(count: int) -> None:
        """Take in that so many bytes are looked at, of tensors that may overlap without end."""
        nonlocal left
        tell()
        left -= count
        if left < 0:
            raise CannotLookError(
                "its tensors are many times the size of the file, which they share",
                fix="Save what is needed of each with tensor.clone().",
            )

    seen = (_seen(torch, path, tensor, storages, spend) for path, tensor in found)
    kinds = (kind for kind in (dict, list, tuple, set) if isinstance(loaded, kind))
    kind = "tensor" if isinstance(loaded, torch.Tensor) else next(kinds, type(loaded)).__name__
    return kind, tuple(sorted(keys)), seen


def _nodes(torch: Any, loaded: Any, keys: dict[str, None]) -> Iterator[tuple[str, Any]]:
    """Give every leaf with its path, in order, and note the keys that lead there."""
    waiting: list[tuple[str, str, Any]] = [("", "", loaded)]
    within: set[int] = set()
    for _ in range(_MOST_NODES):
        if not waiting:
            return
        path, form, value = waiting.pop()
        if isinstance(value, torch.Tensor) or not isinstance(value, (dict, list, tuple, set)):
            yield path, value
            continue
        if id(value) in within:
            continue
        within.add(id(value))
        children: list[tuple[str, str, Any]] = []
        if isinstance(value, dict):
            for key, one in value.items():
                place = _place(key)
                own = form + (place if isinstance(key, str) else "[*]")
                children.append((path + place, own, one))
            keys.update(dict.fromkeys(own for _, own, _ in children if not own.endswith("[*]")))
        else:
            children += [
                (f"{path}[{number}]", f"{form}[*]", one) for number, one in enumerate(value)
            ]
        waiting += reversed(children)


def _place(key: Any) -> str:
    text = repr(key) if isinstance(key, (str, int, float, bool, bytes)) else type(key).__name__
    return f"[{shown(text if len(text) <= _MOST_KEY else text[:_MOST_KEY] + '…')}]"


@dataclass(slots=True)
class _Storages:
    """How much of each storage the tensors of a file need."""

    torch: Any
    used: dict[int, int] = field(default_factory=dict)
    counted: set[tuple[int, ...]] = field(default_factory=set)

    def add(self, tensor: Any) -> None:
        """Take in that a tensor needs its part of a storage."""
        storage = self._storage(tensor)
        if storage is None:
            return
        key = storage._cdata  # noqa: SLF001  torch has no other name for it
        part = (key, tensor.storage_offset(), *tensor.shape, *tensor.stride())
        if part not in self.counted:
            self.counted.add(part)
            own = bare(tensor).numel() * tensor.element_size()
            self.used[key] = self.used.get(key, 0) + own

    def of(self, tensor: Any) -> tuple[int, int]:
        """Give the bytes of a tensor's storage, and how many of them are needed."""
        storage = self._storage(tensor)
        if storage is None:
            return 0, 0
        size = storage.nbytes()
        return size, min(size, self.used[storage._cdata])  # noqa: SLF001  as above

    def _storage(self, tensor: Any) -> Any:
        plain = type(tensor) in (self.torch.Tensor, self.torch.nn.Parameter)
        strided = plain and tensor.layout == self.torch.strided and not tensor.is_nested
        return tensor.untyped_storage() if strided and tensor.device.type == "cpu" else None


def _seen(
    torch: Any, path: str, tensor: Any, storages: _Storages, spend: Callable[[int], None]
) -> CachedTensor:
    dtype = str(tensor.dtype).removeprefix("torch.")
    numbers = Numbers(dtype=dtype)
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        values, whole = values_of(torch, tensor)
        if values is not None and is_measured(dtype):
            for piece in pieces_of(values):
                spend(piece.numel() * piece.element_size())
                numbers.add(bytes_of(torch, piece))
    size, used = storages.of(tensor)
    return CachedTensor(
        path=path,
        dtype=dtype,
        shape=None if tensor.is_nested else tuple(int(side) for side in tensor.shape),
        elements=0 if values is None else values.numel(),
        nan=numbers.nan,
        infinite=numbers.infinite,
        negative=numbers.negative,
        zero=whole and numbers.zero,
        storage=size,
        used=used,
    )
