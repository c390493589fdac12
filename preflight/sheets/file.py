"""Writes a sheet whole or not at all, below those that the same run has written."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from typing import Any

# By which a sheet knows its run.
_RUN = "preflight-run"

# Rows of pixels beyond which nobody looks any further.
_TALLEST = 60_000

# Another process of the run holds the lock while it writes one picture.
_PATIENCE, _POLL = 10.0, 0.02


class NoRoomError(Exception):
    """The sheet is as long as it can be."""


def write(path: str, image: Any, run: str) -> None:
    """Write a sheet; where this run has written some already, below them.

    Raises:
        OSError: it cannot be written.
        NoRoomError: there are too many.
    """
    from PIL.PngImagePlugin import PngInfo

    info = PngInfo()
    info.add_text(_RUN, run)
    folder = os.path.dirname(path)
    with _lock(folder):
        whole = _below(path, image, run)
        temporary = os.path.join(folder, f".writing-{os.urandom(8).hex()}")
        handle = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY | _BINARY, 0o600)
        try:
            with os.fdopen(handle, "wb") as file:
                whole.save(file, "PNG", pnginfo=info)
            os.replace(temporary, path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise


_BINARY = getattr(os, "O_BINARY", 0)


def _below(path: str, image: Any, run: str) -> Any:
    """Set a sheet below what the run has written; what others wrote is not read."""
    from PIL import Image

    try:
        with Image.open(path, formats=["PNG"]) as before:
            if before.info.get(_RUN) != run:
                return image
            if before.height + image.height > _TALLEST:
                raise NoRoomError("the sheets before it fill the picture")
            whole = Image.new("RGB", (max(before.width, image.width), before.height + image.height))
            whole.paste(before.convert("RGB"), (0, 0))
    except (OSError, ValueError, Image.DecompressionBombError):
        return image
    whole.paste(image, (0, before.height))
    return whole


@contextlib.contextmanager
def _lock(folder: str) -> Iterator[None]:
    """Have one process write at a time, where the system can hold a folder."""
    try:
        import fcntl

        held = os.open(folder, os.O_RDONLY)
    except (ImportError, OSError):
        yield
        return
    try:
        until = time.monotonic() + _PATIENCE
        while time.monotonic() < until:
            try:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                time.sleep(_POLL)
            except OSError:  # not there on this file system
                break
        yield
    finally:
        os.close(held)
