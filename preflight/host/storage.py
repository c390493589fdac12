"""How much room there is where the job writes."""

from __future__ import annotations

import os
import shutil


def free_bytes(path: str) -> int | None:
    """Give the bytes that this user may still write at a path; None where nobody can say.

    Of a path that is not there yet, the nearest folder above it is asked.
    """
    place = os.path.abspath(path)
    while not os.path.isdir(place) and os.path.dirname(place) != place:
        place = os.path.dirname(place)
    try:
        return shutil.disk_usage(place).free
    except OSError:
        return None
