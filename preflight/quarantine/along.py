"""Finds what goes with a file that is moved: its caption, its cached entries, lists that name it.

By names alone, and by the lists that lie in its folder and above it; nothing is written.
"""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import re
import sqlite3
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from preflight.formats.suffixes.images import is_image
from preflight.targets.words.braces import LIMIT, TooManyError, count, expand
from preflight.values.listing import list_names

# Files of text beside images, of which each is a caption.
_TEXTS = (".txt", ".caption", ".json")

_ENTRIES = (".npz", ".safetensors", ".pt", ".pth", ".npy")

# What lies beside a shard and tells of it alone: an index of its members, its samples as a table.
_OF_SHARD = re.compile(
    r"(_stats\.json|(\.tar|\.tgz)?(\.gz)?\.(idx|index|json|parquet|csv|txt|md5|sha256))",
    re.IGNORECASE,
)
_SHARD = re.compile(r"(.+?)\.(tar|tgz|tar\.\w+)", re.IGNORECASE)

# Lists that trainers read, or tables that data sets are made of.
_DATABASES = (".db", ".sqlite", ".sqlite3")
_LISTS = (".jsonl", ".json", ".csv", ".tsv", ".txt", ".lst", ".list", ".yaml", ".yml", *_DATABASES)

# Folders of lists alone: those of COCO, YOLO, Pascal VOC and of splits.
_FOR_LISTS = ("annotations", "lists", "splits", "metadata", "meta", "imagesets", "jsons")

# Bytes of a list beyond which it is not read, how many of one folder are, and rows of a table.
_LARGEST, _MOST, _ROWS = 32 << 20, 20, 1_000_000


def belonging(moved: Mapping[str, str]) -> dict[str, list[str]]:
    """Say for each of these files, with its check, which files beside it have no use without it.

    To an image belong its caption and what is cached beside it, unless another image of the same
    stem stays. To a caption belongs its image: without a caption it is another sample. To a cached
    entry belong texts of just its name, unless an image or another entry of that name stays. To a
    shard belong its index, its statistics and its table.
    """
    by_folder: dict[str, set[str]] = defaultdict(set)
    for path in moved:
        by_folder[os.path.dirname(path)].add(os.path.basename(path))
    found: dict[str, list[str]] = {}
    for folder, names in by_folder.items():
        try:
            beside = list_names(folder).files
        except OSError:
            continue
        owned = _by_stem(beside)
        for name in names:
            stem, suffix = os.path.splitext(name)
            if is_image(name):
                others = owned.get(stem, ())
                stays = any(is_image(one) and one not in names for one in others)
                mine = () if stays else (one for one in others if not is_image(one))
            elif suffix.lower() in _ENTRIES:
                same = {one for one in beside if os.path.splitext(one)[0] == stem}
                texts = {one for one in same if os.path.splitext(one)[1].lower() in _TEXTS}
                if not texts or not same - texts <= names:
                    continue
                mine = (one for one in texts)
            elif shard := _SHARD.fullmatch(name):
                mine = (one for one in beside if _tells_of(one, shard[1]))
            elif suffix.lower() in _TEXTS:
                mine = (one for one in owned.get(stem, ()) if is_image(one))
            else:
                continue
            found[os.path.join(folder, name)] = [
                os.path.join(folder, one) for one in sorted(mine) if one != name
            ]
    return found


def _tells_of(name: str, stem: str) -> bool:
    return name.startswith(stem) and _OF_SHARD.fullmatch(name, len(stem)) is not None


def _by_stem(names: Collection[str]) -> dict[str, list[str]]:
    """Sort names by the stem of the image that they belong to: the longest that fits."""
    stems = {os.path.splitext(one)[0] for one in names if is_image(one)}
    owned: dict[str, list[str]] = defaultdict(list)
    for name in names:
        ends = (one.start() for one in re.finditer(r"[._]", name))
        stem = next((name[:end] for end in reversed([*ends]) if name[:end] in stems), None)
        is_entry = name.lower().endswith((".npz", ".safetensors", ".pt"))
        if stem is not None and (is_entry or name[len(stem)] == "."):
            owned[stem].append(name)
    return owned


def naming(moved: Sequence[str], root: str) -> dict[str, list[str]]:
    """Say for each of these files which small lists name it, each with its line or table.

    Also those in a folder for lists beside its own (`annotations/`), whose paths begin where no
    other folder there has such a file.
    """
    by_folder: dict[str, set[str]] = defaultdict(set)
    for path in moved:
        for folder in _upward(os.path.dirname(path), root):
            by_folder[folder].add(path)
    bases = _for_lists(by_folder)
    found: dict[str, list[str]] = defaultdict(list)
    for folder, paths in by_folder.items():
        keys = {os.path.splitext(path)[0]: path for path in paths} | {one: one for one in paths}
        for name in _lists_of(folder):
            place = os.path.join(folder, name)
            said = os.path.relpath(place, root) if place.startswith(root) else place
            for line, text in _entries(place):
                told = f"{said.replace(os.sep, '/')}:{line}"
                for path in _meant(text, keys, (folder, root), bases.get(folder, ())):
                    if told not in found[path]:
                        found[path].append(told)
    return dict(found)


def _for_lists(by_folder: dict[str, set[str]]) -> dict[str, list[str]]:
    """Add folders for lists, and give for each those in which its paths may begin."""
    bases: dict[str, list[str]] = {}
    for folder in [*by_folder]:
        inside = _folders_in(folder)
        for there in inside:
            if os.path.basename(there).lower() in _FOR_LISTS:
                by_folder[there] |= by_folder[folder]
                deeper = [one for each in inside[:_MOST] for one in _folders_in(each)[:_MOST]]
                bases[there] = [folder, *inside, *deeper]
    return bases


def _meant(
    text: str, keys: Mapping[str, str], sure: Sequence[str], perhaps: Sequence[str]
) -> Iterator[str]:
    """Give the files, by their paths with a suffix or without, that a text of a list names."""
    for before in (*sure, *perhaps):
        path = keys.get(os.path.normpath(os.path.join(before, text.replace("\\", "/"))))
        if path is not None and (before in sure or _is_alone(text, perhaps)):
            yield path


def _folders_in(folder: str) -> list[str]:
    try:
        return sorted(one.path for one in list_names(folder).folders)
    except OSError:
        return []


def _is_alone(text: str, bases: Sequence[str]) -> bool:
    """Whether one folder alone has a file of that name."""
    return sum(os.path.lexists(os.path.join(one, text)) for one in bases) == 1


def _upward(folder: str, root: str) -> Iterator[str]:
    """Give a folder and those above it, up to the job's; of a folder elsewhere, the one above."""
    yield folder
    inside = folder.startswith(os.path.join(root, ""))
    above = os.path.dirname(folder)
    while folder not in {root, above}:
        yield above
        if not inside or above == root:
            return
        folder, above = above, os.path.dirname(above)


def _lists_of(folder: str) -> list[str]:
    """Give the names of small lists: those of an image's stem are captions."""
    try:
        names = list_names(folder).files
    except OSError:
        return []
    stems = {os.path.splitext(one)[0] for one in names if is_image(one)}
    lists = [
        one
        for one in sorted(names)
        if one.lower().endswith(_LISTS) and os.path.splitext(one)[0] not in stems
    ]
    return [one for one in lists if _is_small(os.path.join(folder, one))][:_MOST]


def _is_small(path: str) -> bool:
    try:
        return os.path.getsize(path) <= _LARGEST
    except OSError:
        return False


def _entries(path: str) -> Iterator[tuple[int | str, str]]:
    """Give every text of a list that may be a path, with its line, or with its table."""
    suffix = os.path.splitext(path)[1].lower()
    if suffix in _DATABASES:
        with contextlib.suppress(sqlite3.Error):  # it may be anything, by such a name
            yield from _rows(path)
        return
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            whole = file.read(_LARGEST)
    except OSError:
        return
    lines = whole.splitlines()
    if suffix == ".json":
        yield from ((_line_of(text, whole), text) for text in _texts(_parsed(whole)))
        return
    for number, line in enumerate(lines, 1):
        if suffix == ".jsonl":
            yield from ((number, text) for text in _texts(_parsed(line)))
        elif suffix in (".csv", ".tsv"):
            parts = re.split(r'["]?[,\t;]["]?', line.strip().strip('"'))
            yield from ((number, text) for text in parts)
        else:
            yield from (
                (number, text) for text in _parts(line.strip().removeprefix("- ").strip("'\""))
            )


def _parts(line: str) -> Iterator[str]:
    """Give a line, and what stands in it before or behind a label: `cat.jpg 3`."""
    yield line
    if "\t" in line:
        yield from line.split("\t")
    elif " " in line:
        yield from (*line.rsplit(None, 1), *line.split(None, 1))


def _rows(path: str) -> Iterator[tuple[str, str]]:
    """Give the texts of a database, which is not written to, nor locked.

    Raises:
        sqlite3.Error: it is none, or damaged.
    """
    place = f"{pathlib.Path(path).absolute().as_uri()}?mode=ro&immutable=1"
    with contextlib.closing(sqlite3.connect(place, uri=True)) as base:
        base.execute("PRAGMA trusted_schema = OFF")
        tables = base.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        for (table,) in tables:
            quoted = str(table).replace('"', '""')
            every = f'SELECT * FROM "{quoted}" LIMIT {_ROWS}'  # noqa: S608  quoted, and only read
            for row in base.execute(every):
                yield from ((str(table), one) for one in row if isinstance(one, str))


def _line_of(text: str, whole: str) -> int:
    return whole.count("\n", 0, max(whole.find(json.dumps(text)), 0)) + 1


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _texts(value: Any) -> Iterator[str]:
    """Give all texts of a plain value, keys too, as kohya's scripts name images by them."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, str):
            yield one
        elif isinstance(one, dict):
            waiting += [*one, *one.values()]
        elif isinstance(one, list):
            waiting += one


def ranges(
    moved: Sequence[str], words: Sequence[str], folders: Sequence[str]
) -> dict[str, list[str]]:
    """Say for each of these files which range of the job, such as `{000..099}.tar`, names it."""
    wanted = set(moved)
    found: dict[str, list[str]] = {}
    for word in words:
        plain = re.sub(r"^[a-z]+=", "", word)
        if "{" not in plain or count(plain) > LIMIT:
            continue
        try:
            names = [*expand(plain)]
        except TooManyError:
            continue
        for name in names:
            for path in {os.path.normpath(os.path.join(one, name)) for one in folders} & wanted:
                if word not in found.setdefault(path, []):
                    found[path].append(word)
    return found
