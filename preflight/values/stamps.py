"""What tells one content of a file from another, when nothing of it is read."""

from __future__ import annotations

import os
import time
from array import array
from collections.abc import Sequence
from typing import TypeAlias

YOUNG = 2 * 10**9
"""A file that changed less than this ago may change again without its time stamp telling it: that
of FAT has steps of 2 s. In nanoseconds."""

FIELDS = 4
"""The numbers of a mark: bytes, when it was last written, when it last changed in any way, both in
ns since the epoch, and the number of its inode."""

NOBODY_KNOWS = -1
"""Stands for the second time in the mark of a file that may have changed since."""

Mark: TypeAlias = tuple[int, int, int, int]

GONE: Mark = (0, 0, NOBODY_KNOWS, 0)
"""The mark of a file that is not there."""


def unsure(mark: Mark) -> Mark:
    """Give the mark of the same file where it may have changed since."""
    return mark[0], mark[1], NOBODY_KNOWS, 0


def marked(status: os.stat_result) -> Mark:
    """Give what tells one content of a file from another.

    Whoever copies a file in place and keeps its time, as `cp -p` does, cannot keep that of its
    inode (of its birth, on Windows).
    """
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino


def stamps_of(folder: str, names: Sequence[str]) -> array[int]:
    """Give the marks of all these files, one behind the other.

    Of one that is not there, and of one that is numbered beyond 63 bits, as some file systems do,
    nobody knows.
    """
    marks, begin = array("q"), os.path.join(folder, "")
    for name in names:
        try:
            marks.extend(marked(os.stat(begin + name)))
        except (OSError, OverflowError):
            del marks[len(marks) // FIELDS * FIELDS :]
            marks.extend(GONE)
    return marks


def digest_of(names: Sequence[str], marks: array[int]) -> str | None:
    """Say in short what tells one content of all these files from another.

    None where nobody knows of one of them, or one is too young to be told from what it may become.
    """
    newest = time.time_ns() - YOUNG
    if NOBODY_KNOWS in marks[2::FIELDS] or max(marks[1::FIELDS], default=0) > newest:
        return None
    from hashlib import blake2b

    digest = blake2b("\0".join(names).encode("utf-8", "surrogatepass"), digest_size=16)
    digest.update(marks)
    return digest.hexdigest()
