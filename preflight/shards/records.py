"""Says which fields, beside images and texts, a decoder of webdataset raises on."""

from __future__ import annotations

import json

from preflight.formats.bytes.blocks import Read
from preflight.formats.bytes.damaged import DamagedError


def is_refused(extension: str, read: Read, size: int) -> bool:
    """Whether a file of this extension, one of `RECORDS`, does not decode."""
    try:
        if extension == "npy":
            from preflight.formats.arrays import npy  # few samples have one

            if bytes(read(0, len(npy.MAGIC))) != npy.MAGIC:
                return True
            npy.check(read, size)
        elif extension in ("json", "jsn"):
            json.loads(bytes(read(0, size)))
        else:
            int(bytes(read(0, size)))
    except (ValueError, DamagedError, RecursionError):
        return True
    return False
