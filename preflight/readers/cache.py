"""Reads cached tensors: finds the files of a cache, and looks at every byte of one; runs none."""

from __future__ import annotations

import functools
import io
import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from preflight.facts import CacheFacts, Damage
from preflight.formats.blocks import Block, Read
from preflight.formats.flaw import Flaw
from preflight.formats.magic import HEAD, what_is
from preflight.formats.stored import NUMPY, SAFETENSORS, look
from preflight.formats.torchfile import legacy_start, looks_like_torch
from preflight.links import leads_to_system
from preflight.names import name_of
from preflight.targets import CannotLookError

_SURE = frozenset({".pt", ".pth", SAFETENSORS}) | NUMPY
_PERHAPS = frozenset({".bin", ".ckpt"})

# Files of trainers under a suffix that many other programs use.
_TORCH_NAMES = ("pytorch_model", "diffusion_pytorch_model", "adapter_model", "training_args")

_NOT_LOOKED_INTO = frozenset(
    {".git", ".hg", ".svn", ".preflight", "__pycache__", "node_modules", "site-packages"}
)

# Read whole; larger files go through a window of this size.
_WINDOW = 1 << 21


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheListing:
    """The files of a cache."""

    files: tuple[str, ...]
    """Paths as they can be opened, in order."""

    unreadable: tuple[tuple[str, str], ...] = ()
    """Folders that could not be listed, and links that lead nowhere: (path, reason)."""


def list_cache(path: str) -> CacheListing:
    """Find the cached files in a folder and all below it, or take the one file that is named.

    Raises:
        OSError: the path is not there, or cannot be listed.
    """
    if not stat.S_ISDIR(os.stat(path).st_mode):
        return CacheListing(files=(path,))
    os.scandir(path).close()
    files: list[str] = []
    unreadable: list[tuple[str, str]] = []
    for folder, entries in _folders(path, unreadable):
        for entry in entries:
            path = os.path.join(folder, entry.name)
            try:
                if _is_cached(entry):
                    files.append(path)
            except CannotLookError as error:
                unreadable.append((path, str(error)))
    return CacheListing(files=tuple(sorted(files)), unreadable=tuple(sorted(unreadable)))


def _folders(
    top: str, unreadable: list[tuple[str, str]]
) -> Iterator[tuple[str, list[os.DirEntry[str]]]]:
    """Give every folder once, however links lead to it, with what is in it."""
    waiting = [top]
    seen: set[tuple[int, int]] = set()
    while waiting:
        folder = waiting.pop()
        try:
            status = os.stat(folder)
            if (status.st_dev, status.st_ino) in seen:
                continue
            seen.add((status.st_dev, status.st_ino))
            with os.scandir(folder) as listing:
                entries = list(listing)
        except OSError as error:
            unreadable.append((folder, error.strerror or str(error)))
            continue
        if any(entry.name == "pyvenv.cfg" for entry in entries):
            continue  # an environment's own files: numpy and scipy bring test data along
        waiting.extend(
            os.path.join(folder, entry.name)
            for entry in entries
            if entry.name not in _NOT_LOOKED_INTO
            and _is_folder(entry)
            and not leads_to_system(entry.path)
        )
        yield folder, entries


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


def _is_cached(entry: os.DirEntry[str]) -> bool:
    """Whether this is a cached file.

    Raises:
        CannotLookError: it has such a name, and is none: a link that leads nowhere, or a pipe.
    """
    suffix = suffix_of(entry.name)
    if entry.name.startswith(".") or not (suffix in _SURE or suffix in _PERHAPS):
        return False  # names that begin with a dot are temporary, or notes of macOS beside a file
    try:
        if entry.is_file():
            return suffix in _SURE or _is_for_torch(entry)
        odd = not entry.is_dir()
    except OSError:  # a link that leads to itself
        odd = True
    if odd and suffix in _SURE:
        there = os.path.exists(entry.path)
        raise CannotLookError("it is no regular file" if there else "leads to a file that is gone")
    return False


def _is_for_torch(entry: os.DirEntry[str]) -> bool:
    """Whether a file whose suffix says little is meant for torch, by its name or its beginning."""
    if entry.name.startswith(_TORCH_NAMES):
        return True
    try:
        with open(entry.path, "rb", buffering=0) as file:
            head = file.read(HEAD)
    except OSError:
        return False
    if not head:
        return True
    return (
        legacy_start(head) is not None
        or looks_like_torch(head)
        or what_is(head) in ("HTML page", "Git LFS pointer")
    )


def suffix_of(name: str) -> str:
    """Give the last suffix of a name, in small letters: `.pt`."""
    return os.path.splitext(name)[1].lower()


def read_cache(path: str, root: str, tell: Callable[[str], None]) -> CacheFacts:
    """Read one cached file, every byte once, and compare it with all it says of itself.

    Args:
        path: the file's, absolute or relative to the current folder.
        root: the job's folder, by which reports name files.
        tell: called with the file's name before it is opened, and again while it is read.

    Raises:
        OSError: it cannot be read, or is no file.
    """
    name = _name_of(path, root)
    tell(name)
    if not stat.S_ISREG(os.stat(path).st_mode):  # opening a FIFO would wait for ever
        raise OSError("it is no regular file")
    with open(path, "rb", buffering=0) as file:
        size = os.fstat(file.fileno()).st_size
        read = _held(file, size) if size <= _WINDOW else _windowed(file, lambda: tell(name))
        held = look(read, size, suffix_of(path))
    return CacheFacts(
        file=name,
        size=size,
        format=held.format,
        damage=None if held.flaw is None else _damage(held.flaw),
        verified=held.verified,
        globals=held.globals,
    )


def _name_of(path: str, root: str) -> str:
    """Name a file as `name_of` does, and work out the name of its folder only once."""
    folder, file = os.path.split(path)
    if not folder or file in ("", ".", ".."):
        return name_of(path, root)
    named = _name_of_folder(folder, root, os.getcwd())
    return file if named == "." else f"{named.rstrip('/')}/{file}"


@functools.lru_cache(maxsize=16)
def _name_of_folder(folder: str, root: str, _current: str) -> str:
    return name_of(folder, root)


def _damage(flaw: Flaw) -> Damage:
    return Damage(kind=flaw.kind, text=flaw.text, offset=flaw.offset, member=flaw.member)


def _held(file: io.FileIO, size: int) -> Read:
    """Read a small file at once."""
    content = memoryview(file.read(size) or b"")

    def read(offset: int, size: int) -> Block:
        return content[offset : offset + size]

    return read


def _windowed(file: io.FileIO, tell: Callable[[], None]) -> Read:
    """Read a large file piece by piece, each with what is likely to be asked for next."""
    window = memoryview(b"")
    start = 0

    def read(offset: int, size: int) -> Block:
        nonlocal window, start
        if not start <= offset <= offset + size <= start + len(window):
            tell()
            file.seek(offset)
            window, start = memoryview(_full(file, max(size, _WINDOW))), offset
        return window[offset - start : offset - start + size]

    return read


def _full(file: io.FileIO, size: int) -> bytes:
    """Read so many bytes; fewer only where the file ends. One call may give less than it could."""
    parts = []
    while size > 0 and (part := file.read(size)):
        parts.append(part)
        size -= len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)
