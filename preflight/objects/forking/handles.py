"""Tells what is an open handle, or memory on a GPU, without calling any code of the user's."""

from __future__ import annotations

import io
import os
import stat
import sys
import zipfile
from dataclasses import dataclass
from typing import Any

from preflight.objects import stand_in
from preflight.objects.attributes import classes, own_attributes

# From here on h5py reads with pread, which has no position (H5_HAVE_PREADWRITE; every wheel of h5py
# for Python 3.10 and later holds a newer one). Before, all of its drivers seek and then read.
_PREAD = (1, 12)
_SEEKING = frozenset({"STDIO", "fileobj_driver", "DIRECT"})

# The keys of the tensors that live in the memory of a GPU; those of ROCm are called the same.
_CUDA = ("CUDA", "SparseCUDA", "SparseCsrCUDA", "QuantizedCUDA", "NestedTensorCUDA")


@dataclass(frozen=True, slots=True, kw_only=True)
class Handle:
    """What an object has open."""

    kind: str
    """`cuda-tensor`, `h5py`, `lmdb`, `sqlite`, `zip`, `file`."""

    key: object
    """The same for all objects that use the same handle, such as two arrays of one HDF5 file."""

    file: str | None = None
    """The path that it was opened by, where it says so."""

    by_position: bool = False
    """Whether it is read at given positions, so that one reader does not move the other's."""


def handle_of(thing: object) -> Handle | None:
    """Say what an object has open; None where that is nothing, or closed, or only in memory."""
    kind = type(thing)
    if issubclass(kind, (io.FileIO, io.BufferedReader, io.BufferedRandom, io.TextIOWrapper)):
        return _of_file(thing)
    if issubclass(kind, zipfile.ZipFile):
        return _of_zip(thing)
    if issubclass(kind, classes("sqlite3", "Connection")):
        return _of_sqlite(thing)
    h5py = sys.modules.get("h5py")
    if h5py is not None and _named(kind, "h5py"):
        return _of_h5py(thing, h5py)
    if issubclass(kind, classes("lmdb", "Environment")):
        return _of_lmdb(thing, sys.modules["lmdb"])
    if is_cuda(thing):
        return Handle(kind="cuda-tensor", key=id(thing))
    return None


def is_cuda(thing: object) -> bool:
    """Whether it is a tensor in the memory of a GPU, or in what stands in for that."""
    if not issubclass(type(thing), classes("torch", "Tensor")):
        return False
    torch: Any = sys.modules["torch"]
    # `is_cuda` would run the `__torch_dispatch__` of a class that says its own device.
    keys = torch._C._dispatch_keys(thing)  # noqa: SLF001
    known = (getattr(torch._C.DispatchKey, name, None) for name in _CUDA)  # noqa: SLF001
    return any(key is not None and keys.has(key) for key in known) or stand_in.holds(thing)


# --- files and archives ---------------------------------------------------------------------------


def _of_file(thing: object) -> Handle | None:
    """Describe an ordinary file that is open for reading; a pipe or a console has no position."""
    raw = _unbuffered(thing)
    if raw is None or vars(io.FileIO)["closed"].__get__(raw):
        return None
    if not str(vars(io.FileIO)["mode"].__get__(raw)).startswith("rb"):
        return None
    try:
        if not stat.S_ISREG(os.fstat(io.FileIO.fileno(raw)).st_mode):
            return None
    except OSError:  # closed behind Python's back
        return None
    return Handle(kind="file", key=("file", id(raw)), file=_text(own_attributes(raw).get("name")))


def _unbuffered(thing: object) -> Any:
    """Give the file in C behind a file of Python's own types; None where there is another."""
    for family, inner in _LAYERS:
        if issubclass(type(thing), family):
            try:
                thing = vars(family)[inner].__get__(thing)
            except (AttributeError, ValueError):  # detached, or never set up
                return None
    return thing if issubclass(type(thing), io.FileIO) else None


_LAYERS: tuple[tuple[type, str], ...] = (
    (io.TextIOWrapper, "buffer"),
    (io.BufferedReader, "raw"),
    (io.BufferedRandom, "raw"),
)


def _of_zip(thing: object) -> Handle | None:
    attributes = own_attributes(thing)
    file = _of_file(attributes.get("fp"))
    if file is None or attributes.get("mode") not in ("r", "a"):
        return None
    name = _text(attributes.get("filename")) or file.file
    return Handle(kind="zip", key=file.key, file=name)


def _of_sqlite(thing: object) -> Handle | None:
    sqlite3: Any = sys.modules["sqlite3"]
    try:
        sqlite3.Connection.total_changes.__get__(thing)
    except sqlite3.ProgrammingError:  # closed, or its __init__ not called
        return None
    return Handle(kind="sqlite", key=id(thing))


# --- packages that may not be here ----------------------------------------------------------------


def _of_h5py(thing: object, h5py: Any) -> Handle | None:
    """Describe an open HDF5 file, by itself or by a group or array of it."""
    low = own_attributes(thing).get("_id", thing)
    if not issubclass(type(low), (h5py.h5g.GroupID, h5py.h5d.DatasetID)):
        return None  # a property list, a type: nothing of a file
    try:
        if not low.valid:
            return None
        name = os.fsdecode(h5py.h5f.get_name(low))
        driver = h5py.h5i.get_file_id(low).get_access_plist().get_driver()
    except (OSError, RuntimeError, TypeError, ValueError):  # as h5py puts errors of HDF5
        return None
    if driver == h5py.h5fd.CORE or name.startswith("<_io.BytesIO"):
        return None  # in memory, of which a fork makes a copy
    known = {getattr(h5py.h5fd, one, None) for one in _SEEKING}
    return Handle(
        kind="h5py",
        key=("h5py", name),
        file=None if name.startswith("<") else name,
        by_position=driver not in known and h5py.version.hdf5_version_tuple[:2] >= _PREAD,
    )


def _of_lmdb(thing: object, lmdb: Any) -> Handle | None:
    """Describe an open environment; without its lock table, reading it leaves nothing behind."""
    try:
        if not lmdb.Environment.flags(thing)["lock"]:
            return None
        path = lmdb.Environment.path(thing)
    except lmdb.Error:  # closed
        return None
    return Handle(kind="lmdb", key=id(thing), file=_text(path))


def _named(kind: type, package: str) -> bool:
    """Whether a type, or one that it derives from, is of this package."""
    for cls in type.__dict__["__mro__"].__get__(kind):
        module = type.__dict__["__dict__"].__get__(cls).get("__module__")
        if type(module) is str and module.partition(".")[0] == package:
            return True
    return False


def _text(name: object) -> str | None:
    if type(name) is bytes:
        return os.fsdecode(name)
    return name if type(name) is str else None
