"""Names the version of our readers: of their sources, and of the libraries that decode for them."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Iterator

from preflight.blake2 import blake2b

_HOME = os.path.dirname(os.path.abspath(__file__))

# What decides on the facts of a file, beside the file: these, and what they stand on.
_FOLDERS = ("formats", "readers", "facts")
_FILES = ("child.py", "names.py", "plain.py", "sizes.py", "targets.py")

_DECODERS = ("PIL", "simplejpeg")


def readers_version() -> str:
    """Give a short word that changes when the same file might be seen otherwise."""
    import zlib

    digest = blake2b(digest_size=8)
    for path in _sources():
        with open(path, "rb") as file:
            digest.update(file.read())
    for package in _DECODERS:
        digest.update(repr(list(_files_of(package))).encode())
    digest.update(f"{sys.version} {zlib.ZLIB_RUNTIME_VERSION}".encode())
    return digest.hexdigest()


def _sources() -> Iterator[str]:
    for folder in _FOLDERS:
        place = os.path.join(_HOME, folder)
        names = sorted(name for name in os.listdir(place) if name.endswith(".py"))
        yield from (os.path.join(place, name) for name in names)
    yield from (os.path.join(_HOME, name) for name in _FILES)


def _files_of(package: str) -> Iterator[tuple[str, int, int]]:
    """Give the files of a package, which tell one build of it from another without an import."""
    spec = importlib.util.find_spec(package)
    for folder in (spec.submodule_search_locations or ()) if spec is not None else ():
        with os.scandir(folder) as entries:
            for entry in sorted(entries, key=lambda one: one.name):
                if entry.is_file():
                    status = entry.stat()
                    yield entry.name, status.st_size, status.st_mtime_ns
