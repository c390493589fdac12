"""Tells what the files are that a loader lists: images, texts that caption them, cached ones."""

from __future__ import annotations

import os
from collections.abc import Iterable
from itertools import islice

from preflight.formats.suffixes import images
from preflight.pairing.rules import PLAIN
from preflight.targets.file_types.suffixes import CACHE_SUFFIXES
from preflight.values.listing import list_names

_FOLDERS = 32
"""Folders of a list's texts in which images are looked for."""


def is_image(path: str) -> bool:
    """Whether it is an image by its name, or what macOS left beside one."""
    return images.is_image(path) or is_left_over(path)


def is_left_over(path: str) -> bool:
    """Whether macOS left it beside an image."""
    return images.is_beside_an_image(os.path.basename(path))


def is_read(path: str) -> bool:
    """Whether some reader reads it."""
    return is_image(path) or is_text(path) or has_cached_suffix(path)


def has_cached_suffix(path: str) -> bool:
    """Whether it is called as cached files are."""
    return path.lower().endswith(CACHE_SUFFIXES)


def suffix_of(path: str) -> str:
    """Give its suffix in small letters, or say that it has none."""
    return os.path.splitext(path)[1].lower() or "files without a suffix"


def is_text(path: str) -> bool:
    """Whether it is a text by its name."""
    return suffix_of(path)[1:] in PLAIN


def are_captions(paths: Iterable[str]) -> bool:
    """Whether texts of a list caption something: by what it lists beside them, or what lies there.

    Points, numbers and documents stand in texts, too, and are no captions of anything.
    """
    folders: dict[str, None] = {}
    for path in paths:
        if not is_text(path):
            return True
        folders.setdefault(os.path.dirname(path))
    return any(map(_holds_others, islice(folders, _FOLDERS)))


def _holds_others(folder: str) -> bool:
    try:
        return any(is_image(one) or has_cached_suffix(one) for one in list_names(folder).files)
    except OSError:
        return False
