"""Says of a path whether it is a cache, as far as names go, or one that is still to be filled."""

from __future__ import annotations

import os

from preflight.cached_files.cache_listing import is_left_over
from preflight.targets.file_types.suffixes import CACHE_SUFFIXES
from preflight.targets.folders import is_begun, walk


def holds_nothing(folder: str) -> bool:
    """Whether there is no file in a folder, but for `.gitkeep` and what writers leave behind."""
    unread: dict[str, str] = {}
    names = (name for _, listed in walk(folder, unread) for name in listed.names)
    is_bare = all(one[0] == "." or is_left_over(one) for one in names)
    return os.path.isdir(folder) and is_bare and not unread


def holds_begun(path: str) -> bool:
    """Whether a checkpoint below a folder was begun, by its name, and holds nothing yet."""
    unread: dict[str, str] = {}
    below = (place for place, _ in walk(path, unread) if place != path)
    return os.path.isdir(path) and any(map(is_begun, below))


def holds_no_cache(path: str) -> str | None:
    """Say why a path is no cache, as far as names go; None where it is one, or nobody knows."""
    suffixes = (*CACHE_SUFFIXES, ".bin")
    if not os.path.isdir(path):
        if path.lower().endswith(CACHE_SUFFIXES):
            return None
        from preflight.targets.file_types import contents

        is_bin = path.lower().endswith(".bin")
        fits = contents.may_be_cached(path) if is_bin else contents.is_tensors(path)
        by_name = "" if is_bin else f" by its name ({', '.join(suffixes)}), and"
        return None if fits else f"is no cached file{by_name or ':'} it {contents.called(path)}"
    unread: dict[str, str] = {}
    names = (name.lower() for _, listed in walk(path, unread) for name in listed.names)
    if any(name.endswith(suffixes) for name in names) or unread or holds_begun(path):
        return None
    return f"holds no cached file ({', '.join(suffixes)})"
