"""What a path that exists is, by its name and by what it holds."""

from __future__ import annotations

import os
import re

from preflight.formats.suffixes.recordings import is_video
from preflight.kinds.target import Target
from preflight.targets.file_types.suffixes import CACHE_SUFFIXES, COLUMNAR_SUFFIXES
from preflight.targets.folders import (
    CHECKPOINT,
    holds_some,
    is_shard,
    look_around,
    told_by_suffix,
)
from preflight.targets.one_file import (
    UnknownWordError,
    by_content,
)
from preflight.targets.targets import (
    CacheFolder,
    Columnar,
    Shard,
)
from preflight.targets.unread import unread_in
from preflight.targets.words.unfilled import holds_no_cache, holds_nothing

# In the name of a folder that a saver makes at each of its steps.
_NUMBER = re.compile(r"\d")

# What people call the folders of what is computed once.
_CACHE = re.compile(r"cache|latent|embed", re.IGNORECASE)

SCRIPTS = "a script is run where it is named by itself; say source={0} to have it read"


def read_path(word: str, path: str) -> tuple[Target, ...]:
    """Take what lies at a path for what it is.

    Raises:
        UnknownWordError: it is none of what is looked at.
    """
    if os.path.isdir(path):
        found = look_around(path, whole=True) or columnar_in(path) or _still_empty(word, path)
        if not found:
            raise UnknownWordError(
                f"{word} holds no shards, images, cache files or sources"
                f"{but_videos(path) or _but_weights(word, path) or but_unread(path, word)}"
                f"{_but_cache(word, path)}"
            )
        return found
    lower = word.lower()
    if is_shard(word):
        return (Shard(path=path),)
    if lower.endswith(CACHE_SUFFIXES):
        return (CacheFolder(path=path),)
    for row in told_by_suffix():
        if lower.endswith(row.suffixes):
            return (row.made(path),)
    if lower.endswith(".py"):
        raise UnknownWordError(f"{word}: " + SCRIPTS.format(word))
    if not os.path.lexists(path):
        raise UnknownWordError(f"{word} cannot be seen: the folder that it names may not be read")
    return (by_content(word, path),)


def columnar_in(folder: str) -> tuple[Target, ...]:
    """Take a folder for rows where such files are most of what is in it."""
    files = unread_in(folder, (), "", of_any_kind=False).files
    return (Columnar(path=folder),) if files and files[0].suffix in COLUMNAR_SUFFIXES else ()


def but_videos(folder: str) -> str:
    """Say that a folder holds videos; empty where it holds none."""
    return (
        ", but videos, which are not read by this version" if holds_some(folder, is_video) else ""
    )


def _still_empty(word: str, folder: str) -> tuple[Target, ...]:
    """Take a folder for a cache that is still to be filled, where the name that is said says so."""
    said = os.path.basename(os.path.abspath(folder)) if os.path.isabs(word) else word
    is_cache = _CACHE.search(said) and holds_nothing(folder)
    return (CacheFolder(path=folder),) if is_cache else ()


def _but_cache(word: str, folder: str) -> str:
    is_cache = holds_nothing(folder) and not CHECKPOINT.fullmatch(os.path.basename(folder))
    return f"; cache={word} says that it is still to be filled" if is_cache else ""


def but_unread(folder: str, word: str = "") -> str:
    """Say what a folder that a word names holds in the place of what is read, if there is some."""
    unread = unread_in(folder, (), "", of_any_kind=False)
    said = unread.in_words()
    text = f"; its files are not read by this version: {said}" if said else ""
    named_as = next((one.named_as for one in unread.files if one.named_as is not None), None)
    if named_as is not None:
        at = os.path.normpath(os.path.join(word, os.path.relpath(named_as.path, folder)))
        text += f"; {named_as.kind}={at} would be looked at"
    return text


def _but_weights(word: str, folder: str) -> str:
    """Name the word that has files looked at whose suffix says little, where torch wrote them."""
    if holds_no_cache(folder) is not None:
        return ""
    from preflight.cached_files.cache_listing import list_cache

    try:
        places = {os.path.basename(os.path.dirname(one)) for one in list_cache(folder).files}
    except OSError:
        return ""
    if places:
        kind = "checkpoint" if all(map(_NUMBER.search, places)) else "cache"
        return f"; {kind}={word} has its .bin files looked at"
    return "; its .bin files are none of torch's, and others are not read by this version"
