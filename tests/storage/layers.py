"""File systems that do not do what writers rely on, simulated over one that does."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
import time
from typing import Any

from preflight.storage.system_files import Files


class RenameByCopying(Files):
    """A rename that removes the old file and copies the new one, as mounted buckets do."""

    def replace(self, source: str, target: str) -> None:
        """Leave a reader without a file, then with half of one."""
        with contextlib.suppress(FileNotFoundError):  # another writer may have removed it
            os.unlink(target)
        time.sleep(0.002)
        with open(source, "rb") as old, open(target, "wb", buffering=0) as new:
            data = old.read()
            new.write(data[: len(data) // 2])
            time.sleep(0.002)
            new.write(data[len(data) // 2 :])


class IdleLocks(Files):
    """Locks that everybody gets at any time, as some network mounts have them."""

    def lock(self, kind: str, file: Any) -> bool:
        """Give it to whoever asks."""
        return True

    def unlock(self, kind: str, file: Any) -> None:
        """Do nothing."""


class NoFlock(Files):
    """A mount without flock, as Lustre is without its option `flock`."""

    def lock(self, kind: str, file: Any) -> bool:
        """Refuse one kind."""
        if kind == "flock":
            raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
        return super().lock(kind, file)


class NoFcntl(Files):
    """A system whose Python has no module for locks, as Windows."""

    def __init__(self) -> None:
        sys.modules["fcntl"] = None  # type: ignore[assignment]


class SharedCreation(Files):
    """O_EXCL that looks first and creates then, as NFS 2 did."""

    def create(self, path: str) -> bool:
        """Let several find that it is not there."""
        if os.path.lexists(path):
            return False
        time.sleep(0.002)
        with open(path, "wb"):
            return True


class FoldedCase(Files):
    """Names in which capital letters make no difference, as on macOS and Windows."""

    def is_there(self, path: str) -> bool:
        """Look for it by its small letters."""
        names = [name.lower() for name in os.listdir(os.path.dirname(path))]
        return os.path.basename(path).lower() in names


class ReadOnly(Files):
    """A file system that was remounted for reading only when its disk failed."""

    def make_folder(self, path: str) -> None:
        """Refuse it."""
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))


class Full(Files):
    """A file system on which there is room for a folder, and for no file."""

    def write(self, path: str, data: bytes) -> None:
        """Refuse what is not empty."""
        if data:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        super().write(path, data)


class HangingLocks(Files):
    """Locks for which one waits for ever, as on NFS whose lock daemon is gone."""

    def lock(self, kind: str, file: Any) -> bool:
        """Wait."""
        time.sleep(60)
        return False


class FullLater(Files):
    """Room for a few files, and not for all that several processes create."""

    def create(self, path: str) -> bool:
        """Refuse the fourth of each."""
        if path.endswith("-3"):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return super().create(path)
