"""Counts what lies around and that settings pass over, which name nothing but sources."""

from __future__ import annotations

import os
from collections.abc import Iterable

from preflight.cached_files.cache_listing import list_cache
from preflight.formats.suffixes.images import is_image
from preflight.kinds.target import Target
from preflight.targets.file_types.if_named import NamedAs
from preflight.targets.folders import walk
from preflight.targets.targets import CacheFolder, Folder, Shard
from preflight.targets.unread import UnreadFiles, UnreadFolder, suffix_in
from preflight.values.names import name_of


def passed_over(targets: Iterable[Target], folder: str, root: str) -> UnreadFolder:
    """Give what a run without those settings would look at, with the words that name it."""
    counts: dict[tuple[NamedAs, str], list[str]] = {}
    for target in targets:
        if (word := _word_for(target, folder)) is None:
            continue
        for path in _files_of(target):
            counts.setdefault((word, suffix_in(os.path.basename(path))), []).append(path)
    files = (
        UnreadFiles(
            suffix=suffix,
            files=len(paths),
            bytes=0,
            names=tuple(name_of(path, root) for path in paths[:3]),
            part=word.kind,
            named_as=word,
        )
        for (word, suffix), paths in counts.items()
    )
    return UnreadFolder(folder=name_of(folder, root), files=tuple(files))


def _word_for(target: Target, folder: str) -> NamedAs | None:
    """Give the word; of a shard, for the folder in which it lies with others."""
    if isinstance(target, Shard):
        above = os.path.dirname(target.path)
        is_top = os.path.normpath(above) == os.path.normpath(folder)
        return NamedAs("data", target.path if is_top else above)
    if isinstance(target, Folder):
        return NamedAs("data", target.path)
    if isinstance(target, CacheFolder):
        return NamedAs("checkpoint" if target.checkpoint else "cache", target.path)
    return None


def _files_of(target: Target) -> list[str]:
    if isinstance(target, CacheFolder):
        try:
            return list(list_cache(target.path).files)
        except OSError:
            return []
    if isinstance(target, Folder):
        listed = ((at, one) for at, names in walk(target.path) for one in names.files)
        return [os.path.join(at, one) for at, one in listed if is_image(one)]
    return [target.path] if isinstance(target, Shard) else []
