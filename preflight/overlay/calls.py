"""What stands between a layer and each function by which Python reads and writes files."""

from __future__ import annotations

import contextlib
import errno
import functools
import os
from collections.abc import Callable, Iterator
from typing import Any

from preflight.overlay.between import Call, told
from preflight.overlay.layer import Layer, like, refusal
from preflight.overlay.on_disk import AnyPath, copy, remove
from preflight.values.own_files import passes_on

_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


def reads(original: Call, layer: Layer, guard: Callable[[Call], Call] = lambda call: call) -> Call:
    """Have the first argument read where it is; what may fail by us is put through `guard`."""

    def call(path: AnyPath, *more: Any, **named: Any) -> Any:
        return original(layer.reading(path), *more, **named)

    slowly = guard(told(original, layer, call))
    at_once = getattr(original, "__wrapped__", original)
    begun = layer.begun

    @passes_on
    @functools.wraps(original)
    def read(*given: Any, **named: Any) -> Any:
        # For twenty thousand paths of `import torch`, nothing is laid over the disk as yet.
        return (slowly if begun[0] else at_once)(*given, **named)

    return read


def says(original: Call, layer: Layer) -> Call:
    """Have a path of the layer given by the name that the script knows."""

    def call(path: AnyPath = None, *more: Any, **named: Any) -> Any:
        given = () if path is None else (layer.reading(path),)
        return layer.named(original(*given, *more, **named))

    return told(original, layer, call)


def changes(original: Call, layer: Layer) -> Call:
    """Have a file changed in a copy of it."""

    def call(path: AnyPath, *more: Any, **named: Any) -> Any:
        own = layer.own(path)
        if own is None or not layer.exists(own):
            return original(layer.reading(path), *more, **named)
        if layer.is_folder(own):
            return None  # the mode or the time of a folder that stays as it is
        return original(layer.writing(path, fresh=False), *more, **named)

    return told(original, layer, call)


def opens(original: Call, layer: Layer) -> Call:
    """Have what is to be written opened in the layer."""

    def call(file: AnyPath, mode: str = "r", *more: Any, **named: Any) -> Any:
        if named.get("opener") is not None:  # which says itself what it opens, and by `os.open`
            return original(file, mode, *more, **named)
        path = place_of(file, mode, layer)
        return _as_named(original(path, mode, *more, **named), file, path)

    return told(original, layer, call)


def place_of(file: AnyPath, mode: str, layer: Layer) -> AnyPath:
    """Give the path of what is opened in a mode: in the layer, where it is to be written."""
    if not isinstance(mode, str) or not set(mode) & set("wax+"):
        return layer.opening(file)
    is_new = "x" in mode and _is_there(file, layer)
    return layer.reading(file) if is_new else _to_write(file, layer, fresh="w" in mode)


def _as_named(opened: Any, file: AnyPath, path: AnyPath) -> Any:
    """Have an open file say the name that it was given."""
    if path is not file:
        raw = getattr(opened, "buffer", opened)
        getattr(raw, "raw", raw).name = os.fspath(file)
    return opened


def opens_descriptor(original: Call, layer: Layer) -> Call:
    """Have what is to be written opened in the layer."""

    def call(path: AnyPath, flags: int, *more: Any, **named: Any) -> Any:
        if not isinstance(flags, int):
            return original(path, flags, *more, **named)
        is_new = flags & os.O_EXCL and _is_there(path, layer)
        if not flags & _WRITES or is_new:
            return original(layer.opening(path), flags, *more, **named)
        fresh = bool(flags & os.O_TRUNC)
        return original(_to_write(path, layer, fresh=fresh), flags, *more, **named)

    return told(original, layer, call)


def _to_write(path: AnyPath, layer: Layer, *, fresh: bool) -> AnyPath:
    own = layer.own(path)
    if own is not None and layer.is_folder(own):
        raise refusal(errno.EISDIR, path)
    return layer.writing(path, fresh=fresh)


def makes_folder(original: Call, layer: Layer) -> Call:
    """Have a folder made in the layer."""

    def call(path: AnyPath, *more: Any, **named: Any) -> Any:
        if _is_there(path, layer):
            raise refusal(errno.EEXIST, path)
        return original(layer.writing(path, fresh=True), *more, **named)

    return told(original, layer, call)


def removes(original: Call, layer: Layer) -> Call:
    """Have a file or an empty folder seen no more."""

    def call(path: AnyPath, *more: Any, **named: Any) -> Any:
        own = layer.own(path)
        if own is None or not layer.exists(own):
            return original(layer.reading(path), *more, **named)
        is_link = os.path.islink(path)
        if layer.is_folder(own) and not is_link:
            if original.__name__ != "rmdir":
                raise refusal(errno.EISDIR, path)
            if layer.names(own):
                raise refusal(errno.ENOTEMPTY, path)
        elif original.__name__ == "rmdir":
            raise refusal(errno.ENOTDIR, path)
        layer.remove(own)
        return None

    return told(original, layer, call)


def removes_all(original: Call, layer: Layer) -> Call:
    """Have a folder seen no more, with all that is in it."""

    def call(path: AnyPath, *more: Any, **named: Any) -> Any:
        own = layer.own(path)
        if own is None or not layer.is_folder(own) or os.path.islink(path):
            return original(layer.reading(path), *more, **named)
        layer.remove(own)
        return None

    return told(original, layer, call)


def moves(original: Call, layer: Layer) -> Call:
    """Have a file or a folder moved within the layer, or into it."""

    def call(src: AnyPath, dst: AnyPath, *more: Any, **named: Any) -> Any:
        own, to = layer.own(src), layer.own(dst)
        is_none = not dst or (own is not None and not layer.exists(own))
        if is_none or (own is None and to is None):
            return original(layer.reading(src), layer.reading(dst), *more, **named)
        if own == to:
            return None
        if to is not None and layer.exists(to):
            _refuse(os.path.isdir(src), to, layer)
        path = layer.writing(dst, fresh=True)
        if to is not None:
            layer.hide(to)
        if own is None:
            return _brought(original, src, path)
        layer.moves(own, os.path.abspath(os.fsdecode(dst)) if to is None else to)
        original(layer.above(own), path, *more, **named)
        layer.hide(own)
        return None

    return told(original, layer, call)


def _refuse(of_folder: bool, to: str, layer: Layer) -> None:  # noqa: FBT001  private
    """Refuse what the system would: to move a file over a folder, or one over a full one."""
    number = 0
    if layer.is_folder(to):
        number = errno.ENOTEMPTY if of_folder and layer.names(to) else 0
        number = number if of_folder else errno.EISDIR
    elif of_folder:
        number = errno.ENOTDIR
    if number:
        raise refusal(number, to)


def _brought(original: Call, source: AnyPath, path: AnyPath) -> None:
    """Move from outside into the layer, which may lie on another disk."""
    try:
        original(source, path)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        copy(os.fsdecode(source), os.fsdecode(path))
        remove(os.fsdecode(source))


def links(original: Call, layer: Layer) -> Call:
    """Have a link made in the layer."""

    def call(src: AnyPath, dst: AnyPath, *more: Any, **named: Any) -> Any:
        if layer.own(dst) is None:
            return original(src, dst, *more, **named)
        if _is_there(dst, layer):
            raise refusal(errno.EEXIST, src, dst)
        path = layer.writing(dst, fresh=True)
        if original.__name__ == "link":
            return copy(os.fsdecode(layer.reading(src)), os.fsdecode(path))
        named_whole = os.path.isabs(os.fsdecode(src))
        return original(layer.reading(src) if named_whole else src, path, *more, **named)

    return told(original, layer, call)


def lists(original: Call, layer: Layer) -> Call:
    """Have a folder listed as it is with the layer."""

    def call(path: AnyPath = ".") -> Any:
        own = layer.own(path)
        if own is None or not layer.is_folder(own):
            return original(layer.reading(path))
        names = layer.names(own)
        return [os.fsencode(one) for one in names] if isinstance(path, bytes) else names

    return told(original, layer, call)


class _Entry:
    """What `os.scandir` gives of a file in the layer, by the name under which it was looked for."""

    def __init__(self, entry: os.DirEntry[Any], folder: AnyPath) -> None:
        self._entry = entry
        self.name = entry.name
        self.path = os.path.join(os.fspath(folder), entry.name)

    @passes_on
    def __getattr__(self, name: str) -> Any:
        return getattr(self._entry, name)

    def __fspath__(self) -> Any:
        return self.path

    def __repr__(self) -> str:
        return repr(self._entry)


class _Entries(contextlib.AbstractContextManager["_Entries"]):
    """What `os.scandir` gives: of a folder of which one part is in the layer, both."""

    def __init__(self, entries: list[Any]) -> None:
        self._entries = iter(entries)

    def __iter__(self) -> Iterator[Any]:
        return self._entries

    @passes_on
    def __next__(self) -> Any:
        return next(self._entries)

    def __exit__(self, *_: object) -> None:
        return None

    def close(self) -> None:
        """Do nothing: all was read."""


def scans(original: Call, layer: Layer) -> Call:
    """Have a folder listed as it is with the layer, with what each part of it is."""

    def call(path: AnyPath = ".") -> Any:
        own = layer.own(path)
        if own is None or not layer.is_folder(own):
            return original(layer.reading(path))
        names = set(layer.names(own))
        found: dict[str, Any] = {}
        above = layer.above(own)
        with contextlib.suppress(OSError), original(like(path, above)) as entries:
            found |= {os.fsdecode(one.name): _Entry(one, path) for one in entries}
        apart = layer.is_entered
        with contextlib.suppress(OSError), original(like(path, own) if apart else path) as entries:
            every = (_Entry(one, path) if apart else one for one in entries)
            found = {os.fsdecode(one.name): one for one in every} | found
        return _Entries([one for name, one in found.items() if name in names])

    return told(original, layer, call)


def _is_there(path: AnyPath, layer: Layer) -> bool:
    own = layer.own(path)
    return own is not None and layer.exists(own)
