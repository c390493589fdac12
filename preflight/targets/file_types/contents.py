"""What one file is by its first bytes, where its name does not say it."""

from __future__ import annotations

import ast
import os

from preflight.cached_files.cache_listing import is_for_torch
from preflight.formats.magic import HEAD, head_of, said_by_server, what_is, with_article
from preflight.targets.file_types.suffixes import COLUMNAR_SUFFIXES

_LONGEST_SOURCE = 1 << 20
_STATEMENTS = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)

# What pickle writes first from its second protocol on, and what stands behind it up to the fifth.
_PICKLES = tuple(bytes((0x80, protocol)) for protocol in range(2, 6))


def is_tar(path: str) -> bool:
    """Whether a file begins as an archive of tar does, packed or not."""
    from preflight.file_access.opened import reading  # most names say what a file is
    from preflight.formats.packing.packed import Packed, can_unpack
    from preflight.formats.tar.header import Header, read_header

    head = head_of(path)
    if not head:
        return False
    what = what_is(head)
    if can_unpack(what):
        try:
            with open(path, "rb", buffering=0) as stream:
                head = bytes(Packed(reading(stream), what or "").read(0, HEAD))
        except (OSError, EOFError, ImportError):
            return False
    return isinstance(read_header(head), Header)


def is_image(path: str) -> bool:
    """Whether a file begins as an image of pixels does."""
    what = what_is(head_of(path) or b"") or ""
    return what.endswith(" image") and what != "SVG image"


def is_tensors(path: str) -> bool:
    """Whether a file begins as those do in which tensors are kept."""
    from preflight.formats.arrays.safetensors import is_safetensors
    from preflight.formats.torch.legacy import legacy_start
    from preflight.formats.torch.torchfile import looks_like_torch

    head = head_of(path)
    if not head:
        return False
    size = os.path.getsize(path)
    is_torch = legacy_start(head) is not None or looks_like_torch(head)
    return is_torch or is_safetensors(head, size) or what_is(head) == "numpy array"


def is_rows(path: str) -> bool:
    """Whether a file holds rows of columns (Arrow, Parquet), by its bytes or else by its name."""
    what = what_is(head_of(path) or b"")
    if what is None:  # as `datasets` writes Arrow, it begins with no name
        return path.lower().endswith(COLUMNAR_SUFFIXES) and os.path.isfile(path)
    return what in ("Arrow file", "Parquet file")


def is_image_zip(path: str) -> bool:
    """Whether a zip archive holds images for the most part, or is one by its name and cut."""
    import zipfile

    from preflight.formats.suffixes import images

    if what_is(head_of(path) or b"") != "zip archive":
        return False
    try:
        with zipfile.ZipFile(path) as archive:
            names = [one for one in archive.namelist() if one[-1:] != "/"]
        names = [one for one in names if not one.rpartition("/")[2].startswith(".")]
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        return path.lower().endswith(".zip")
    return 2 * sum(map(images.is_image, names)) > len(names)


def may_be_cached(path: str) -> bool:
    """Whether a `.bin` file is one of torch's, or what is left of one; others are anybody's."""
    head = head_of(path)
    if head is None or is_for_torch(path) or is_tensors(path):
        return True
    is_packed = what_is(head) == "zip archive" or head.startswith(_PICKLES)
    return is_packed or said_by_server(head, os.path.getsize(path)) is not None


def is_python(path: str) -> bool:
    """Whether a file is Python by its name, or imports or defines something as Python does."""
    if path.lower().endswith((".py", ".pyw", ".pyi")) or not os.path.isfile(path):
        return True
    try:
        with open(path, "rb") as file:
            text = file.read(_LONGEST_SOURCE)
        first = text.partition(b"\n")[0]
        if first.startswith(b"#!") and b"python" in first:
            return True
        return any(isinstance(one, _STATEMENTS) for one in ast.parse(text).body)
    except PermissionError:
        return True  # whoever reads it says so
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return False


def called(path: str) -> str:
    """Say what a file is by its content: `a text file`; of what nobody knows, its first bytes."""
    head = head_of(path)
    if head is None:
        return "cannot be read"
    what = what_is(head)
    return f"begins with {head[:8].hex(' ')}" if what is None else f"is {with_article(what)}"
