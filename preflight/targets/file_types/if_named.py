"""Says which word has a file read that a look around passes over, since its name says little."""

from __future__ import annotations

import os
from collections import Counter
from typing import NamedTuple

from preflight.cached_files.cache_listing import is_for_torch
from preflight.targets.file_types import contents
from preflight.targets.file_types.suffixes import COLUMNAR_SUFFIXES

# Files of one suffix that are opened for that; others of it are taken for what most of them are.
# Of those without a suffix each is: notes and images may lie in one folder.
_MOST_OPENED = 8


class NamedAs(NamedTuple):
    """A word that has files read: `data`, `cache` or `checkpoint`, and the path behind it."""

    kind: str
    path: str


class IfNamed:
    """Tells the files that are read where they are named from those that nothing reads."""

    def __init__(self, top: str | None) -> None:
        self._top = top
        """The folder of which not all is named for the sake of one file."""

        self._opened: dict[str, Counter[str]] = {}
        self._folders: dict[str, NamedAs] = {}

    def word_for(self, path: str, suffix: str) -> NamedAs | None:
        """Give the word for a file, by its first bytes; None: nothing reads it."""
        told = self._opened.setdefault(suffix, Counter())
        if not suffix or told.total() < _MOST_OPENED:
            kind = _kind_of(path)
            told[kind] += 1
        else:
            kind = told.most_common(1)[0][0]
        folder = os.path.dirname(path)
        if kind != "folder" or folder == self._top:
            return NamedAs("cache" if kind == "folder" else kind, path) if kind else None
        if folder not in self._folders:
            in_pieces = any(one.endswith(".bin.index.json") for one in os.listdir(folder))
            self._folders[folder] = NamedAs("checkpoint" if in_pieces else "cache", folder)
        return self._folders[folder]


def _kind_of(path: str) -> str:
    """Give `data` or `cache`, `folder` of what a cache lists when it is named; empty of others."""
    lower = path.lower()
    if lower.endswith(COLUMNAR_SUFFIXES):
        return ""
    try:
        if lower.endswith((".bin", ".ckpt")) and is_for_torch(path):
            return "folder"
        if lower.endswith(".bin") and contents.may_be_cached(path):
            return "cache"
        if contents.is_tar(path) or contents.is_image(path) or contents.is_image_zip(path):
            return "data"
        return "cache" if contents.is_tensors(path) else ""
    except OSError:
        return ""
