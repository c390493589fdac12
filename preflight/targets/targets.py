"""What can be looked at: one frozen value for each thing that the job is made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """A machine: this one, or one that was recorded."""

    recording: str | None = None
    """A JSON file of recorded NVML answers and environment, replayed in place of this machine's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Python sources, read and never run: a file, or a folder with all below it."""

    path: str
    implied: bool = False
    """Whether nobody named it: it holds a loader or a model that was named."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptionRule:
    """Where the captions of a data set are."""

    rule: str = "auto"
    """`auto`, `textfile`, `filename`, `prompt`, `json`, `table` or `none`."""

    extension: str | None = None
    """Of a caption file, without its dot; None: the usual ones."""

    images: tuple[str, ...] = ()
    """Extensions that the pipeline takes for images, without dots; empty: every known one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shard:
    """One tar archive of samples."""

    path: str
    captions: CaptionRule = CaptionRule()


@dataclass(frozen=True, slots=True, kw_only=True)
class Folder:
    """A folder of images, with all below it."""

    path: str
    captions: CaptionRule = CaptionRule()


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataset:
    """Shards, or a folder of images, that the job reads as one set of samples."""

    name: str
    shards: tuple[str, ...] = ()
    """Paths in the order in which the job would take them, with those that are not there."""

    more: int = 0
    """Shards of a range that are not there, and are counted and not named."""

    folder: str | None = None
    """The path of the folder, where it is one."""

    entry: int | None = None
    """Its place among the data sets of the settings, counted from 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheFolder:
    """A folder of cached tensors, with all below it; or one such file."""

    path: str
    entry: int | None = None
    """Its place among the caches of the settings, counted from 0."""

    checkpoint: bool = False
    """Whether it holds checkpoints, of which the job takes the newest."""

    named: tuple[str, ...] = field(default=(), repr=False)
    """Of its checkpoints, those that were named by themselves, too: any may be the one to take."""

    without: tuple[str, ...] = field(default=(), repr=False)
    """Paths in it whose files other targets have; its own, where they have all of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyedData:
    """A data set whose samples have entries in a cache."""

    name: str = ""
    """As the user named it."""

    folder: str | None = None
    """The path of the folder, where it is one."""

    shards: tuple[str, ...] = ()
    """Paths of its shards, where it has some."""

    spelled: str | None = None
    """The folder as the settings spell it: `./data/photos`; None: as its path."""

    captions: CaptionRule = CaptionRule()


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheOf:
    """A cache, and the data sets of whose samples it has entries."""

    path: str
    of: tuple[KeyedData, ...]
    key: str | None = None
    """The rule by which an entry is named after its sample; None: not said."""

    others: tuple[str, ...] = ()
    """The paths of the job's other caches, of which some may lie below this one."""

    entry: int | None = None
    """Its place among the caches of the settings, counted from 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """Something that the user's own code makes: a loader, a model, or what it turns out to be."""

    spec: str
    """`module:name` or `file.py:name`, with what is picked of it: `train:loaders['val']`."""

    kind: str | None = None
    """`loader` or `model` where the user said which; None: what it is decides."""

    name: str | None = None
    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict, hash=False)
    pick: str | None = None
    """A part of what is returned: `[0]`, `['val']`, `.train`."""

    folder: str | None = None
    """The current folder of the code that makes it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Missing:
    """Something that the settings or a brace range name, and that is not there."""

    path: str
    kind: str
    """What it should have been: `data`, `shard`, `cache`, `source`."""

    pattern: str | None = None
    """The brace range that names it."""

    named_in: str | None = None
    """The file that names it."""

    named_at: int | None = None
    """The line that names it, counted from 1."""

    holds: str | None = None
    """What is wrong with it where it is there after all: `holds no image and no shard`."""

    more: int = 0
    """Others of the same range that are not there either, and are not named one by one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Remote:
    """Data behind an address or a command, which this version does not read."""

    address: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Unread:
    """A folder that cannot be listed, so that nobody knows what is in it."""

    path: str


Target: TypeAlias = Unread | Host | Source | Shard | Folder | CacheFolder | Built | Missing | Remote


class CannotLookError(Exception):
    """It cannot be looked at; the reason is the text."""

    def __init__(self, reason: str, *, fix: str | None = None) -> None:
        super().__init__(reason)
        self.fix = fix


class MistypedError(Exception):
    """The module or the name does not exist; the text says what was tried."""
