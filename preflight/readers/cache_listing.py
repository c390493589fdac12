"""Finds the files of a cache, and what its writers have left beside them."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass

from preflight.formats.magic import HEAD, what_is
from preflight.formats.stored import NUMPY, SAFETENSORS
from preflight.formats.torchfile import legacy_start, looks_like_torch
from preflight.links import leads_to_system
from preflight.targets import CannotLookError

_SURE = frozenset({".pt", ".pth", SAFETENSORS}) | NUMPY
_PERHAPS = frozenset({".bin", ".ckpt"})

# Files of trainers under a suffix that many other programs use.
_TORCH_NAMES = ("pytorch_model", "diffusion_pytorch_model", "adapter_model", "training_args")

_NOT_LOOKED_INTO = frozenset(
    {".git", ".hg", ".svn", ".preflight", "__pycache__", "node_modules", "site-packages"}
)

# What atomic writers (torch, huggingface_hub, safetensors, rsync, editors) and locks leave behind,
# seen in real folders: `a.pt.tmp`, `a.pt.tmp.1234`, `tmp8x2k.pt`, `.a.pt.Xk3d9Q`, `a.pt.lock`.
_LEFT_OVER = re.compile(
    r"[._-](tmp|temp|part|partial|incomplete|lock|swp)([._-]\w+)?$"
    r"|^\.?tmp[a-z0-9_]{8}(\.\w+)?$|~$|^\.nfs[0-9a-f]+$|^\.[^.].*\.\w+\.[A-Za-z0-9]{6}$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheListing:
    """The files of a cache."""

    files: tuple[str, ...]
    """Paths as they can be opened, in order."""

    unreadable: tuple[tuple[str, str], ...] = ()
    """Folders that could not be listed, and links that lead nowhere: (path, reason)."""

    left_over: tuple[str, ...] = ()
    """Paths of temporary files and locks, by their names."""

    folders: tuple[tuple[str, int], ...] = ()
    """Every folder that was listed, and when something was last put in or taken out, in ns."""


def list_cache(path: str) -> CacheListing:
    """Find the cached files in a folder and all below it, or take the one file that is named.

    Raises:
        OSError: the path is not there, or cannot be listed.
    """
    if not stat.S_ISDIR(os.stat(path).st_mode):
        return CacheListing(files=(path,))
    os.scandir(path).close()
    files: list[str] = []
    left_over: list[str] = []
    folders: list[tuple[str, int]] = []
    unreadable: list[tuple[str, str]] = []
    for folder, changed, entries in _folders(path, unreadable):
        folders.append((folder, changed))
        for entry in entries:
            try:
                if _is_cached(entry):
                    files.append(os.path.join(folder, entry.name))
                elif is_left_over(entry.name) and entry.is_file(follow_symlinks=False):
                    left_over.append(os.path.join(folder, entry.name))
            except CannotLookError as error:
                unreadable.append((os.path.join(folder, entry.name), str(error)))
    return CacheListing(
        files=tuple(sorted(files)),
        unreadable=tuple(sorted(unreadable)),
        left_over=tuple(sorted(left_over)),
        folders=tuple(folders),
    )


def is_left_over(name: str) -> bool:
    """Whether a name is that of a temporary file or of a lock, as writers of caches call them."""
    return _LEFT_OVER.search(name) is not None


def _folders(
    top: str, unreadable: list[tuple[str, str]]
) -> Iterator[tuple[str, int, list[os.DirEntry[str]]]]:
    """Give every folder once, however links lead to it: its path, its time, and what is in it."""
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
        yield folder, status.st_mtime_ns, entries


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
