"""The functions by which Python reads and writes files, with a layer between them and the disk."""

from __future__ import annotations

import builtins
import contextlib
import errno
import functools
import io
import os
import pathlib
import shutil
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, TypeAlias

from preflight.overlay.layer import AnyPath, Layer, copy, remove

Call: TypeAlias = Callable[..., Any]
Between: TypeAlias = Callable[[Call, Layer], Call]

_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND

# Of functions that are told a folder by a descriptor, the path alone says nothing.
_OF_DESCRIPTORS = ("dir_fd", "src_dir_fd", "dst_dir_fd")


def reads(original: Call, layer: Layer) -> Call:
    """Have the first argument read where it is."""

    def call(path: AnyPath, *more: Any, **named: Any) -> Any:
        return original(layer.reading(path), *more, **named)

    return _told(original, layer, call)


def changes(original: Call, layer: Layer) -> Call:
    """Have a file changed in a copy of it."""

    def call(path: AnyPath, *more: Any, **named: Any) -> Any:
        own = layer.own(path)
        if own is None or not layer.exists(own):
            return original(layer.reading(path), *more, **named)
        if layer.is_folder(own):
            return None  # the mode or the time of a folder that stays as it is
        return original(layer.writing(path, fresh=False), *more, **named)

    return _told(original, layer, call)


def _open(original: Call, layer: Layer) -> Call:
    def call(file: AnyPath, mode: str = "r", *more: Any, **named: Any) -> Any:
        if not isinstance(mode, str) or not set(mode) & set("wax+"):
            return original(layer.reading(file), mode, *more, **named)
        there = layer.reading(file)
        is_new = "x" in mode and _is_there(file, layer)
        path = there if is_new else _to_write(file, layer, fresh="w" in mode)
        return original(path, mode, *more, **named)

    return _told(original, layer, call)


def _open_descriptor(original: Call, layer: Layer) -> Call:
    def call(path: AnyPath, flags: int, *more: Any, **named: Any) -> Any:
        is_new = flags & os.O_EXCL and _is_there(path, layer)
        if not flags & _WRITES or is_new:
            return original(layer.reading(path), flags, *more, **named)
        fresh = bool(flags & os.O_TRUNC)
        return original(_to_write(path, layer, fresh=fresh), flags, *more, **named)

    return _told(original, layer, call)


def _to_write(path: AnyPath, layer: Layer, *, fresh: bool) -> AnyPath:
    own = layer.own(path)
    if own is not None and layer.is_folder(own):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    return layer.writing(path, fresh=fresh)


def _mkdir(original: Call, layer: Layer) -> Call:
    def call(path: AnyPath, *more: Any, **named: Any) -> Any:
        if _is_there(path, layer):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), path)
        return original(layer.writing(path, fresh=True), *more, **named)

    return _told(original, layer, call)


def _removes(original: Call, layer: Layer) -> Call:
    def call(path: AnyPath, *more: Any, **named: Any) -> Any:
        own = layer.own(path)
        if own is None or not layer.exists(own):
            return original(layer.reading(path), *more, **named)
        is_link = os.path.islink(path)
        if layer.is_folder(own) and not is_link:
            if original.__name__ != "rmdir":
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
            if layer.names(own):
                raise OSError(errno.ENOTEMPTY, os.strerror(errno.ENOTEMPTY), path)
        elif original.__name__ == "rmdir":
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path)
        layer.remove(own)
        return None

    return _told(original, layer, call)


def _rmtree(original: Call, layer: Layer) -> Call:
    def call(path: AnyPath, *more: Any, **named: Any) -> Any:
        own = layer.own(path)
        if own is None or not layer.is_folder(own) or os.path.islink(path):
            return original(layer.reading(path), *more, **named)
        layer.remove(own)
        return None

    return _told(original, layer, call)


def _moves(original: Call, layer: Layer) -> Call:
    def call(source: AnyPath, target: AnyPath, *more: Any, **named: Any) -> Any:
        own, to = layer.own(source), layer.own(target)
        if (own is None and to is None) or (own is not None and not layer.exists(own)):
            return original(layer.reading(source), layer.reading(target), *more, **named)
        if own == to:
            return None
        if to is not None and layer.exists(to):
            _refuse(os.path.isdir(source), to, layer)
        path = layer.writing(target, fresh=True)
        if to is not None:
            layer.hide(to)
        if own is None:
            return _brought(original, source, path)
        layer.moves(own, os.path.abspath(os.fsdecode(target)) if to is None else to)
        original(layer.above(own), path, *more, **named)
        layer.hide(own)
        return None

    return _told(original, layer, call)


def _refuse(of_folder: bool, to: str, layer: Layer) -> None:  # noqa: FBT001  private
    """Refuse what the system would: to move a file over a folder, or one over a full one."""
    number = 0
    if layer.is_folder(to):
        number = errno.ENOTEMPTY if of_folder and layer.names(to) else 0
        number = number if of_folder else errno.EISDIR
    elif of_folder:
        number = errno.ENOTDIR
    if number:
        raise OSError(number, os.strerror(number), to)


def _brought(original: Call, source: AnyPath, path: AnyPath) -> None:
    """Move from outside into the layer, which may lie on another disk."""
    try:
        original(source, path)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        copy(os.fsdecode(source), os.fsdecode(path))
        remove(os.fsdecode(source))


def _links(original: Call, layer: Layer) -> Call:
    def call(source: AnyPath, target: AnyPath, *more: Any, **named: Any) -> Any:
        if layer.own(target) is None:
            return original(source, target, *more, **named)
        if _is_there(target, layer):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), source, None, target)
        path = layer.writing(target, fresh=True)
        if original.__name__ == "link":
            return copy(os.fsdecode(layer.reading(source)), os.fsdecode(path))
        named_whole = os.path.isabs(os.fsdecode(source))
        return original(layer.reading(source) if named_whole else source, path, *more, **named)

    return _told(original, layer, call)


def _listdir(original: Call, layer: Layer) -> Call:
    def call(path: AnyPath = ".") -> Any:
        own = layer.own(path)
        if own is None or not layer.is_folder(own):
            return original(layer.reading(path))
        names = layer.names(own)
        return [os.fsencode(one) for one in names] if isinstance(path, bytes) else names

    return _told(original, layer, call)


class _Entries(contextlib.AbstractContextManager["_Entries"]):
    """What `os.scandir` gives: of a folder of which one part is in the layer, both."""

    def __init__(self, entries: list[os.DirEntry[Any]]) -> None:
        self._entries = iter(entries)

    def __iter__(self) -> Iterator[os.DirEntry[Any]]:
        return self._entries

    def __next__(self) -> os.DirEntry[Any]:
        return next(self._entries)

    def __exit__(self, *_: object) -> None:
        return None

    def close(self) -> None:
        """Do nothing: all was read."""


def _scandir(original: Call, layer: Layer) -> Call:
    def call(path: AnyPath = ".") -> Any:
        own = layer.own(path)
        if own is None or not layer.is_folder(own):
            return original(layer.reading(path))
        names = set(layer.names(own))
        found: dict[str, os.DirEntry[Any]] = {}
        for place in (layer.above(own), path):
            with contextlib.suppress(OSError), original(place) as entries:
                for entry in entries:
                    if os.fsdecode(entry.name) in names:
                        found.setdefault(os.fsdecode(entry.name), entry)
        return _Entries(list(found.values()))

    return _told(original, layer, call)


def _is_there(path: AnyPath, layer: Layer) -> bool:
    own = layer.own(path)
    return own is not None and layer.exists(own)


def _told(original: Call, layer: Layer, call: Call) -> Call:
    """Leave to the original what names no path, and speak of files by the names they were given."""

    @functools.wraps(original)
    def between(*given: Any, **named: Any) -> Any:
        if any(named.get(one) is not None for one in _OF_DESCRIPTORS):
            return original(*given, **named)
        try:
            return call(*given, **named)
        except OSError as error:
            for part in ("filename", "filename2"):
                if isinstance(said := getattr(error, part, None), str):
                    setattr(error, part, layer.said(said))
            raise

    return between


class Place(NamedTuple):
    """A function, and where it is kept."""

    holder: Any
    name: str
    between: Between


def _places() -> Iterator[Place]:
    of_os: Mapping[Between, tuple[str, ...]] = {
        reads: ("stat", "lstat", "access", "readlink", "statvfs", "chdir"),
        changes: ("chmod", "chown", "utime", "truncate"),
        _open_descriptor: ("open",),
        _mkdir: ("mkdir",),
        _removes: ("remove", "unlink", "rmdir"),
        _moves: ("rename", "replace"),
        _links: ("link", "symlink"),
        _listdir: ("listdir",),
        _scandir: ("scandir",),
    }
    yield Place(builtins, "open", _open)
    yield Place(io, "open", _open)
    yield Place(shutil, "rmtree", _rmtree)
    paths_own = getattr(pathlib, "_normal_accessor", os)  # of Python 3.10
    for between, names in of_os.items():
        for holder in dict.fromkeys((os, paths_own)):
            yield from (Place(holder, one, between) for one in names if hasattr(holder, one))
    if paths_own is not os:
        yield Place(paths_own, "open", _open)
    # Where these are asked of the system itself, and not of `os.stat`.
    for name in ("exists", "lexists", "isfile", "isdir", "islink"):
        if type(getattr(os.path, name)) is type(len):
            yield Place(os.path, name, reads)


def lay_over(layer: Layer) -> Call:
    """Have all that Python's own functions write go into the layer; what is given undoes it."""
    before = []
    for holder, name, between in list(_places()):
        original = getattr(holder, name)
        replacement = between(original, layer)
        before.append((holder, name, original))
        setattr(holder, name, replacement)
        for able in (os.supports_dir_fd, os.supports_fd, os.supports_follow_symlinks):
            if original in able:
                able.add(replacement)

    def undo() -> None:
        for holder, name, original in before:
            setattr(holder, name, original)

    return undo


@contextlib.contextmanager
def laid_over(layer: Layer) -> Iterator[None]:
    """Do so for a while."""
    undo = lay_over(layer)
    try:
        yield
    finally:
        undo()
