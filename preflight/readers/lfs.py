"""Tells a Git LFS pointer that was not fetched from one that got somewhere by mistake.

In a work tree whose attributes give its path `filter=lfs`, `git lfs pull` puts the file itself in
its place; anywhere else nothing does. No git is run: what cannot be known is taken for damage.
"""

from __future__ import annotations

import os
import re
import stat
import time
from dataclasses import replace
from typing import TypeVar

from preflight.facts import CacheFacts, Damage, ImageDamage, ShardFacts
from preflight.formats import gitattributes
from preflight.formats.gitattributes import Attributes
from preflight.formats.magic import LONGEST_LFS_POINTER, is_lfs_pointer, size_in_lfs_pointer
from preflight.sizes import format_size

T = TypeVar("T", CacheFacts, ImageDamage, ShardFacts)

NOT_FETCHED = "not-fetched"
"""The kind of damage that `git lfs pull` mends."""

_POINTER = "is a Git LFS pointer"

# git leaves out files of 100 MB; one that names each file by itself comes to some hundred kB.
_LONGEST_ATTRIBUTES = 1 << 20
_LONGEST_GIT_FILE = 1 << 13

# Files of attributes that are kept, as they were read.
_MOST_KEPT = 4_096

# Seconds that a process spends on attributes, whatever they are.
_PATIENCE = 10.0

# Of a path that `git lfs pull --include=` and a shell take as it is.
_ORDINARY = re.compile(r"[\w./@+=-][\w./@+= -]*", re.ASCII)


class _UnknownError(Exception):
    """It cannot be known what git would say."""


_Mark = tuple[int, int, int, bool]

_kept: dict[str, tuple[_Mark, Attributes]] = {}
_spent = [0.0]


def refined(facts: T, path: str) -> T:
    """Say of a pointer that was taken for damage what it stands for, and whether it can be fetched.

    Args:
        facts: of the file, as its reader gives them.
        path: the file's.
    """
    match facts:
        case ImageDamage(kind="foreign"):
            told = _told(facts.text, path)
            if told is not None:
                kind, text, fetch = told
                return replace(facts, kind=kind, text=text, fetch=fetch and _folder_of(fetch))
        case ShardFacts(damage=(Damage(kind="foreign") as damage,)):
            told = _told(damage.text, path)
            if told is not None:
                return replace(facts, damage=(_retold(damage, told, told[2]),))
        case CacheFacts(damage=Damage(kind="foreign") as damage):
            told = _told(damage.text, path)
            if told is not None:
                fetch = told[2] and _folder_of(told[2])
                return replace(facts, damage=_retold(damage, told, fetch))
    return facts


def _retold(damage: Damage, told: tuple[str, str, str | None], fetch: str | None) -> Damage:
    return replace(damage, kind=told[0], text=told[1], fetch=fetch)


def _folder_of(path: str) -> str:
    """Give the folder that is fetched whole: small files come in great numbers."""
    return path.rpartition("/")[0]


def _told(text: str, path: str) -> tuple[str, str, str | None] | None:
    """Give the kind, the text and what is to be fetched; None where this is no pointer."""
    head = _head(path)
    if head is None or not is_lfs_pointer(head) or not text.startswith(_POINTER):
        return None
    size = size_in_lfs_pointer(head)
    stands_for = _POINTER if size is None else f"{_POINTER} of a file of {format_size(size)}"
    inside = path_in_lfs(path)
    if inside is None or len(head) > LONGEST_LFS_POINTER:
        return "foreign", text.replace(_POINTER, stands_for, 1), None
    fetch = inside if _ORDINARY.fullmatch(inside) else ""
    return NOT_FETCHED, f"{stands_for} that was not fetched", fetch


def _head(path: str) -> bytes | None:
    try:
        with open(path, "rb", buffering=0) as file:
            return file.read(LONGEST_LFS_POINTER + 1)
    except OSError:  # it was there a moment ago, and what was seen then holds
        return None


def path_in_lfs(path: str) -> str | None:
    """Give a file's path in its work tree, where the attributes there give it `filter=lfs`.

    None where they do not, where there is no work tree, and where it cannot be known.
    """
    begun = time.monotonic()
    if _spent[0] > _PATIENCE:
        return None
    try:
        return _path_in_lfs(os.path.realpath(path))
    except (OSError, ValueError, _UnknownError):
        return None
    finally:
        _spent[0] += time.monotonic() - begun


def _path_in_lfs(path: str) -> str | None:
    folder, name = os.path.split(path)
    top = _top(folder)
    if top is None:
        return None
    git = os.path.join(top, ".git")
    folded = _ignores_case(git)
    parts = [] if folder == top else os.path.relpath(folder, top).split(os.sep)
    if ".git" in parts:
        return None  # git's own store
    files = [(b"", one) for one in _info(git, folded=folded)]
    for depth in range(len(parts), -1, -1):
        place = os.path.join(top, *parts[:depth], ".gitattributes")
        found = _attributes(place, macros=depth == 0, folded=folded)
        if found is not None:
            base = "".join(f"{part}/" for part in parts[:depth])
            files.append((os.fsencode(base), found))
    inside = "/".join([*parts, name])
    value = gitattributes.value_of(b"filter", os.fsencode(inside), files, folded=folded)
    return inside if value == b"lfs" else None


def _top(folder: str) -> str | None:
    """Find the nearest folder upward that holds a `.git`."""
    while not os.path.lexists(os.path.join(folder, ".git")):
        above = os.path.dirname(folder)
        if above == folder:
            return None
        folder = above
    return folder


def _ignores_case(git: str) -> bool:
    """Whether the file system takes `.git` and `.GIT` for one, as `git init` finds out."""
    other = os.path.join(os.path.dirname(git), ".GIT")
    return os.path.exists(other) and os.path.samefile(git, other)


def _info(git: str, *, folded: bool) -> list[Attributes]:
    """Read the attributes that are in no commit, which win over all others."""
    if not os.path.isdir(git):
        git = _linked(git)
    found = _attributes(
        os.path.join(git, "info", "attributes"), macros=True, folded=folded, links=True
    )
    return [] if found is None else [found]


def _linked(file: str) -> str:
    """Follow a `.git` that is a file, as in a submodule or a second work tree."""
    said = _small(file).partition(b"\n")[0].rstrip(b"\r")
    if not said.startswith(b"gitdir: "):
        raise _UnknownError
    git = os.path.join(os.path.dirname(file), os.fsdecode(said[len(b"gitdir: ") :]))
    if not os.path.isdir(git):
        raise _UnknownError  # a copy without its repository
    common = os.path.join(git, "commondir")
    if os.path.lexists(common):
        git = os.path.join(git, os.fsdecode(_small(common).rstrip(b"\r\n")))
    return git


def _small(path: str) -> bytes:
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise _UnknownError
    with open(path, "rb", buffering=0) as file:
        return file.read(_LONGEST_GIT_FILE) or b""


def _attributes(path: str, *, macros: bool, folded: bool, links: bool = False) -> Attributes | None:
    """Read a file of attributes, once for as long as it does not change; None where there is none.

    git follows no link in a work tree here.
    """
    try:
        status = os.stat(path) if links else os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    if stat.S_ISLNK(status.st_mode) or stat.S_ISDIR(status.st_mode):
        return None
    mark = (status.st_mtime_ns, status.st_size, status.st_ino, folded)
    kept = _kept.get(path)
    if kept is not None and kept[0] == mark:
        return kept[1]
    if not stat.S_ISREG(status.st_mode) or status.st_size > _LONGEST_ATTRIBUTES:
        raise _UnknownError
    with open(path, "rb") as file:
        content = file.read(_LONGEST_ATTRIBUTES + 1)
    if len(content) > _LONGEST_ATTRIBUTES:
        raise _UnknownError
    found = gitattributes.parse(content, macros=macros, folded=folded)
    if len(_kept) >= _MOST_KEPT:
        _kept.clear()
    _kept[path] = mark, found
    return found
