"""Tells whether a file lies in memory already, or has to be brought in from where it is stored."""

from __future__ import annotations

import os
from io import FileIO

from preflight.formats.bytes.blocks import BLOCK
from preflight.formats.bytes.flaw import Flaw
from preflight.formats.tar.end import Read
from preflight.formats.tar.walk import nearby, walk

SMALL = 256 * 1024
"""Bytes of a sample up to which reading all of a cold shard takes no longer than going from header
to header: what a disk reads in the time that it takes to begin with something else."""

# Places at which a file is asked whether it is in memory. Others each time, and few: the question
# itself has Linux bring in what stands there.
_PLACES = 2

# Members that tell how large samples are, and bytes that are read at a time to see them.
_SOME = 48
_AHEAD = 128 * 1024


def is_cold(path: str) -> bool:
    """Whether a file would have to be brought in; False where the system does not say.

    Raises:
        OSError: it cannot be opened.
    """
    with open(path, "rb", buffering=0) as stream:
        return is_stream_cold(stream)


def is_stream_cold(stream: FileIO) -> bool:
    """Whether an open file would have to be brought in; see `is_cold`."""
    if not hasattr(os, "RWF_NOWAIT"):
        return False
    descriptor, byte = stream.fileno(), bytearray(1)
    size = os.fstat(descriptor).st_size
    for place in os.urandom(_PLACES):
        try:
            os.preadv(descriptor, [byte], size * place // 256, os.RWF_NOWAIT)
        except BlockingIOError:
            continue
        except OSError:  # this file system does not say
            return False
        return False
    return True


def bytes_at_a_time(read: Read, size: int) -> int:
    """Say how much of a cold archive is best read at a time: little where samples are large."""
    # What is seen of it here is in memory from now on.
    near = nearby(read, size)
    hop, near.ahead = near.ahead, _AHEAD
    keys: set[str] = set()
    end = 0
    for count, one in enumerate(walk(read, size, near=near)):
        if isinstance(one, Flaw) or count == _SOME:
            break
        folder, _, base = one.name.rpartition("/")
        keys.add(f"{folder}/{base.partition('.')[0]}")
        end = one.offset + one.size
    return BLOCK if keys and end <= SMALL * len(keys) else hop
