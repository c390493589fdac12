"""Tells whether a file lies in memory already, or has to be brought in from where it is stored."""

from __future__ import annotations

import os

# Places at which a file is asked whether it is in memory. Others each time, and few: the question
# itself has Linux bring in what stands there.
_PLACES = 2


def is_cold(path: str) -> bool:
    """Whether a file would have to be brought in; False where the system does not say.

    Raises:
        OSError: it cannot be opened.
    """
    with open(path, "rb", buffering=0) as stream:
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
