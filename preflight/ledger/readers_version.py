"""Names the version of our readers: of their sources, and of the libraries that decode for them."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Iterator, Sequence
from hashlib import blake2b

from preflight.values.own_files import PACKAGE
from preflight.values.version import __version__

_DECODERS = ("PIL", "simplejpeg", "pillow_heif", "pillow_jxl", "pillow_avif")


def readers_version() -> str:
    """Give a short word that changes when the same file might be seen otherwise.

    Files are told apart by their sizes and times, as Python does it that runs them: it takes a
    compiled one for as long as these are the same.
    """
    import zlib

    files: list[Sequence[object]] = [[__version__, sys.version, zlib.ZLIB_RUNTIME_VERSION]]
    # What Python compiles on the way is no other version: a first run makes folders for it.
    folders_of_ours = (folder for folder, _, names in os.walk(PACKAGE) if "__init__.py" in names)
    files += [list(_files_in(folder, ".py")) for folder in folders_of_ours]
    for package in _DECODERS:
        spec = importlib.util.find_spec(package)
        folders = spec.submodule_search_locations if spec is not None else None
        files += [list(_files_in(folder)) for folder in folders or ()]
    return blake2b(repr(files).encode(), digest_size=8).hexdigest()


def _files_in(folder: str, suffix: str = "") -> Iterator[tuple[str, int, int]]:
    """Give what tells one build of a package from another without an import."""
    with os.scandir(folder) as entries:
        for entry in sorted(entries, key=lambda one: one.name):
            if entry.name.endswith(suffix) and entry.is_file():
                status = entry.stat()
                yield entry.name, status.st_size, status.st_mtime_ns
