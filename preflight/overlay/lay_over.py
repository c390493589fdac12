"""Puts a layer between the disk and the functions by which Python reads and writes files."""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from types import ModuleType
from typing import Any, NamedTuple, TypeAlias

from preflight.overlay import calls
from preflight.overlay.between import Call
from preflight.overlay.layer import Layer
from preflight.overlay.raw_files import raw_files
from preflight.values.own_files import theirs

Between: TypeAlias = Callable[[Call, Layer], Call]

# Modules by which Python finds others, and by which the layer works.
_AS_THEY_ARE = ("posix", "nt", "_io", "preflight")

# Modules that keep functions in classes, in one Python or another.
_WITH_CLASSES = ("pathlib", "glob")


class KeptFunction(NamedTuple):
    """A function, and where it is kept."""

    holder: Any
    name: str
    between: Between


def _betweens() -> Mapping[int, Between]:
    """Say of each function, by its identity, what stands between it and the disk."""
    of_os: Mapping[Between, tuple[str, ...]] = {
        # `shutil.copy2` and `copytree` copy extended attributes, where the system has them.
        calls.reads: (
            *("stat", "lstat", "access", "statvfs", "chdir"),
            *("listxattr", "getxattr"),
        ),
        calls.says: ("getcwd", "getcwdb", "readlink"),
        calls.changes: ("chmod", "chown", "utime", "truncate", "setxattr", "removexattr"),
        calls.opens_descriptor: ("open",),
        calls.makes_folder: ("mkdir",),
        calls.removes: ("remove", "unlink", "rmdir"),
        calls.moves: ("rename", "replace"),
        calls.links: ("link", "symlink"),
        calls.lists: ("listdir",),
        calls.scans: ("scandir",),
    }
    found: dict[int, Between] = {id(io.open): calls.opens, id(shutil.rmtree): calls.removes_all}
    found[id(io.FileIO)] = calls.opens
    for between, names in of_os.items():
        found |= {id(getattr(os, one)): between for one in names if hasattr(os, one)}
    # Where these are asked of the system itself, and not of `os.stat`.
    tests = (getattr(os.path, one) for one in ("exists", "lexists", "isfile", "isdir", "islink"))
    return found | {id(one): calls.reads for one in tests if type(one) is type(len)}


def _holders() -> Iterator[Any]:
    for name, module in list(sys.modules.items()):
        package = name.partition(".")[0]
        if not issubclass(type(module), ModuleType) or package in _AS_THEY_ARE:
            continue
        yield module
        if package in _WITH_CLASSES:
            kinds = (one for one in list(vars(module).values()) if isinstance(one, type))
            yield from (kind for kind in kinds if kind.__module__ == name)


def _places() -> Iterator[KeptFunction]:
    """Find the functions wherever they are kept: `tarfile` has `open` under a name of its own."""
    betweens = _betweens()
    for holder in _holders():
        for name, kept in list(vars(holder).items()):
            if between := betweens.get(id(_plain(kept))):
                yield KeptFunction(holder, name, between)


def _plain(kept: object) -> Any:
    return kept.__func__ if type(kept) is staticmethod else kept


def lay_over(layer: Layer, guard: Callable[[Call], Call] = lambda call: call) -> Call:
    """Have all that Python's own functions write go into the layer; what is given undoes it.

    What stands in the place of each is put through `guard`.
    """
    if sys.version_info < (3, 11):
        import pathlib  # noqa: F401  imported later, its class would make methods of what is ours
    before = []
    replaced: dict[int, Call] = {}
    for holder, name, between in list(_places()):
        kept = vars(holder)[name]
        original = _plain(kept)
        replacement = replaced.get(id(original)) or _replacement(original, between, layer, guard)
        replaced[id(original)] = replacement
        before.append((holder, name, kept))
        setattr(
            holder, name, staticmethod(replacement) if isinstance(holder, type) else replacement
        )
        for able in (os.supports_dir_fd, os.supports_fd, os.supports_follow_symlinks):
            if original in able:
                able.add(replacement)

    def undo() -> None:
        for holder, name, kept in before:
            setattr(holder, name, kept)

    return undo


def _replacement(
    original: Call, between: Between, layer: Layer, guard: Callable[[Call], Call]
) -> Call:
    if original is io.FileIO:
        return raw_files(io.FileIO, layer, guard)
    if between is calls.reads:  # which is called too often to be guarded each time
        return calls.reads(theirs(original), layer, guard)
    return guard(between(theirs(original), layer))


@contextlib.contextmanager
def laid_over(layer: Layer) -> Iterator[None]:
    """Do so for a while."""
    undo = lay_over(layer)
    try:
        yield
    finally:
        undo()
