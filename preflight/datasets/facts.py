"""What is known of a data set as a whole."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from preflight.findings.finding import Location
from preflight.objects.facts import Definition
from preflight.pipelines.arrived import Lacking
from preflight.shards.facts import SampleFields, Shared, Unlike


class Uncaptioned(NamedTuple):
    """Images of one shard without the caption that most of the whole data set have."""

    file: str
    """The shard."""

    samples: int
    images: int
    """Samples of the shard that have an image."""

    keys: tuple[str, ...]
    """Of the first few."""

    caption: str
    """The extension of most captions."""

    decided_by: str = ""
    """As of `ShardFacts`."""

    given_whole_by: str = ""
    """As of `ShardFacts`."""

    asked: Lacking | None = None
    """What a pipeline that the sources write out does with them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetFacts:
    """Shards, or a folder of images, that the job reads as one set of samples."""

    name: str
    """As the user named it."""

    file: str
    """The folder that holds all of it, as reports name it."""

    entry: int | None = None
    """Its place among the data sets of the settings, counted from 0."""

    is_folder: bool = False
    """Whether it is a folder of images."""

    shards: tuple[str, ...] = ()
    """The shards that were read, in the order in which the job would take them."""

    sizes: tuple[int, ...] = ()
    """How many samples each of them has."""

    samples: int = 0
    """Samples in all of what was read; in a folder, images, or else videos, or audio files."""

    unread: int = 0
    """Shards that could not be read or were left out, so that there may be more samples."""

    fields: SampleFields = field(default_factory=SampleFields)
    """What the samples of its shards are made of; no file is named."""

    resampled: str | None = None
    """What draws the job's shards with replacement: a place or a loader; None: nothing known."""

    repeated: str | None = None
    """What has each rank begin its shards again before its epoch is over (`with_epoch`)."""

    perhaps_resampled: str | None = None
    """Where an expression of a source decides whether they are drawn so."""

    drawn_once: str | None = None
    """What gives each shard to one worker, which raises without one: a place or a loader."""

    workers: int | None = None
    """Those of that loader that have to have a shard each, where it was built."""

    beside: int = 0
    """Shards of other data sets that the same loader reads, too."""

    is_divided: bool = True
    """Whether that loader divides its shards among ranks, too; where none was built, it may."""

    split_said: bool = False
    """Whether the settings say how ranks divide its shards, of it or of its loader."""

    joined: str = ""
    """Where sources let ranks go on that have more of its samples than others: `train.py:12`."""

    damaged: int = 0
    """Shards among those that were read that cannot be read to their end."""

    empty: tuple[str, ...] = ()
    """Those that can be read to their end, and hold no sample."""

    shared: tuple[Shared, ...] = ()
    """By pairs of shards, the samples that stand in both."""

    @property
    def place(self) -> Location:
        """Where it is, for a finding: its only shard, its folder, or what the user called it."""
        if len(self.shards) == 1 and not self.unread:
            return Location(file=self.shards[0])
        name = None if self.name == self.file else self.name
        return Location(file=None if self.file == "." and name else self.file, name=name)


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetCaptions:
    """What the captions of a data set say of shards that by themselves do not say theirs."""

    name: str
    file: str
    uncaptioned: tuple[Uncaptioned, ...]
    captioned: int
    """Images of the data set that have such a caption."""

    few: int = 0
    """Images beside which a text lies, where JSON lies beside more of them, and so is taken for
    the captions."""

    images: int = 0
    """All of them, where few have a text."""

    dotted: tuple[str, ...] = ()
    """The fields of its samples, where all of a sample begin alike: `v2.jpg`, `v2.txt`; only where
    nothing is known to ask for them."""

    samples: int = 0
    """With an image, where that is so."""

    unlike: tuple[Unlike, ...] = ()
    """Shards that lack a field of most samples; only where nothing is known to ask for any."""


class Gone(NamedTuple):
    """Files that a loader lists, and that are not there."""

    what: str
    """`image` or `text`."""

    missing: int
    of: int
    """Of so many that were looked for."""

    names: tuple[str, ...]
    """Of the first few."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """The files that a live loader lists, and those of them that were looked at for its sake."""

    name: str
    """What the user called the loader."""

    defined: Definition = Definition()
    files: int = 0
    """How many it lists."""

    looked_for: int = 0
    """How many of them were looked for."""

    suffixes: tuple[tuple[str, int], ...] = ()
    """The commonest of those, each with its number."""

    gone: tuple[Gone, ...] = ()
    images: int = 0
    """Images that were looked at and lie in no folder that was named."""

    captions: int = 0
    cached: int = 0
    """Of them, files that are read as those of a cache are."""

    columns: tuple[str, ...] = ()
    """Of a data set of the package `datasets`."""

    rows: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """The shards of this machine that a loader opens, or a source by names that it writes out."""

    name: str
    """What the user called the loader, or the line of the source."""

    defined: Definition = Definition()
    guess: bool = False
    """Whether a source says so, and no loader was made."""

    config: str = ""
    """The file of settings that says their names; empty: the source does."""

    in_folder: bool = False
    """Whether a folder of sources was named, of which not every script need be part of the job."""

    shards: int = 0
    missing: int = 0
    """How many of them are not there."""

    untold: int = 0
    """How many of these no range names that was named."""

    names: tuple[str, ...] = ()
    """Of the first few of those."""

    handler: str = ""
    """What becomes of one that cannot be opened, as of `Stage.handler`."""

    handler_name: str = ""


class NamedColumn(NamedTuple):
    """A column of a list that names images."""

    name: str
    """As the list calls it: `image`, `images.file_name`; empty in a text of lines."""

    names: int
    """How many different ones."""

    missing: int = 0
    """How many of them are not there."""

    first: tuple[str, ...] = ()
    """The first few of those."""

    stems: bool = False
    """Whether it names them without their extensions."""

    apart: str = ""
    """What sets all of their rows apart from the others: `split = test`."""

    within: str = ""
    """The folder that is called as the list is, and alone was looked into; empty: all were."""

    others: bool = False
    """Whether so few are there that it may name images of another place."""

    here: str = ""
    """Where, then, an image lies that is called like one of them."""

    empty: str = ""
    """A folder that is called as the list is, or as they have it, and holds no file."""


class NamesSeen(NamedTuple):
    """A list, with its columns that name images which are there, or some of which are."""

    file: str
    columns: tuple[NamedColumn, ...] = ()
    damage: str = ""
    """What stops every reader of it: `is empty`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileList:
    """A list (CSV, JSON, a text of lines) that names images of a folder which was looked at."""

    file: str
    column: NamedColumn
    read_by: str = ""
    """The line of a source that names the list: `train.py:9`."""

    asked_by: str = ""
    """The line of a source that goes on where a file is not there."""

    damage: str = ""
    """As `NamesSeen` has it; then no column is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyNames:
    """Keys of a shard, in the order in which they were asked for; empty: it has no such key."""

    file: str
    names: tuple[str, ...]
