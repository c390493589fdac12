"""What writers of files rely on, as the system does it; a test has one that does it otherwise."""

from __future__ import annotations

import errno
import importlib.util
import os
from typing import Any


class Files:
    """A file system, as far as the probe uses it."""

    def make_folder(self, path: str) -> None:
        """Make a folder that is not there yet."""
        os.mkdir(path)

    def write(self, path: str, data: bytes) -> None:
        """Write a file in place."""
        with open(path, "wb", buffering=0) as file:
            view = memoryview(data)
            while view:
                view = view[file.write(view) or 0 :]

    def read(self, path: str) -> bytes:
        """Read a file whole."""
        with open(path, "rb", buffering=0) as file:
            return file.read()

    def replace(self, source: str, target: str) -> None:
        """Rename a file, over another one that may be there."""
        os.replace(source, target)

    def create(self, path: str) -> bool:
        """Create a file, and say whether it was us who did."""
        try:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
        except FileExistsError:
            return False
        return True

    def lock(self, kind: str, file: Any) -> bool:
        """Take a lock of a file that is open for writing, unless somebody has it.

        Raises:
            OSError: the system refuses it, or has none.
        """
        fcntl = _locks()
        take = fcntl.flock if kind == "flock" else fcntl.lockf
        try:
            take(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except (BlockingIOError, PermissionError):
            return False
        return True

    def unlock(self, kind: str, file: Any) -> None:
        """Give it back."""
        fcntl = _locks()
        (fcntl.flock if kind == "flock" else fcntl.lockf)(file, fcntl.LOCK_UN)

    def is_there(self, path: str) -> bool:
        """Whether there is a file of this name."""
        return os.path.exists(path)


def _locks() -> Any:
    try:
        import fcntl
    except ImportError as error:  # Windows
        raise OSError(errno.ENOSYS, "this system has no such locks") from error
    return fcntl


PLAIN = f"{__name__}:Files"


def load(place: str) -> Files:
    """Give the layer of a name: `preflight.storage.system_files:Files`, or `file.py:name`."""
    home, _, name = place.rpartition(":")
    if not home.endswith(".py"):
        found: Files = getattr(importlib.import_module(home), name)()
        return found
    spec = importlib.util.spec_from_file_location("layers", home)
    assert spec is not None  # noqa: S101  for the type checker
    assert spec.loader is not None  # noqa: S101
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    made: Files = getattr(module, name)()
    return made
