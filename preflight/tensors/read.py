"""Loads one cached file, in a process of ours, and says what is in it: shapes, types, odd numbers.

torch.load is only ever called with weights_only; arrays of objects are not loaded at all. Numbers
are looked at piece by piece, so that no file has to fit in memory twice.
"""

from __future__ import annotations

import gzip
import io
import json
import math
import os
import stat
import sys
import zipfile
from collections.abc import Callable, Iterator, Mapping
from typing import Any, BinaryIO

from preflight.cached_files.dcp_plan import is_plan
from preflight.cached_files.read import read_cache
from preflight.file_access.place import HERE
from preflight.formats.suffixes import dcp as dcp_names
from preflight.kinds.asked import Asked, CannotLookError
from preflight.tensors.facts import CachedTensor, Content
from preflight.tensors.numbers import PIECE, Numbers, is_measured
from preflight.values.byte_sizes import format_size
from preflight.values.names import name_of, shown

MOST_NAMED = 200
"""Tensors of a file that are named; and as many of the rest, where their numbers stand out."""

_MOST_KEYS = 500
_MOST_HEADER = 1 << 24
_MOST_UNPACKED = 1 << 30
_MOST_ARRAY = 1 << 36

_SAFETENSORS_TYPES = {
    "F64": "float64",
    "F32": "float32",
    "F16": "float16",
    "BF16": "bfloat16",
    "F8_E5M2": "float8_e5m2",
    "F8_E4M3": "float8_e4m3fn",
    "C64": "complex64",
    "BOOL": "bool",
    **{f"I{bits}": f"int{bits}" for bits in (8, 16, 32, 64)},
    **{f"U{bits}": f"uint{bits}" for bits in (8, 16, 32, 64)},
}

_NUMPY = frozenset({"npz", "npy"})

DAMAGED = "it is damaged; see cache-damaged"
UNSAFE = "torch.load refuses what it names (weights_only)"
OBJECTS = "it holds Python objects, which are not loaded"
SCRIPT = "it is TorchScript, which holds code"
PART = "it is of a checkpoint in parts, which torch loads into a model only"


class _SkippedError(Exception):
    """It is not looked at, for a reason that is no fault of anybody's."""


def look(asked: Asked) -> Iterator[Content]:
    """Load the file that is asked about."""
    yield read_content(asked.wire["path"], asked.root, asked.options, asked.alive)


def read_content(
    path: str, root: str, options: Mapping[str, Any], tell: Callable[[str], None]
) -> Content:
    """Load one cached file, and look at all its numbers.

    Of the options, `trust_caches` is for a torch older than 2.6.

    Raises:
        CannotLookError: torch is missing, or too old, or cannot load what no other check finds
            wrong.
        OSError: it cannot be read, or is no file.
    """
    name = name_of(path, root)
    tell(name)
    status = os.stat(path)
    if not stat.S_ISREG(status.st_mode):  # opening a FIFO would wait for ever
        raise OSError("it is no regular file")
    try:
        return _read(path, name, status.st_size, options, lambda: tell(name))
    except _SkippedError as error:
        return Content(file=name, skipped=str(error))
    except CannotLookError:
        raise
    except Exception as error:  # noqa: BLE001  whatever a file makes torch or numpy raise
        return Content(file=name, skipped=_told(path, root, tell, error))


def _told(path: str, root: str, tell: Callable[[str], None], error: Exception) -> str:
    """Say which check tells why a file cannot be loaded; raise where none does."""
    torch: Any = sys.modules.get("torch")  # the one that has just stopped at it
    facts = read_cache(path, root, tell, torch=torch.__path__[0] if torch is not None else None)
    if facts.damage is not None:
        return DAMAGED
    if "TorchScript" in str(error):
        return SCRIPT
    if facts.globals:
        return UNSAFE
    if facts.format not in {"torch zip", "torch legacy", "gzip", "safetensors", *_NUMPY}:
        return f"it is no file of torch.save (format: {facts.format})"
    if isinstance(error, (OSError, MemoryError)):
        raise error
    said = shown(str(error).split("\n", 1)[0][:200])
    by = "numpy.load(path)" if facts.format in _NUMPY else "torch.load(path, weights_only=True)"
    raise CannotLookError(
        f"it cannot be loaded: {type(error).__name__}: {said}",
        fix=f"See what {by} says of it, and make it again.",
    ) from error


def _read(
    path: str, name: str, size: int, options: Mapping[str, Any], tell: Callable[[], None]
) -> Content:
    """Choose the reader by the file's beginning; its name decides where that says little."""
    suffix = os.path.splitext(path)[1].lower()
    if suffix == dcp_names.PART or is_plan(path):
        raise _SkippedError(PART)
    with open(path, "rb") as file:

        def go_on() -> None:
            HERE.at, HERE.size = file.tell(), size
            tell()

        head = file.read(16)
        if head.startswith(b"\x93NUMPY"):
            file.seek(0)
            return _content(name, "tensor", (), iter((_array(file, "", go_on),)))
        if suffix == ".npz" and head.startswith(b"PK"):
            return _npz(file, name, go_on)
        if suffix == ".npy" and _holds_arrays(file):
            return _npz(file, name, go_on)  # numpy.load opens it by its content
        if suffix == ".safetensors":
            return _safetensors(file, name, size, go_on)
    from preflight.tensors import torch_files

    source: str | io.BytesIO = path
    if head.startswith(b"\x1f\x8b"):
        source = _unpacked(path, tell)
        size = len(source.getbuffer())
    torch = torch_files.import_torch(trusted=bool(options.get("trust_caches")))
    loaded = torch_files.load(torch, source, size)
    return _content(name, *torch_files.walk(torch, loaded, size, tell))


def _unpacked(path: str, tell: Callable[[], None]) -> io.BytesIO:
    """Unpack a gzip'd file, as a trainer does that keeps its cache so."""
    out = io.BytesIO()
    with gzip.open(path) as stream:
        while piece := stream.read(PIECE):
            tell()
            out.write(piece)
            if out.tell() > _MOST_UNPACKED:
                most = format_size(_MOST_UNPACKED)
                raise _SkippedError(f"it is a gzip stream of more than {most}")
    out.seek(0)
    return out


def _content(
    name: str, kind: str, keys: tuple[str, ...], tensors: Iterator[CachedTensor]
) -> Content:
    """Keep the first tensors, and those of the rest that stand out; count the others."""
    kept: list[CachedTensor] = []
    more = 0
    for one in tensors:
        odd = one.nan or one.infinite or one.negative
        if len(kept) < (2 * MOST_NAMED if odd else MOST_NAMED):
            kept.append(one)
        else:
            more += 1
    all_keys = keys if len(keys) <= _MOST_KEYS else None
    return Content(file=name, kind=kind, keys=all_keys, tensors=tuple(kept), more=more)


# --- numpy


def _holds_arrays(file: BinaryIO) -> bool:
    if not zipfile.is_zipfile(file):
        return False
    with zipfile.ZipFile(file) as archive:
        return any(one.endswith(".npy") for one in archive.namelist())


def _npz(file: BinaryIO, name: str, tell: Callable[[], None]) -> Content:
    with zipfile.ZipFile(file) as archive:
        members = [one for one in archive.namelist() if one.endswith(".npy")]
        paths = tuple(sorted(_key(one.removesuffix(".npy")) for one in members))
        return _content(name, "dict", paths, _arrays(archive, members, tell))


def _arrays(
    archive: zipfile.ZipFile, members: list[str], tell: Callable[[], None]
) -> Iterator[CachedTensor]:
    for member in members:
        with archive.open(member) as stream:
            yield _array(stream, _key(member.removesuffix(".npy")), tell)


def _key(text: str) -> str:
    return f"[{shown(repr(text))}]"


def _array(stream: Any, path: str, tell: Callable[[], None]) -> CachedTensor:
    """Read a numpy array, header first and then piece by piece; never the pickle of one."""
    from numpy.lib import format as npy

    version = npy.read_magic(stream)
    header = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    shape, _, dtype = header(stream)
    if dtype.hasobject:
        raise _SkippedError(OBJECTS)
    elements = math.prod(map(int, shape))
    if elements * dtype.itemsize > _MOST_ARRAY:
        raise _SkippedError(f"it holds an array of more than {format_size(_MOST_ARRAY)}")
    numbers = Numbers(dtype=dtype.name)
    if is_measured(dtype.name):
        swapped = dtype != dtype.newbyteorder("<")
        _add_all(stream, elements * dtype.itemsize, numbers, tell, swapped=swapped)
    return _tensor(path, shape, elements, numbers)


def _add_all(
    stream: Any, size: int, numbers: Numbers, tell: Callable[[], None], *, swapped: bool = False
) -> None:
    import numpy as np

    while size > 0:
        tell()
        piece = _full(stream, min(size, PIECE))
        size -= len(piece)
        if swapped:
            piece = np.frombuffer(piece, np.dtype(numbers.dtype)).byteswap().tobytes()
        numbers.add(piece)


def _full(stream: Any, size: int) -> bytes:
    """Read so many bytes, which have to be there."""
    parts = []
    while size:
        part = stream.read(size)
        if not part:
            raise EOFError
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def _tensor(path: str, shape: tuple[int, ...], elements: int, numbers: Numbers) -> CachedTensor:
    return CachedTensor(
        path=path,
        dtype=numbers.dtype,
        shape=tuple(int(side) for side in shape),
        elements=elements,
        nan=numbers.nan,
        infinite=numbers.infinite,
        negative=numbers.negative,
        zero=numbers.zero,
    )


# --- safetensors


def _safetensors(file: BinaryIO, name: str, size: int, tell: Callable[[], None]) -> Content:
    file.seek(0)
    length = int.from_bytes(_full(file, 8), "little")
    if length > size - 8:
        raise EOFError
    if length > _MOST_HEADER:
        raise _SkippedError(f"it has a header of more than {format_size(_MOST_HEADER)}")
    header = json.loads(_full(file, length))
    header.pop("__metadata__", None)
    keys = tuple(sorted(_key(one) for one in header))
    return _content(name, "dict", keys, _stored(file, header, 8 + length, size, tell))


def _stored(
    file: BinaryIO, header: Mapping[str, Any], start: int, size: int, tell: Callable[[], None]
) -> Iterator[CachedTensor]:
    left = size - start
    for key, one in header.items():
        begin, stop = one["data_offsets"]
        left -= stop - begin
        if not 0 <= begin <= stop <= size - start or left < 0:
            raise EOFError
        elements = math.prod(one["shape"])
        numbers = Numbers(dtype=_SAFETENSORS_TYPES.get(one["dtype"], one["dtype"]))
        if is_measured(numbers.dtype):
            file.seek(start + begin)
            _add_all(file, stop - begin, numbers, tell)
        yield _tensor(_key(key), tuple(one["shape"]), elements, numbers)
