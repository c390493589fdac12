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
        elif extension in ("npz", "pth"):
            return _is_no_archive(extension, read, size)
        elif extension in ("json", "jsn"):
            json.loads(bytes(read(0, size)))
        else:
            int(bytes(read(0, size)))
    except (ValueError, DamagedError, RecursionError):
        return True
    return False


def _is_no_archive(extension: str, read: Read, size: int) -> bool:
    """Whether a zip of arrays or of tensors is none, or not whole; before 1.6 torch wrote others.

    Raises:
        DamagedError: it is not whole.
    """
    from preflight.formats.zip.archive import read_records
    from preflight.formats.zip.directory import MAGIC, read_archive

    if not size or bytes(read(0, len(MAGIC))) != MAGIC:
        return not size or extension == "npz"
    read_records(read, read_archive(read, size), lambda _: False)
    return False
