"""What is this word: a path, a pattern, a name? Reads folders and sources, and imports nothing."""

from __future__ import annotations

import os
from collections.abc import Iterator

from preflight.kinds.kind import Kind
from preflight.kinds.target import Target
from preflight.targets.folders import (
    holds_parts,
    look_around,
    may_be_there,
    told_by_suffix,
)
from preflight.targets.near_paths import nearest_path
from preflight.targets.one_file import (
    UnknownWordError,
    source_at,
)
from preflight.targets.targets import (
    CacheFolder,
    CaptionRule,
    Host,
    Remote,
    Unlistable,
)
from preflight.targets.words.code_words import built_by
from preflight.targets.words.path_words import read_path
from preflight.targets.words.patterns import (
    is_remote,
    read_data,
    read_pattern,
    what_was_tried,
    words,
)
from preflight.targets.words.scripts import read_line
from preflight.targets.words.unfilled import holds_no_cache, holds_nothing
from preflight.values.addresses import is_spelled
from preflight.values.code_name import parse_spec


def read_word(word: str, folder: str, *, python: str | None = None) -> tuple[Target, ...]:
    """Read one word by the first rule that fits.

    The job's interpreter may have other packages than ours.

    Raises:
        UnknownWordError: none fits, or what it names is not there.
    """
    if not word:
        raise UnknownWordError("an empty word is no target; was a variable not set?")
    kind, equals, value = word.partition("=")
    if equals and kind in words():
        if not value:
            raise UnknownWordError(f"{word} names nothing; was a variable not set?")
        return _read_kind(kind, value, folder, python)
    path = os.path.join(folder, word)
    if os.path.lexists(path) or may_be_there(path):
        return read_path(word, path)
    if is_spelled(word):
        return tuple(read_data(word, folder, CaptionRule()))
    if is_remote(word):
        return (Remote(address=word),)
    spec = parse_spec(word)
    if spec is not None:
        return (built_by(spec, word, folder, python),)
    if any(sign in word for sign in "*?[{") or "::" in word:
        return tuple(read_pattern(word, folder, CaptionRule()))
    raise UnknownWordError(what_was_tried(word, folder))


def folder_in(word: str, folder: str) -> Iterator[str]:
    """Give the folder that a word names, as data or a cache or as all that it is."""
    kind, equals, value = word.partition("=")
    if equals and kind in words():
        word = value if kind in {"data", "cache", "checkpoint"} else ""
    path = os.path.join(folder, word)
    if word and os.path.isdir(path):
        yield path


def _read_kind(kind: str, value: str, folder: str, python: str | None) -> tuple[Target, ...]:
    path = os.path.join(folder, value)
    if kind in {"loader", "model"}:
        spec = parse_spec(value)
        if spec is None:
            raise UnknownWordError(f"{kind}={value}: {value!r} is no module:name or file.py:name")
        return (built_by(spec, value, folder, python, kind=kind),)
    if kind == "host":
        return (Host(recording=None if value in {"", "here"} else _existing(kind, value, folder)),)
    if kind == "script":
        return (read_line(value, folder, python),)
    if kind == "data":
        return tuple(read_data(value, folder, CaptionRule()))
    if kind == "source":
        return (source_at(_existing(kind, value, folder), value),)
    for row in told_by_suffix():
        if row.word == kind:
            return _of_row(row, f"{kind}={value}", _existing(kind, value, folder))
    _existing(kind, value, folder)
    empty = holds_no_cache(path)
    if empty is not None and not (kind == "cache" and holds_nothing(path)):
        raise UnknownWordError(f"{kind}={value} {empty}")
    return (CacheFolder(path=path, checkpoint=kind == "checkpoint" or holds_parts(path)),)


def _of_row(row: Kind, word: str, path: str) -> tuple[Target, ...]:
    """Take a path for a target of a row; of a folder, each file where these are the targets."""
    if not (row.each_file and os.path.isdir(path)):
        return (row.made(path),)
    found = [one for one in look_around(path, whole=True) if type(one) in (row.target, Unlistable)]
    if not found:
        raise UnknownWordError(f"{word} holds no {row.noun} ({', '.join(row.suffixes)})")
    return tuple(found)


def _existing(kind: str, value: str, folder: str) -> str:
    path = os.path.join(folder, value)
    if may_be_there(path):
        return path
    if os.path.islink(path):
        leads = f"leads to {os.readlink(path)}, which is not there"
        raise UnknownWordError(f"{kind}={value} is a link that {leads}")
    raise UnknownWordError(f"{kind}={value}: there is no such path{nearest_path(value, folder)}")
