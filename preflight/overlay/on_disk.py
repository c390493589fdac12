"""Works on the disk itself, as it was before anything stood in place of Python's functions."""

from __future__ import annotations

import contextlib
import io
import mmap
import os
import stat as modes
from collections.abc import Iterator
from typing import Any, TypeAlias

AnyPath: TypeAlias = Any
"""What the functions of `os` take for a path: also bytes, `Path`, and descriptors."""

lstat, stat, listdir, getcwd = os.lstat, os.stat, os.listdir, os.getcwd
rename, access = os.rename, os.access
_mkdir, _unlink, _rmdir = os.mkdir, os.unlink, os.rmdir
_symlink, _readlink, _chmod = os.symlink, os.readlink, os.chmod
open_file = io.open

_AT_ONCE = 1 << 20


def make_folders(path: str) -> None:
    """Make a folder, and those that it lies in, where they are not there."""
    if not is_folder(path):
        make_folders(os.path.dirname(path))
        with contextlib.suppress(FileExistsError):
            _mkdir(path)


def copy(source: str, target: str) -> None:
    """Copy a file or a folder, with its links as they are."""
    if modes.S_ISLNK(lstat(source).st_mode):
        _symlink(_readlink(source), target)
    elif is_folder(source):
        make_folders(target)
        for name in listdir(source):
            copy(os.path.join(source, name), os.path.join(target, name))
    elif access(source, os.R_OK):
        with open_file(source, "rb") as held, open_file(target, "wb") as made:
            while piece := held.read(_AT_ONCE):
                made.write(piece)
    else:  # such as a log that may only be added to
        with open_file(target, "xb"):
            _chmod(target, stat(source).st_mode)


def common_byte(path: str) -> mmap.mmap:
    """Give a byte in memory that all processes have in common which name the same file."""
    with open_file(path, "a+b", buffering=0) as file:
        if not file.tell():
            file.write(b"\0")
        return mmap.mmap(file.fileno(), 1)


def remove(path: str) -> None:
    """Remove a file, or a folder with all that is in it."""
    if modes.S_ISDIR(lstat(path).st_mode):
        for name in listdir(path):
            remove(os.path.join(path, name))
        _rmdir(path)
    else:
        _unlink(path)


def path_of(descriptor: int) -> str:
    """Give the path of a file that is open, where the system tells it; else nothing."""
    try:
        return _readlink(f"/proc/self/fd/{descriptor}")
    except OSError:
        return ""


def files_of(path: str) -> Iterator[str]:
    """Give all files in a folder, or a file itself; none where nothing is."""
    if not exists(path):
        return
    if not modes.S_ISDIR(lstat(path).st_mode):
        yield path
        return
    for name in listdir(path):
        yield from files_of(os.path.join(path, name))


def is_below(path: str, folder: str) -> bool:
    """Whether a path is a folder or leads into it."""
    return path == folder or path.startswith(folder.rstrip("\\/") + os.sep)


def exists(path: str) -> bool:
    """Whether anything is there, be it a link that leads nowhere."""
    try:
        lstat(path)
    except (OSError, ValueError):
        return False
    return True


def is_folder(path: AnyPath) -> bool:
    """Whether a folder is there, or a link to one."""
    try:
        return modes.S_ISDIR(stat(path).st_mode)
    except (OSError, ValueError):
        return False
