"""Reads a file that should be small and ordinary: settings, a saved report, a baseline."""

from __future__ import annotations

import os
import stat

LARGEST = 1 << 28
"""Bytes: more than the report of the largest run."""


class OddFileError(ValueError):
    """What was named is no file of that kind; the text says why."""


def read_small(path: str) -> bytes:
    """Read a whole file.

    Raises:
        OSError: it cannot be read.
        OddFileError: it is a pipe or a device, which might never end, or larger than LARGEST.
    """
    status = os.stat(path)
    if not stat.S_ISREG(status.st_mode):
        raise OddFileError(f"{path} is no regular file")
    if status.st_size > LARGEST:
        raise OddFileError(f"{path} is larger than {LARGEST:,} bytes")
    with open(path, "rb") as file:
        return file.read(LARGEST)
