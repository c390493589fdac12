"""Reads off a data set of torch, or of the package `datasets`, which files it lists.

Attributes are looked at, and a number of rows of each list; no code of the data set is called.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from preflight.formats.suffixes.images import is_image
from preflight.objects.attributes import classes, own_attributes
from preflight.objects.rows_of_names import MOST, lists_in, named_in, path_in
from preflight.values.this_process import full_path

# Data sets that stand in one another, and parts of one: more is nobody's.
_DEEPEST = 6
_PARTS = 1_000

# What has a length and items, and is no data set: numbers, tables, modules, pictures.
_OF_OTHERS = frozenset(
    {*sys.stdlib_module_names, "torch", "numpy", "pandas", "pyarrow", "PIL", "transformers"}
)

# Stages of a stream of `datasets`, where `shuffle` alone makes three.
_STAGES = 50

_PROBES = 32
"""Names of a list that are looked for, to learn what they are relative to."""

_PLACES = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://").match

# Lists of what is not read, or not yet there.
_ASIDE = re.compile(r"miss|skip|exclu|ignor|corrupt|invalid|remov|fail|cache|output").search


@dataclass(slots=True, kw_only=True)
class Listing:
    """What a data set lists."""

    files: dict[str, None] = field(default_factory=dict)
    """Absolute paths, no more than are told."""

    listed: int = 0
    columns: tuple[str, ...] = ()
    rows: int = 0
    lost: int = 0
    """Names of images that lead to no file, by whatever folder the data set knows."""

    lost_names: list[str] = field(default_factory=list)
    _lists: set[tuple[object, ...]] = field(default_factory=set)
    _absent: list[tuple[list[str], int]] = field(default_factory=list)
    """Lists of images by absolute paths of which none is there."""

    def settle(self) -> None:
        """Take lists of which nothing is there for what is read, where there are no others."""
        for names, count in self._absent if not self.files else ():
            self._take(names, count)

    def take(self, names: list[str], count: int, folders: Sequence[str]) -> None:
        """Take in a list of names, of which so many stand for all, where they are files."""
        tell = (count, *names[:2], names[-1])
        if tell in self._lists:
            return  # `imgs` beside `samples`
        self._lists.add(tell)
        local = [one for one in names if not _PLACES(one)]
        probes = local[:: max(1, len(local) // _PROBES)]
        found = [sum(os.path.isfile(os.path.join(at, one)) for one in probes) for at in folders]
        if max(found, default=0):
            at = folders[found.index(max(found))]
            self._take([os.path.join(at, one) for one in local], count)
        elif not local or not all(map(is_image, names)):
            return
        elif all(map(os.path.isabs, names)):
            self._absent.append((names, count))
        else:
            self.lost += count
            self.lost_names += names[:3]

    def take_paths(self, paths: list[str]) -> None:
        """Take in paths of which it is known that they are."""
        self._take(paths, len(paths))

    def _take(self, paths: Iterable[str], count: int) -> None:
        before = len(self.files)
        room = MOST - before
        self.files.update(dict.fromkeys(islice(map(full_path, paths), max(0, room))))
        self.listed += len(self.files) - before if count <= room else count


def listing_of(dataset: object) -> Listing:
    """Say which files a data set lists, and the data sets that stand in it."""
    found = Listing()
    _walk(dataset, found, None, set(), 0)
    found.settle()
    return found


def _walk(
    dataset: object, found: Listing, picked: Sequence[int] | None, seen: set[int], depth: int
) -> None:
    if depth > _DEEPEST or len(seen) > _PARTS or (id(dataset) in seen and picked is None):
        return
    seen.add(id(dataset))
    if type(dataset).__module__.partition(".")[0] == "datasets":
        _tables(dataset, found)
        return
    parts = own_attributes(dataset)
    inner = parts.get("dataset")
    if inner is not None and "indices" in parts:  # torch's Subset, and what random_split gives
        _walk(inner, found, _within(_numbers(parts["indices"]), picked), seen, depth + 1)
        return
    folders = ["", *_folders(parts.values())]
    for name, value in list(parts.items()):
        several = list(islice(value.values(), _PARTS)) if type(value) is dict else value
        for one in several[:_PARTS] if type(several) in (list, tuple) else (several,):
            if _is_dataset(one):
                _walk(one, found, None, seen, depth + 1)
        if _ASIDE(name) is None:
            for names, count in lists_in(value, picked):
                found.take(names, count, folders)


def _is_dataset(thing: object) -> bool:
    if issubclass(type(thing), classes("torch.utils.data", "Dataset")):
        return True
    home = type(thing).__module__  # what a data set of timm reads by is none of torch itself
    is_other = home.startswith("datasets.") and "_info" in own_attributes(thing)
    return is_other or home.startswith("timm.data.readers.") or _is_like_one(thing)


def _is_like_one(thing: object) -> bool:
    """Whether it is an object of the job's own that has a length and items, as data sets have."""
    if type(thing).__module__.partition(".")[0] in _OF_OTHERS:
        return False
    kinds = type.mro(type(thing))
    return all(any(name in vars(one) for one in kinds) for name in ("__len__", "__getitem__")) and (
        not issubclass(type(thing), (str, bytes, tuple, list, dict, set, frozenset))
    )


def _numbers(indices: Any) -> Sequence[int] | None:
    """Give places as a sequence; None where nobody knows them."""
    if type(indices) in (list, tuple, range):
        return indices  # type: ignore[no-any-return]
    plain = type(indices).__module__.partition(".")[0] in ("numpy", "torch")
    return list(indices.tolist()) if plain else None


def _within(inner: Sequence[int] | None, outer: Sequence[int] | None) -> Sequence[int] | None:
    """Give the places that are left where some are picked of what was picked before."""
    if inner is None or outer is None:
        return inner
    return [inner[one] for one in outer if one < len(inner)]


def _folders(values: Iterable[object]) -> Iterator[str]:
    """Give the folders that a data set knows by their paths."""
    for value in values:
        path = path_in(value)
        if path is not None and os.path.isdir(path):
            yield path


# --- the package `datasets` -----------------------------------------------------------------------


def _tables(dataset: object, found: Listing) -> None:
    """Give columns, files and rows of a data set of this package, of its own attributes."""
    parts = own_attributes(dataset)
    features: Any = own_attributes(parts.get("_info")).get("features")
    if issubclass(type(features), dict):
        found.columns = tuple(dict.fromkeys([*found.columns, *map(str, features)]))
    data, indices = parts.get("_data"), parts.get("_indices")
    tables = list(_blocks(data))
    paths = [own_attributes(one).get("path") for one in tables]
    found.take_paths([one for one in paths if type(one) is str])
    offsets = own_attributes(indices if indices is not None else data).get("_offsets")
    if offsets is not None and len(offsets):
        found.rows += int(offsets[-1])
    found.take_paths(list(_streamed(parts.get("_ex_iterable"), 0)))
    table: Any = own_attributes(data).get("table")
    if type(table).__module__.startswith("pyarrow"):
        picked: Any = own_attributes(indices).get("table")
        if type(picked).__module__.startswith("pyarrow"):  # of `select`, `shuffle`, a split
            table = table.take(picked.column(0).slice(0, MOST))
        if indices is None or picked is not None:
            _columns(table, features or {}, found)


def _columns(table: Any, features: Mapping[str, object], found: Listing) -> None:
    """Take in images that are kept as files of their own, and columns of names of files."""
    for name, one in features.items():
        if type(one).__name__ == "Image":
            stored = _stored_paths(table, name)
            found.take_paths([one for one in stored if os.path.isabs(one)])
            near = [one for one in stored if not os.path.isabs(one)]
            if near:
                found.take(near, len(near), [""])
        elif getattr(one, "dtype", "") in ("string", "large_string"):
            for names, count in named_in(table.column(name).slice(0, MOST).to_pylist(), None):
                found.take(names, count, [""])


def _streamed(stream: object, depth: int) -> Iterator[str]:
    """Give the files that a stream of examples reads, however many stages stand upon it."""
    told = own_attributes(stream)
    given = told.get("kwargs")
    for key in ("base_files", "files", "urls"):
        rows: Any = given.get(key) if type(given) is dict else None
        for row in rows if type(rows) in (list, tuple) else ():
            # What a file was called, what it is in an archive, and where it lies now.
            name = next(filter(None, reversed(row)), None) if type(row) is tuple else row
            if type(name) is str and not _PLACES(name):
                yield name
    several: Any = told.get("ex_iterables")
    inner = [told.get("ex_iterable"), *(several if type(several) is list else ())]
    for one in inner if depth < _STAGES else ():
        if one is not None:
            yield from _streamed(one, depth + 1)


def _blocks(data: object) -> Iterator[object]:
    blocks = own_attributes(data).get("blocks")
    if type(blocks) is list:
        for row in blocks:
            yield from row
    elif data is not None:
        yield data


def _stored_paths(table: Any, name: str) -> list[str]:
    """Give the paths in a column of images, of those that are kept as files of their own."""
    paths: list[str] = []
    for chunk in table.column(name).chunks if name in table.column_names else ():
        if len(paths) >= MOST or str(chunk.type)[:6] != "struct":
            break
        rows = chunk.slice(0, MOST - len(paths))
        held, told = rows.field("bytes"), rows.field("path")
        if held.null_count == len(rows):
            paths += [one for one in told.to_pylist() if one and not _PLACES(one)]
    return paths
