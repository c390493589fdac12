"""What is this word: a path, a pattern, a name? Reads folders and sources, and imports nothing."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace

from preflight.kinds.kind import Kind
from preflight.kinds.target import Target
from preflight.targets.file_types.contents import is_rows
from preflight.targets.file_types.suffixes import CACHE_SUFFIXES, COLUMNAR_SUFFIXES
from preflight.targets.folders import (
    holds_no_cache,
    holds_nothing,
    holds_parts,
    holds_videos,
    is_shard,
    look_around,
    may_be_there,
    told_by_suffix,
)
from preflight.targets.one_file import (
    UnknownWordError,
    by_content,
    may_be_shard,
    none_of,
    one_of_data,
    source_at,
)
from preflight.targets.scripts import read_line
from preflight.targets.targets import (
    BUILT,
    Built,
    CacheFolder,
    CaptionRule,
    Columnar,
    Folder,
    Host,
    Missing,
    Remote,
    Shard,
    Unlistable,
)
from preflight.targets.unread import unread_in
from preflight.values import braces
from preflight.values.addresses import is_spelled, plain_path
from preflight.values.code_name import Spec, parse_spec
from preflight.values.names import nearest, path_below, shown

KINDS = ("data", "cache", "loader", "model", "source", "script", "checkpoint", "host")

# Shards of one pattern that are not there and are named one by one; the others are counted.
_NAMED = 10_000

SCRIPTS = "a script is run where it is named by itself; say source={0} to have it read"


def words() -> tuple[str, ...]:
    """Give what may stand before `=`."""
    return (*KINDS, *(row.word for row in told_by_suffix() if row.word not in KINDS))


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
        return _read_path(word, path)
    if is_spelled(word):
        return tuple(read_data(word, folder, CaptionRule()))
    if _is_remote(word):
        return (Remote(address=word),)
    spec = parse_spec(word)
    if spec is not None:
        return (built_by(spec, word, folder, python),)
    if any(sign in word for sign in "*?[{") or "::" in word:
        return tuple(_read_pattern(word, folder, CaptionRule()))
    raise UnknownWordError(_what_was_tried(word, folder))


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
    raise UnknownWordError(f"{kind}={value}: there is no such path{_nearest_path(value, folder)}")


def _read_path(word: str, path: str) -> tuple[Target, ...]:
    if os.path.isdir(path):
        found = look_around(path, whole=True) or _columnar_in(path)
        if not found:
            raise UnknownWordError(
                f"{word} holds no shards, images, cache files or sources"
                f"{_but_videos(path) or _but_weights(word, path) or but_unread(path)}"
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


def _columnar_in(folder: str) -> tuple[Target, ...]:
    """Take a folder for rows where such files are most of what is in it."""
    files = unread_in(folder, (), "", of_any_kind=False).files
    return (Columnar(path=folder),) if files and files[0].suffix in COLUMNAR_SUFFIXES else ()


def _but_videos(folder: str) -> str:
    return ", but videos, which are not read by this version" if holds_videos(folder) else ""


def _but_cache(word: str, folder: str) -> str:
    return f"; cache={word} says that it is still to be filled" if holds_nothing(folder) else ""


def but_unread(folder: str) -> str:
    """Say what a folder holds in the place of what is read; empty where there is nothing."""
    said = unread_in(folder, (), "", of_any_kind=False).in_words()
    return f"; its files are not read by this version: {said}" if said else ""


def _but_weights(word: str, folder: str) -> str:
    """Name the word that has files looked at whose suffix says little, where torch wrote them."""
    if holds_no_cache(folder) is not None:
        return ""
    from preflight.cached_files.cache_listing import list_cache

    try:
        is_looked_at = bool(list_cache(folder).files)
    except OSError:
        return ""
    if is_looked_at:
        return f"; cache={word} has its .bin files looked at"
    return "; its .bin files are none of torch's, and others are not read by this version"


def _is_remote(word: str) -> bool:
    scheme, separator, _ = word.partition("://")
    plain = len(scheme) > 1 and scheme.replace("+", "").replace("-", "").isalnum()
    return word.startswith("pipe:") or (bool(separator) and plain)


def _what_was_tried(word: str, folder: str) -> str:
    tried = "no path of that name, no module:name or file.py:name, no pattern"
    kinds = f"; KIND= is one of {', '.join(words())}" if "=" in word else ""
    return f"{word!r} is no target: {tried}{kinds}{_nearest_path(word, folder)}"


def _nearest_path(typed: str, folder: str) -> str:
    near = _near_typed(typed.rstrip("/\\"), folder)
    return f"; did you mean {shown(near)}?" if near else ""


def _near_typed(typed: str, folder: str) -> str | None:
    """Find a path like a missing one, part for part, and give it as it would be typed."""
    head, name = os.path.split(typed)
    if head and not os.path.isdir(os.path.join(folder, head)):
        there = _near_typed(head, folder)
        if there is None:
            return None
        if os.path.lexists(os.path.join(folder, there, name)):
            return os.path.join(there, name)
        head = there
    near = near_path(os.path.join(folder, head, name))
    return None if near is None else os.path.join(head, near)


def near_path(path: str) -> str | None:
    """Find a name like a missing path's own, in its folder."""
    folder, name = os.path.split(path.rstrip("/\\"))
    try:
        return nearest(name, os.listdir(folder or "."))
    except OSError:
        return None


# --- patterns -------------------------------------------------------------------------------------


def read_data(value: str, folder: str, captions: CaptionRule) -> Iterator[Target]:
    """Take a value for data, whatever its suffix."""
    path = path_below(folder, value)
    if is_spelled(value) and not os.path.lexists(path):
        if any(sign in value for sign in "*?[{") or "::" in value:
            yield from _read_pattern(value, folder, captions)
        else:
            yield from read_data(plain_path(value) or "", folder, captions)
    elif os.path.isdir(path):
        found = [
            target if isinstance(target, Unlistable) else replace(target, captions=captions)
            for target in look_around(path, whole=True)
            if isinstance(target, (Shard, Folder, Unlistable))
        ] or _columnar_in(path)
        if not found:
            raise UnknownWordError(
                f"{value} holds no image and no shard{_but_videos(path) or but_unread(path)}"
            )
        yield from found
    elif os.path.lexists(path):
        yield one_of_data(value, path, captions)
    elif _is_remote(value):
        yield Remote(address=value)
    elif any(sign in value for sign in "*?[{") or "::" in value:
        yield from _read_pattern(value, folder, captions)
    else:
        raise UnknownWordError(_what_was_tried(value, folder))


def _read_pattern(pattern: str, folder: str, captions: CaptionRule) -> Iterator[Target]:
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
        if _is_remote(name):
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
                fits += _read_path(one, one)
            except UnknownWordError as error:  # such as a list of checksums beside the shards
                unfit = unfit or error
        else:
            fits.append(Shard(path=one, captions=captions))
    if unfit is not None and not fits:
        raise unfit
    yield from fits


# --- the user's code, by name ---------------------------------------------------------------------


def built_by(
    spec: Spec, word: str, folder: str, python: str | None, *, kind: str | None = None
) -> Built:
    """Hold a name against the source, as far as that can be done without running it.

    Raises:
        UnknownWordError: there is no such file, or its source binds no such name.
    """
    path = source_of(spec, folder)
    if spec.module is not None and path is None and python is None:
        _expect_installed(word, spec.module.partition(".")[0], folder)
    if spec.file is not None and path is None:
        near = _nearest_path(spec.file, folder)
        raise UnknownWordError(f"{word}: there is no file {spec.file}{near}")
    if path is not None:
        from preflight.targets.bound_names import bound_names

        names = bound_names(path)
        if names is not None and spec.name not in names:
            alike = nearest(spec.name, names)
            hint = f"; did you mean {alike}?" if alike else ""
            raise UnknownWordError(f"{word}: {spec.home} has no {spec.name}{hint}")
    return BUILT[kind](spec=word, folder=folder)


def _expect_installed(word: str, top: str, folder: str) -> None:
    """Refuse a module that neither lies here nor is installed; nothing is imported for it."""
    import importlib.util

    if os.path.isdir(os.path.join(folder, top)):
        return  # a package without __init__.py, or one that is compiled
    try:
        found = importlib.util.find_spec(top)
    except ValueError:  # loaded already, by something that left no trace of where it is
        return
    if found is None:
        near = _nearest_path(top + ".py", folder)
        raise UnknownWordError(f"{word}: there is no module {top} in {folder}{near}")


def source_of(spec: Spec, folder: str) -> str | None:
    """Find the file that a name of the user's code stands in; None where it is not here."""
    if spec.file is not None:
        path = os.path.join(folder, spec.file)
        return path if os.path.isfile(path) else None
    stem = os.path.join(folder, *(spec.module or "").split("."))
    for path in (os.path.join(stem, "__init__.py"), stem + ".py"):
        if os.path.isfile(path):
            return path
    return None
