"""What data a value names: a folder, a file, an address, or a pattern of these."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace

from preflight.kinds.target import Target
from preflight.targets.file_types.contents import is_rows
from preflight.targets.file_types.suffixes import COLUMNAR_SUFFIXES
from preflight.targets.folders import (
    is_shard,
    look_around,
    told_by_suffix,
)
from preflight.targets.near_paths import nearest_path
from preflight.targets.one_file import (
    UnknownWordError,
    may_be_shard,
    none_of,
    one_of_data,
)
from preflight.targets.targets import (
    CaptionRule,
    Columnar,
    Folder,
    Missing,
    Remote,
    Shard,
    Unlistable,
)
from preflight.targets.words import braces
from preflight.targets.words.path_words import but_unread, but_videos, columnar_in, read_path
from preflight.values.addresses import is_spelled, plain_path
from preflight.values.names import path_below

KINDS = ("data", "cache", "loader", "model", "source", "script", "checkpoint", "host")

# Shards of one pattern that are not there and are named one by one; the others are counted.
_NAMED = 10_000


def words() -> tuple[str, ...]:
    """Give what may stand before `=`."""
    return (*KINDS, *(row.word for row in told_by_suffix() if row.word not in KINDS))


def read_data(value: str, folder: str, captions: CaptionRule) -> Iterator[Target]:
    """Take a value for data, whatever its suffix."""
    path = path_below(folder, value)
    if is_spelled(value) and not os.path.lexists(path):
        if any(sign in value for sign in "*?[{") or "::" in value:
            yield from read_pattern(value, folder, captions)
        else:
            yield from read_data(plain_path(value) or "", folder, captions)
    elif os.path.isdir(path):
        found = [
            target if isinstance(target, Unlistable) else replace(target, captions=captions)
            for target in look_around(path, whole=True)
            if isinstance(target, (Shard, Folder, Unlistable))
        ] or columnar_in(path)
        if not found:
            raise UnknownWordError(
                f"{value} holds no image and no shard{but_videos(path) or but_unread(path)}"
            )
        yield from found
    elif os.path.lexists(path):
        yield one_of_data(value, path, captions)
    elif is_remote(value):
        yield Remote(address=value)
    elif any(sign in value for sign in "*?[{") or "::" in value:
        yield from read_pattern(value, folder, captions)
    else:
        raise UnknownWordError(what_was_tried(value, folder))


def read_pattern(pattern: str, folder: str, captions: CaptionRule) -> Iterator[Target]:
    """Expand `::`, braces and wildcards; what a brace range names and is not there is `Missing`."""
    try:
        names = braces.expand(pattern)
    except braces.TooManyError as error:
        raise UnknownWordError(str(error)) from error
    gaps = 0
    odd: str | None = None  # whose name is no shard's, as long as no other is known to be one
    for written in names:
        name = (plain_path(written) or written) if is_spelled(written) else written
        path = os.path.join(folder, name)
        if is_remote(name):
            yield Remote(address=name)
        elif os.path.lexists(path):
            there = _of_pattern(path, captions)
            if odd != "" and isinstance(there, Shard):
                odd = "" if may_be_shard(path) else odd or path
            yield there
        elif any(sign in name for sign in "*?["):
            yield from _read_wildcards(name, folder, captions)
        else:
            gaps += 1
            if gaps <= _NAMED:
                yield Missing(path=path, kind="shard", pattern=pattern)
            last = path
    if odd:
        raise none_of(pattern, odd, "data")
    if gaps > _NAMED:
        yield Missing(path=last, kind="shard", pattern=pattern, more=gaps - _NAMED - 1)


def _of_pattern(path: str, captions: CaptionRule) -> Shard | Columnar:
    if path.lower().endswith(COLUMNAR_SUFFIXES) and is_rows(path):
        return Columnar(path=path)
    return Shard(path=path, captions=captions)


def _read_wildcards(name: str, folder: str, captions: CaptionRule) -> Iterator[Target]:
    import glob

    found = sorted(glob.glob(os.path.join(glob.escape(folder), name), recursive=True))
    if not found:
        raise UnknownWordError(f"the pattern {name!r} fits no file in {folder}")
    fits: list[Target] = []
    unfit: UnknownWordError | None = None
    for one in found:
        if os.path.isdir(one) or not is_shard(one):
            try:
                fits += read_path(one, one)
            except UnknownWordError as error:  # such as a list of checksums beside the shards
                unfit = unfit or error
        else:
            fits.append(Shard(path=one, captions=captions))
    if unfit is not None and not fits:
        raise unfit
    yield from fits


def is_remote(word: str) -> bool:
    """Whether a word is an address, or a command whose output is read."""
    scheme, separator, _ = word.partition("://")
    plain = len(scheme) > 1 and scheme.replace("+", "").replace("-", "").isalnum()
    return word.startswith("pipe:") or (bool(separator) and plain)


def what_was_tried(word: str, folder: str) -> str:
    """Say why a word is no target."""
    tried = "no path of that name, no module:name or file.py:name, no pattern"
    kinds = f"; KIND= is one of {', '.join(words())}" if "=" in word else ""
    return f"{word!r} is no target: {tried}{kinds}{nearest_path(word, folder)}"
