"""Where a path is read and written, while all that is written goes to a folder of ours."""

from __future__ import annotations

import contextlib
import errno
import io
import json
import os
import stat
import tempfile
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

AnyPath: TypeAlias = Any
"""What the functions of `os` take for a path: also bytes, `Path`, and descriptors."""

# By what the layer itself works, as it was before anything stood in its place.
_lstat, _stat, _listdir = os.lstat, os.stat, os.listdir
_mkdir, _rename, _access = os.mkdir, os.rename, os.access
_unlink, _rmdir, _symlink, _readlink = os.unlink, os.rmdir, os.symlink, os.readlink
_open = io.open

_AT_ONCE = 1 << 20

# Folders of which each file is a door to the system.
_DEVICES = ("/dev", "/proc", "/sys")


def not_laid_over() -> tuple[str, ...]:
    """Name the folders that are written for real: scratch of the system, caches of libraries."""
    home = os.path.expanduser("~")
    caches = os.environ.get("XDG_CACHE_HOME") or os.path.join(home, ".cache")
    named = (os.environ.get(one) for one in ("HF_HOME", "TORCH_HOME", "TRITON_CACHE_DIR"))
    folders = (tempfile.gettempdir(), caches, *(one for one in named if one), *_DEVICES)
    return tuple(os.path.abspath(one) for one in folders)


class Layer:
    """What was written, moved or removed; all else is as it lies below."""

    def __init__(
        self, folder: str, *, always: tuple[str, ...], never: tuple[str, ...] | None = None
    ) -> None:
        self._home = os.path.abspath(folder)
        self._files = os.path.join(self._home, "files")
        self._kept = os.path.join(self._home, "kept")
        self._removed = os.path.join(self._home, "removed.txt")
        self._always = tuple(os.path.abspath(one) for one in always)
        self._never = not_laid_over() if never is None else never
        self._keeping: set[str] = set()
        self.on_move: Callable[[str, str], None] | None = None
        """Told of what is moved, from where and to where."""

        if not _is_folder(self._files):
            make_folders(self._files)
            os.utime(self._files, (0, 0))
        make_folders(self._kept)
        self._hidden = self._removed_before()
        self._is_empty = not self._hidden

    def _removed_before(self) -> set[str]:
        """Name what a process before this one has removed."""
        try:
            with _open(self._removed, encoding="utf-8", errors="surrogateescape") as file:
                return {json.loads(line) for line in file}
        except FileNotFoundError:
            return set()

    def own(self, path: AnyPath) -> str | None:
        """Give the path that is meant, where the layer lies over it; None of all others."""
        try:
            named = os.fsdecode(path)
        except TypeError:  # a descriptor
            return None
        full = os.path.abspath(named)
        if _is_below(full, self._files):
            full = self._below(full)
        elif _is_below(full, self._home):
            return None
        within = [one for one in (*self._always, *self._never) if _is_below(full, one)]
        return None if within and max(within, key=len) not in self._always else full

    def above(self, own: str) -> str:
        """Give where it lies in the layer."""
        drive, rest = os.path.splitdrive(own)
        return os.path.join(self._files, drive.strip(":\\/") or "_", rest.lstrip("\\/"))

    def _below(self, above: str) -> str:
        drive, _, rest = os.path.relpath(above, self._files).partition(os.sep)
        if os.name == "nt" and drive not in {"_", "."}:
            return f"{drive}:{os.sep}{rest}" if len(drive) == 1 else f"\\\\{drive}\\{rest}"
        return os.sep + rest

    def reading(self, path: AnyPath) -> AnyPath:
        """Give the path where it is to be read."""
        if self._is_still_empty():  # so are thousands of paths that are read by `import torch`
            return path
        own = self.own(path)
        if own is None:
            return path
        above = self.above(own)
        if _exists(above) or self._is_hidden(own):
            return _like(path, above)
        if os.path.isabs(os.fsdecode(path)) and not _is_below(os.fsdecode(path), self._files):
            return path
        return _like(path, own)

    def _is_still_empty(self) -> bool:
        """Whether no process has written anything: the first file gives its folder a time."""
        if self._is_empty:
            try:
                self._is_empty = not _stat(self._files).st_mtime_ns
            except FileNotFoundError:  # taken away, once the script has ended
                return True
        return self._is_empty

    def writing(self, path: AnyPath, *, fresh: bool) -> AnyPath:
        """Give the path where it is to be written; unless `fresh`, with what it holds already.

        Raises:
            PermissionError: below, it could not be written.
        """
        own = self.own(path)
        if own is None:
            return path
        above = self.above(own)
        self._make_parent(own)
        real = own if _exists(own) and not self._is_hidden(own) else None
        if real is not None and not _is_folder(real) and not _access(real, os.W_OK):
            raise _error(errno.EACCES, own)
        if _exists(above):
            self.keep_aside(own, moved=fresh)
        elif real is not None and not fresh:
            copy(real, above)
        return _like(path, above)

    def _make_parent(self, own: str) -> None:
        parent = os.path.dirname(own)
        if not _is_folder(self.reading(parent)):
            return  # what is to be done will fail, and say so
        if _is_folder(parent) and not self._is_hidden(parent) and not _access(parent, os.W_OK):
            raise _error(errno.EACCES, own)
        make_folders(self.above(parent))

    def exists(self, own: str) -> bool:
        """Whether it is there, in the layer or below."""
        return _exists(self.above(own)) or (not self._is_hidden(own) and _exists(own))

    def is_folder(self, own: str) -> bool:
        """Whether it is a folder, in the layer or below."""
        return _is_folder(self.reading(own))

    def names(self, own: str) -> list[str]:
        """List a folder: what was written, and what lies below and was not removed.

        Raises:
            OSError: it cannot be listed.
        """
        above = self.above(own)
        names = dict.fromkeys(_listdir(above)) if _is_folder(above) else {}
        if not self._is_hidden(own) and (_is_folder(own) or not names):
            under = _listdir(own) if _is_folder(own) or not _is_folder(above) else []
            for name in under:
                if os.path.join(own, name) not in self._hidden:
                    names.setdefault(name)
        return list(names)

    def moves(self, own: str, to: str) -> None:
        """Have a file or a folder ready in the layer, so that it can be moved."""
        if own in self._keeping:  # under its new name
            self._keeping.remove(own)
            self._keeping.add(to)
        self.keep_aside(own, moved=False)
        self._bring(own)
        if self.on_move is not None:
            self.on_move(own, to)

    def _bring(self, own: str) -> None:
        if not self.is_folder(own):
            self.writing(own, fresh=False)
            return
        make_folders(self.above(own))
        for name in self.names(own):
            self._bring(os.path.join(own, name))

    def remove(self, own: str) -> None:
        """Take a file or a folder with all that is in it away: from the layer only."""
        above = self.above(own)
        self.keep_aside(own, moved=True)
        if _exists(above):
            remove(above)
        self.hide(own)

    def hide(self, own: str) -> None:
        """Have what lies below seen no more."""
        if _exists(own) and own not in self._hidden:
            self._hidden.add(own)
            self._is_empty = False
            with _open(self._removed, "a", encoding="utf-8") as file:
                file.write(json.dumps(own) + "\n")

    def keep(self, path: str) -> None:
        """Keep a file or a folder as it is now, whatever is written to it later."""
        if (own := self.own(path)) is not None:
            self._keeping.add(own)

    def restore(self) -> None:
        """Put back, of what was kept, what was written over or removed since."""
        for own, aside in list(self._set_aside()):
            above = self.above(own)
            if _exists(above):
                remove(above)
            make_folders(os.path.dirname(above))
            _rename(aside, above)
        self._keeping.clear()

    def _set_aside(self) -> Iterator[tuple[str, str]]:
        for aside in _files_of(self._kept):
            place = os.path.join(self._files, os.path.relpath(aside, self._kept))
            yield self._below(place), aside

    def keep_aside(self, own: str, *, moved: bool) -> None:
        """Save what is kept, before something else takes its place or is added to it."""
        if not any(_is_below(own, one) or _is_below(one, own) for one in self._keeping):
            return
        for name in list(_files_of(self.above(own))):
            aside = os.path.join(self._kept, os.path.relpath(name, self._files))
            if not _exists(aside):
                make_folders(os.path.dirname(aside))
                (_rename if moved else copy)(name, aside)

    def written(self) -> list[str]:
        """Name all files in the layer by the paths that they were written to."""
        return sorted(self._below(one) for one in _files_of(self._files))

    def said(self, text: str) -> str:
        """Give a text, such as that of an exception, without the folder of the layer."""
        return text.replace(os.path.join(self._files, "_"), "") if os.name != "nt" else text

    def _is_hidden(self, own: str) -> bool:
        return bool(self._hidden) and any(_is_below(own, one) for one in self._hidden)


def make_folders(path: str) -> None:
    """Make a folder, and those that it lies in, where they are not there."""
    if not _is_folder(path):
        make_folders(os.path.dirname(path))
        with contextlib.suppress(FileExistsError):
            _mkdir(path)


def copy(source: str, target: str) -> None:
    """Copy a file or a folder, with its links as they are."""
    if stat.S_ISLNK(_lstat(source).st_mode):
        _symlink(_readlink(source), target)
    elif _is_folder(source):
        make_folders(target)
        for name in _listdir(source):
            copy(os.path.join(source, name), os.path.join(target, name))
    else:
        with _open(source, "rb") as held, _open(target, "wb") as made:
            while piece := held.read(_AT_ONCE):
                made.write(piece)


def remove(path: str) -> None:
    """Remove a file, or a folder with all that is in it."""
    if stat.S_ISDIR(_lstat(path).st_mode):
        for name in _listdir(path):
            remove(os.path.join(path, name))
        _rmdir(path)
    else:
        _unlink(path)


def _files_of(path: str) -> Iterator[str]:
    if not _exists(path):
        return
    if not stat.S_ISDIR(_lstat(path).st_mode):
        yield path
        return
    for name in _listdir(path):
        yield from _files_of(os.path.join(path, name))


def _is_below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("\\/") + os.sep)


def _exists(path: str) -> bool:
    try:
        _lstat(path)
    except (OSError, ValueError):
        return False
    return True


def _is_folder(path: AnyPath) -> bool:
    try:
        return stat.S_ISDIR(_stat(path).st_mode)
    except (OSError, ValueError):
        return False


def _like(path: AnyPath, found: str) -> AnyPath:
    return os.fsencode(found) if isinstance(path, bytes) else found


def _error(number: int, path: str) -> OSError:
    return OSError(number, os.strerror(number), path)
