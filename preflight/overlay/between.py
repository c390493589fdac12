"""Leaves to Python's own functions what is none of the layer's, and says whose an error is."""

from __future__ import annotations

import errno
import functools
import os
from collections.abc import Callable
from typing import Any, TypeAlias

from preflight.overlay.layer import Layer
from preflight.values.own_files import passes_on

Call: TypeAlias = Callable[..., Any]

# Of functions that are told a folder by a descriptor, the path alone says nothing.
_OF_DESCRIPTORS = ("dir_fd", "src_dir_fd", "dst_dir_fd")

_PATHS = ("path", "file", "src", "dst")

# What other threads and processes of the job come to between two steps of the layer.
_MEANWHILE = (errno.ENOENT, errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR, errno.EISDIR)


def told(original: Call, layer: Layer, call: Call) -> Call:
    """Leave to the original what names no path, and speak of files by the names they were given."""
    words = call.__code__.co_varnames[: call.__code__.co_argcount]

    @passes_on
    @functools.wraps(original)
    def between(*given: Any, **named: Any) -> Any:
        by_name = {**dict(zip(words, given, strict=False)), **named}
        is_below = any(named.get(one) is not None for one in _OF_DESCRIPTORS)
        if is_below or not all(_is_path(by_name[one]) for one in _PATHS if one in by_name):
            return original(*given, **named)
        try:
            return call(*given, **named)
        except OSError as error:
            if _is_of_job(error, layer):
                error.of_job = True  # type: ignore[attr-defined]  # also where the layer meets it
            for part in ("filename", "filename2"):
                if isinstance(said := getattr(error, part, None), str):
                    setattr(error, part, layer.said(said))
            raise

    return between


def _is_path(given: object) -> bool:
    try:
        return b"\0" not in os.fsencode(given)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return False


def _is_of_job(error: OSError, layer: Layer) -> bool:
    """Whether the system says so of a path of the job's, or its other processes have led to it."""
    is_elsewhere = isinstance(error.filename, (str, bytes)) and not layer.holds(error.filename)
    return is_elsewhere or error.errno in _MEANWHILE
