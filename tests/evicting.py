"""Drops files from memory, as if nobody had read them since the machine was started."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

# A journal may hold what was just written for a moment.
_TRIES = 60
_MOMENT = 0.1


def evicted(path: Path) -> Path:
    """Have the system drop a file from memory; skip where it does not do so, or does not say."""
    evict([path])
    return path


def evict(paths: Sequence[Path]) -> None:
    """Have the system drop most of these files; skip where it does not do so, or does not say.

    Pages that were read a moment ago may stay, since each processor notes them in batches.
    """
    left = list(paths)
    for _ in range(_TRIES):
        left = [path for path in left if not _drop(path)]
        if len(left) <= 0.1 * len(paths):
            return
        time.sleep(_MOMENT)
    pytest.skip("this file system keeps its files in memory")


def _drop(path: Path) -> bool:
    if not hasattr(os, "posix_fadvise") or not hasattr(os, "RWF_NOWAIT"):
        pytest.skip("this system does not say what is in memory")
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        middle = os.fstat(descriptor).st_size // 2
        os.preadv(descriptor, [bytearray(1)], middle, os.RWF_NOWAIT)
    except BlockingIOError:
        return True
    except OSError as error:
        pytest.skip(f"this file system does not say what is in memory: {error}")
    finally:
        os.close(descriptor)
    return False
