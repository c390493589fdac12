"""Gives the samples of several data sets, as often as they are asked for."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from preflight.readers.key_folders import folders_of
from preflight.readers.key_rules import Values
from preflight.readers.key_sample import OFTEN, Home, Sample, Tell
from preflight.readers.key_shards import ShardHome
from preflight.targets import KeyedData


class Samples:
    """The samples of all data sets of a cache."""

    def __init__(self, of: Iterable[KeyedData], root: str, tell: Tell) -> None:
        """List folders, and the headers of shards."""
        self._tell = tell
        self._homes: list[Home] = []
        self.unread: list[str] = []
        """What could not be read to its end, as reports name it."""

        for data in of:
            if data.folder is not None:
                self._homes += folders_of(data, root, self.unread, tell)
            for path in data.shards:
                shard = ShardHome(data, os.path.join(root, path), root, tell)
                self._homes.append(shard)
                if shard.is_cut:
                    self.unread.append(shard.place)

    def __iter__(self) -> Iterator[Sample]:
        """Give all samples, each time in the same order."""
        for home in self._homes:
            for number, one in enumerate(home.samples()):
                if not number % OFTEN:
                    self._tell(one.name)
                yield one


@dataclass(frozen=True, slots=True, kw_only=True)
class Spelling:
    """How the path of a sample may be spelled."""

    folder: str = "said"
    """How that of the data set is: `said`, as the job spells it, or one of FOLDERS."""

    extension: str = "said"
    """`said`, `lower` or `upper`."""


FOLDERS = ("said", "bare", "dotted", "doubled", "absolute", "real", "below", "none")
"""`photos`, `./photos`, `photos//`, `/data/photos`, the same without links; `photos` of what was
said as `/data/photos`; no folder at all."""

SPELLINGS = tuple(
    Spelling(folder=folder, extension=extension)
    for extension in ("said", "lower", "upper")
    for folder in FOLDERS
)[1:]
"""All but the job's own."""

SAID = Spelling()
"""The job's own."""


def folder_as(data: KeyedData, how: str, root: str) -> str:
    """Spell the folder of a data set."""
    said = data.spelled if data.spelled is not None else data.folder or ""
    full = os.path.join(root, said)
    bare = os.path.normpath(said).replace(os.sep, "/")
    match how:
        case "bare":
            return bare
        case "dotted":
            return bare if os.path.isabs(said) else f"./{bare}"
        case "doubled":
            return f"{bare}//"
        case "absolute":
            return os.path.abspath(full).replace(os.sep, "/")
        case "real":
            return os.path.realpath(full).replace(os.sep, "/")
        case "below":
            return os.path.relpath(full, root).replace(os.sep, "/")
        case "none":
            return ""
        case _:
            return said


def values_of(one: Sample, folder: str, extension: str = "said") -> Values:
    """Give what a rule may use of a sample, but for its caption.

    Args:
        one: the sample.
        folder: its data set's, spelled.
        extension: how that of its file is spelled.
    """
    name = one.name
    if extension != "said":
        stem, dot, suffix = name.rpartition(".")
        name = f"{stem}{dot}{suffix.lower() if extension == 'lower' else suffix.upper()}"
    relative = f"{one.folder}/{name}" if one.folder else name
    if one.home.data.folder is None or not folder:
        path = relative  # of a shard, what webdataset gives is no path
    else:
        path = f"{folder}{relative}" if folder.endswith("/") else f"{folder}/{relative}"
    key = f"{one.folder}/{one.stem}" if one.folder else one.stem
    return {"stem": one.stem, "name": name, "relative": relative, "path": path, "key": key}
