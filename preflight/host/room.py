"""How much room there is for batches on their way from workers to the training process."""

from __future__ import annotations

import os

SHARED = "/dev/shm"  # noqa: S108  where Linux has what processes share


def shared_memory() -> tuple[int | None, int | None]:
    """Give the bytes of /dev/shm, and those that are free; None where there is no such place."""
    try:
        told = os.statvfs(SHARED)
    except (AttributeError, OSError):  # Windows, macOS
        return None, None
    return told.f_blocks * told.f_frsize, told.f_bavail * told.f_frsize


def open_files() -> int | None:
    """Give how many files this process may have open; None: as many as it likes."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return None if soft == resource.RLIM_INFINITY else soft
