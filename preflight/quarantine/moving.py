"""Moves one file so that it is whole in one of the two places whenever the process dies."""

from __future__ import annotations

import contextlib
import errno
import functools
import hashlib
import os
import shutil
import stat
import sys
from collections.abc import Callable, Iterator

from preflight.quarantine.quarantined import Identity

_PIECE = 1 << 20

# What a file system answers that has no hard links, or no way to rename without replacing.
_CANNOT = {errno.EPERM, errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EMLINK}


class ChangedError(Exception):
    """It is another file than the one that was listed."""


def identity_of(path: str) -> Identity:
    """Give what a file takes along when it is renamed; of a link, its own.

    Raises:
        OSError: it cannot be seen.
    """
    return identity_in(os.lstat(path))


def identity_in(status: os.stat_result) -> Identity:
    """Give the same of a file that was looked at already."""
    return status.st_size, status.st_mtime_ns, status.st_ino


def rename_new(source: str, target: str) -> None:
    """Rename a file to where nothing lies.

    That is one step of the system wherever it has one. Where it has none, the file has both names
    for a moment; one that kept both when the process died loses the old one here.

    Raises:
        FileExistsError: something lies there.
        OSError: it cannot be renamed; EXDEV: that is another file system.
    """
    if os.name == "nt":  # never replaces
        os.rename(source, target)
        return
    try:
        if _renamed_in_one_step(source, target):
            return
        os.link(source, target, follow_symlinks=False)
    except FileExistsError:
        if not _is_same_file(source, target):
            raise
    except OSError as error:
        if error.errno not in _CANNOT:
            raise
        if os.path.lexists(target):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), target) from error
        os.rename(source, target)
        return
    os.unlink(source)


def _renamed_in_one_step(source: str, target: str) -> bool:
    """Rename without replacing; False where the system or the file system has no such step."""
    rename = _exclusive_rename()
    if rename is None:
        return False
    code = rename(os.fsencode(source), os.fsencode(target))
    if code in _CANNOT:
        return False
    if code:
        raise OSError(code, os.strerror(code), source, None, target)
    return True


@functools.cache
def _exclusive_rename() -> Callable[[bytes, bytes], int] | None:
    """Find the system's rename that never replaces; it gives the number of its error, or 0."""
    import ctypes

    system = ctypes.CDLL(None, use_errno=True)
    try:
        if sys.platform == "linux":
            here, no_replace = ctypes.c_int(-100), ctypes.c_uint(1)
            linux = system.renameat2
            return lambda old, new: linux(here, old, here, new, no_replace) and ctypes.get_errno()
        mac, exclusive = system.renamex_np, ctypes.c_uint(4)
    except AttributeError:
        return None
    return lambda old, new: mac(old, new, exclusive) and ctypes.get_errno()


def _is_same_file(one: str, other: str) -> bool:
    try:
        return os.path.samestat(os.lstat(one), os.lstat(other))
    except OSError:
        return False


def copy_new(source: str, target: str) -> None:
    """Copy a file to where nothing lies, wait until it is stored, and read it back.

    Raises:
        FileExistsError: something lies there.
        OSError: it cannot be copied, or what was stored is not what was read.
    """
    if os.path.islink(source):
        os.symlink(os.readlink(source), target)
        return
    with open(source, "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(errno.EINVAL, "it is no regular file", source)
        handle = os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY | _BINARY, 0o600)
        with os.fdopen(handle, "wb") as copy:
            read = hashlib.blake2b()
            for piece in _pieces(file.read):
                read.update(piece)
                copy.write(piece)
            copy.flush()
            os.fsync(copy.fileno())
    with contextlib.suppress(OSError):  # owners and attributes that only others may set
        shutil.copystat(source, target)
    if digest_of(target) != read.digest():
        raise OSError(errno.EIO, "what was stored is not what was read", target)


_BINARY = getattr(os, "O_BINARY", 0)


def _pieces(read: Callable[[int], bytes]) -> Iterator[bytes]:
    while piece := read(_PIECE):
        yield piece


def digest_of(path: str) -> bytes:
    """Say in short what a file holds, or where a link leads.

    Raises:
        OSError: it cannot be read.
    """
    if os.path.islink(path):
        return b"->" + os.fsencode(os.readlink(path))
    digest = hashlib.blake2b()
    with open(path, "rb") as file:
        for piece in _pieces(file.read):
            digest.update(piece)
    return digest.digest()


def store_names(folder: str) -> None:
    """Wait until the names in a folder are stored, where the system can."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


@contextlib.contextmanager
def alone(folder: str) -> Iterator[None]:
    """Wait until no other process brings back from this folder, where the system has locks.

    The system takes the lock from a process that dies. Without one, two that bring back the same
    copy may each end with an error; what was moved stays where it is then.
    """
    try:
        import fcntl
    except ImportError:
        yield
        return
    with open(os.path.join(folder, "lock"), "ab") as file:
        with contextlib.suppress(OSError):
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
