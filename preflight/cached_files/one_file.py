"""Reads one cached file: looks at every byte of it, if the job wants that, and runs none."""

from __future__ import annotations

import io
import os
import stat
from collections.abc import Callable

from preflight.cached_files.cache_listing import suffix_of
from preflight.cached_files.dcp_part import look_at_part
from preflight.cached_files.dcp_plan import is_plan, look_at_plan
from preflight.cached_files.facts import CacheFacts
from preflight.file_access.facts import Damage
from preflight.file_access.large import WINDOW, Large
from preflight.file_access.lfs import refined
from preflight.file_access.opened import reading
from preflight.file_access.outline import look_at_outline
from preflight.formats.stored import StoredFile, look, look_at_whole
from preflight.formats.suffixes.dcp import PART
from preflight.values.names import name_of

# Opening a FIFO or a device does not wait for anybody.
_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


def read_cache(
    path: str, root: str, tell: Callable[[str], None], depth: str = "bytes"
) -> CacheFacts:
    """Read one cached file, every byte once, and compare it with all it says of itself.

    Of depth `index` only what tells of its structure is read.

    Raises:
        OSError: it cannot be read, or is no file.
    """
    name = name_of(path, root)
    tell(name)
    descriptor, status = open_file(path)
    try:
        held = look_at_file(descriptor, status.st_size, path, depth, lambda: tell(name))
    finally:
        os.close(descriptor)
    return facts_of(path, root, status.st_size, held)


def open_file(path: str) -> tuple[int, os.stat_result]:
    """Open a regular file.

    Raises:
        OSError: it cannot be opened, or is no file.
    """
    descriptor = os.open(path, _FLAGS)
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        os.close(descriptor)
        raise OSError("it is no regular file")
    return descriptor, status


def look_at_file(
    descriptor: int, size: int, path: str, depth: str, tell: Callable[[], None]
) -> StoredFile:
    """Read what is open, and compare it with all it says of itself.

    Raises:
        OSError: it cannot be read.
    """
    suffix = suffix_of(path)
    if suffix == PART:
        return look_at_part(descriptor, size, depth, tell)
    if is_plan(path):
        return look_at_plan(descriptor, size, path, tell)
    if depth == "index":
        return look_at_outline(descriptor, size, suffix)
    with io.FileIO(descriptor, closefd=False) as file:
        if size > WINDOW:
            return look(Large(file, tell), size, suffix)
        content = reading(file, size)(0, size)
    return look_at_whole(memoryview(content), suffix)


def facts_of(path: str, root: str, size: int, held: StoredFile) -> CacheFacts:
    """Say of a file what it holds, and what is wrong with it."""
    damage = None
    if (flaw := held.flaw) is not None:
        said = Damage(kind=flaw.kind, text=flaw.text, offset=flaw.offset, member=flaw.member)
        damage = refined(said, path)
    return CacheFacts(
        file=name_of(path, root),
        size=size,
        format=held.format,
        damage=damage,
        verified=held.verified,
        globals=held.globals,
        unread=held.unread,
    )
