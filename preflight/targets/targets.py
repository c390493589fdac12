"""What can be looked at: one frozen value for each thing that the job is made of."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

from preflight.kinds.target import PathTarget, Target


@dataclass(frozen=True, slots=True, kw_only=True)
class Host(Target):
    """A machine: this one, or one that was recorded."""

    recording: str | None = None
    """A JSON file of recorded NVML answers and environment, replayed in place of this machine's."""

    implied: bool = False
    """Whether nobody named it."""

    def name_in(self, _root: str) -> str:
        """Name it."""
        return "this machine" if self.recording is None else self.recording


@dataclass(frozen=True, slots=True, kw_only=True)
class Source(PathTarget):
    """Python sources, read and never run: a file, or a folder with all below it."""

    implied: bool = False
    """Whether it was not named itself, and is read since a loader or a model in it was named."""

    holds: tuple[str, ...] = field(default=(), compare=False)
    """The names of these loaders and models."""

    words: tuple[str, ...] = field(default=(), compare=False)
    """What it is given on its command line, where it is run, too."""


class CaptionRule(NamedTuple):
    """Where the captions of a data set are."""

    rule: str = "auto"
    """`auto`, `textfile`, `filename`, `prompt`, `json`, `table` or `none`."""

    extension: str | None = None
    """Of a caption file, without its dot; None: the usual ones."""

    images: tuple[str, ...] = ()
    """Extensions that the pipeline takes for images, without dots; empty: every known one."""

    subfolders: bool = True
    """Whether what lies below a folder is read too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shard(PathTarget):
    """One tar archive of samples."""

    captions: CaptionRule = CaptionRule()


@dataclass(frozen=True, slots=True, kw_only=True)
class Folder(PathTarget):
    """A folder of images, with all below it."""

    captions: CaptionRule = CaptionRule()

    @property
    def is_whole(self) -> bool:
        """Whether its subfolders are read, too."""
        return self.captions.subfolders


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataset(Target):
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

    def name_in(self, _root: str) -> str:
        """Name it as the user did."""
        return self.name

    def is_made_of(self, targets: Iterable[Target]) -> bool:
        """Whether these are all that belongs to it."""
        paths = {getattr(one, "path", None) for one in targets}
        return paths.issuperset(self.shards if self.folder is None else (self.folder,))


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheFolder(PathTarget):
    """A folder of cached tensors, with all below it; or one such file."""

    entry: int | None = None
    """Its place among the caches of the settings, counted from 0."""

    checkpoint: bool = False
    """Whether it holds checkpoints, of which the job takes the newest."""

    is_to_be: bool = False
    """Whether it is not there yet: the settings say that the job will write it."""

    named: tuple[str, ...] = field(default=(), repr=False)
    """Checkpoints in it that were named too, each by itself: the job may take any of them."""

    without: tuple[str, ...] = field(default=(), repr=False)
    """Paths in it that are left to other targets; its own path, where all of it is."""

    @property
    def part(self) -> str | None:
        """States of a run are no cache."""
        return "checkpoint" if self.checkpoint else None


class KeyedData(NamedTuple):
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

    is_to_be: bool = False
    """Whether it is not there yet, and the settings say that the job writes to it."""

    others: tuple[str, ...] = ()
    """The paths of the job's other caches, of which some may lie below this one."""

    entry: int | None = None
    """Its place among the caches of the settings, counted from 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Built(Target):
    """Something that the user's own code makes: a loader, a model, or what it turns out to be."""

    kind: ClassVar[str | None] = None
    """`loader` or `model` where the user said which; None: what it is decides."""

    spec: str
    """`module:name` or `file.py:name`, with what is picked of it: `train:loaders['val']`."""

    name: str | None = None
    args: tuple[Any, ...] = field(default=(), hash=False)
    kwargs: Mapping[str, Any] = field(default_factory=dict, hash=False)
    pick: str | None = None
    """A part of what is returned: `[0]`, `['val']`, `.train`."""

    folder: str | None = None
    """The current folder of the code that makes it."""

    def name_in(self, _root: str) -> str:
        """Name it as the user did."""
        return self.name or self.spec


@dataclass(frozen=True, slots=True, kw_only=True)
class Loader(Built):
    """What the user said is a loader."""

    kind: ClassVar[str | None] = "loader"


@dataclass(frozen=True, slots=True, kw_only=True)
class Model(Built):
    """What the user said is a model."""

    kind: ClassVar[str | None] = "model"


BUILT: Mapping[str | None, type[Built]] = {one.kind: one for one in (Built, Loader, Model)}
"""By what the user said that it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Script(Target):
    """A training script that is run as it is, with its own arguments."""

    path: str | None = None
    """The file, as it was typed, from the current folder."""

    module: str | None = None
    """`package.module`, of `-m`, in the place of a file."""

    args: tuple[str, ...] = ()
    """Its own arguments."""

    folder: str | None = None
    """The current folder in which it runs."""

    name: str | None = None

    def name_in(self, _root: str) -> str:
        """Name it as it would be typed."""
        started = [self.path] if self.path is not None else ["-m", self.module or ""]
        return self.name or shlex.join([*started, *self.args])


@dataclass(frozen=True, slots=True, kw_only=True)
class Missing(PathTarget):
    """Something that the settings or a brace range name, and that is not there."""

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

    @property
    def part(self) -> str | None:
        """What it should have been."""
        return "data" if self.kind == "shard" else self.kind


@dataclass(frozen=True, slots=True, kw_only=True)
class Remote(Target):
    """Data behind an address or a command, which this version does not read."""

    address: str

    @property
    def part(self) -> str | None:
        """Nothing else is named by an address."""
        return "data"

    def name_in(self, _root: str) -> str:
        """Name it by its address."""
        return self.address


@dataclass(frozen=True, slots=True, kw_only=True)
class Columnar(PathTarget):
    """A folder or a file of rows (Arrow, Parquet), which this version does not read."""

    @property
    def part(self) -> str | None:
        """They are data, and nothing else is."""
        return "data"


@dataclass(frozen=True, slots=True, kw_only=True)
class PictureZip(PathTarget):
    """A zip archive of images."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unlistable(PathTarget):
    """A folder that cannot be listed, so that nobody knows what is in it."""
