"""Gives the samples of several data sets, as often as they are asked for."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Literal
from unicodedata import normalize

from preflight.keys.samples.in_folders import folders_of
from preflight.keys.samples.in_shards import shards_of
from preflight.keys.samples.sample import OFTEN, Home, Sample, Tell
from preflight.settings.key_expression import Values
from preflight.targets.targets import KeyedData


class KeyedSamples:
    """The samples of all data sets of a cache."""

    def __init__(
        self, of: Iterable[KeyedData], root: str, tell: Tell, caches: Sequence[str]
    ) -> None:
        self._tell = tell
        self._homes: list[Home] = []
        self.unread: list[str] = []
        """What could not be read to its end, as reports name it."""

        for data in of:
            if data.folder is not None:
                self._homes += folders_of(data, root, self.unread, tell, caches)
            self._homes += shards_of(data, root, self.unread, tell)

    def __iter__(self) -> Iterator[Sample]:
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

    slash: str = "/"
    """Between its parts."""

    accents: Literal["said", "NFC", "NFD"] = "said"
    """`said`, `NFC` (é is one character) or `NFD` (two, as macOS once kept names)."""


FOLDERS = (
    *("said", "bare", "dotted", "doubled", "absolute", "real"),
    *("below", "below dotted", "below doubled", "none"),
)
"""`photos`, `./photos`, `photos//`, `/data/photos`, the same without links; `photos`, `./photos`
and `photos//` of what was said as `/data/photos`; no folder at all."""

SPELLINGS = (
    *(
        Spelling(folder=folder, extension=extension)
        for extension in ("said", "lower", "upper")
        for folder in FOLDERS
    ),
    *(Spelling(folder=folder, slash="\\") for folder in FOLDERS),
    Spelling(accents="NFC"),
    Spelling(accents="NFD"),
)[1:]
"""All but the job's own."""

SAID = Spelling()
"""The job's own."""


def differs(spelling: Spelling, needs: AbstractSet[str]) -> bool:
    """Whether a rule that uses these names gives other keys by this spelling."""
    if spelling.folder != "said":
        return "path" in needs or ("absolute" in needs and spelling.folder == "real")
    if spelling.extension != "said":
        return bool(needs & {"name", "relative", "path", "absolute"})
    if spelling.slash != "/":
        return bool(needs & {"key", "relative", "path", "absolute"})
    if spelling.accents != "said":
        return bool(needs & {"stem", "key", "name", "relative", "path", "absolute"})
    return False


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
        case "below" | "below dotted" | "below doubled":
            below = _below(full, root)
            return {"below dotted": f"./{below}", "below doubled": f"{below}//"}.get(how, below)
        case "none":
            return ""
        case _:
            return said


def _below(path: str, root: str) -> str:
    try:
        return os.path.relpath(path, root).replace(os.sep, "/")
    except ValueError:  # on another drive of Windows
        return path.replace(os.sep, "/")


def values_of(one: Sample, folder: str, absolute: str, spelling: Spelling = SAID) -> Values:
    """Give what a rule may use of a sample, but for its caption; folders are spelled already."""
    name = one.name
    if spelling.extension != "said":
        stem, dot, suffix = name.rpartition(".")
        name = f"{stem}{dot}{suffix.lower() if spelling.extension == 'lower' else suffix.upper()}"
    data, below = one.home.data, one.folder
    relative = f"{below}/{name}" if below else name
    in_folder = data.folder is not None  # of a shard, what webdataset gives is no path
    values = {
        "stem": one.stem,
        "name": name,
        "relative": relative,
        "path": _joined(folder, relative) if in_folder and folder else relative,
        "absolute": _joined(absolute, relative) if in_folder else relative,
        "key": f"{below}/{one.stem}" if below else one.stem,
        "dataset": data.name,
    }
    if spelling.slash != "/":
        values = {key: value.replace("/", spelling.slash) for key, value in values.items()}
    if spelling.accents != "said":
        values = {key: normalize(spelling.accents, value) for key, value in values.items()}
    return values


def _joined(folder: str, relative: str) -> str:
    return f"{folder}{relative}" if folder.endswith("/") else f"{folder}/{relative}"
