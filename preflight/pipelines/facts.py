"""What a loader reads, stage by stage, and what samples are when they arrive at it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from preflight.objects.facts import Definition

RESAMPLED = frozenset(
    {"ResampledShards", "ResampledShardList", "SimpleShardSample", "MultiShardSample"}
)
"""webdataset's classes, of this and of earlier versions, that draw shards with replacement."""


class Stage(NamedTuple):
    """One stage of a pipeline, as webdataset names it."""

    kind: str
    """`open`, `expand` and `group` (of `tarfile_to_samples`), `decode`, `rename`, `rename_keys`,
    `to_tuple`, `extract_keys`, `map_dict`, `batched`, `split`; `filter`: a function of the user
    may drop samples here; `mixed`: several pipelines are drawn from until one
    of them ends; `pass`: every sample goes on as it is; `other`: nothing is known of what
    comes out."""

    name: str = ""
    """Its own name, where it divides shards or changes their order (`split_by_node`, `shuffle`),
    may drop samples (`select`), or does something to each (`map`)."""

    at: Definition = Definition()
    """The user's line that makes it, where that is known."""

    handler: str = ""
    """What becomes of an error: `raises`, `goes-on`, `stops`, `unknown`."""

    handler_name: str = ""
    fields: tuple[tuple[str, ...], ...] = ()
    """The fields that it asks for, each with its alternatives."""

    names: tuple[str, ...] = ()
    """What each of them is called behind it (`rename`)."""

    keeps: bool = False
    """Whether fields that are not asked for go on, too."""

    strict: bool = True
    """Whether a field that is not there is an error."""

    images: bool = False
    """Whether it decodes images (`decode`)."""

    records: bool = False
    """Whether it decodes JSON, numbers and arrays as webdataset does, and no handler of the job."""

    only: tuple[str, ...] | None = None
    """The fields that it decodes; None: all."""

    size: int = 0
    """Samples of a batch (`batched`)."""

    partial: bool = True
    """Whether the last batch may be smaller."""


class ClassNumber(NamedTuple):
    """A folder of files, and the label of all of them."""

    folder: str
    label: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Reads:
    """What a live loader says that it reads."""

    name: str
    """What the user called the loader: `train:make_loader`; behind it `part`."""

    part: str = ""
    """Which of its pipelines, where several do other things to samples: `datasets[0]`."""

    defined: Definition = Definition()
    shards: tuple[str, ...] = ()
    """Addresses after expansion; local ones as absolute paths."""

    by_pattern: bool = False
    """Whether shards are patterns (`d/*.tar`), of which `glob` makes names in the run."""

    assumed: str = ""
    """Which default their addresses come from, that a command line or another file may change:
    `the default of --shards`; empty: from none."""

    config: str = ""
    """The file of settings that says them; empty: the source does by itself."""

    configs: tuple[str, ...] = ()
    """All files of settings that were looked into for them."""

    stages: tuple[Stage, ...] = ()
    """Empty where it is no pipeline of webdataset."""

    endless: str = ""
    """`resampled`: shards are drawn again and again, whatever comes of them; `repeated`: an epoch
    that gave something is followed by another one."""

    endless_at: Definition = Definition()
    own_list: bool = False
    """Whether a class of the job's own gives the shards, which may draw or divide them."""

    num_workers: int = 0
    batch_size: int | None = None
    drop_last: bool = False
    files: tuple[str, ...] = ()
    """Files that a data set of torch or `datasets` lists, absolute; of very many only some."""

    listed: int = 0
    """How many files it lists."""

    columns: tuple[str, ...] = ()
    """Of a `datasets.Dataset`."""

    rows: int = 0
    """Of one, where they are counted without reading them."""

    lost: int = 0
    """Images that it lists by names which lead to no file, as far as anybody can tell."""

    lost_names: tuple[str, ...] = ()
    """Of the first few of them."""

    made: int = 0
    """Files and shards that a script has made in its rehearsal, and that lie nowhere behind it."""

    numbers: tuple[ClassNumber, ...] = ()
    """The folders of its files, each with the label that all of its files have."""

    shifted: Shifted | None = None
    """What is known of lists of files that are out of step."""

    guess: bool = False
    """Whether a source says so, of which nobody knows that it is what runs."""

    sure: bool = False
    """Whether that stands where every run of the script comes to, by no test and no flag."""

    script: str = ""
    """The script that leads to the source; empty: nobody knows."""

    @property
    def loader(self) -> str:
        """What the user called the loader."""
        return self.name.removesuffix(self.part).rstrip()


class ReadsClasses(NamedTuple):
    """A line that has torchvision's ImageFolder, or timm, read folders with one for each class."""

    at: Definition
    paths: tuple[str, ...] = ()
    """What it may be given, as the source is written, with the defaults of its options."""

    endings: tuple[str, ...] = ()
    """What paths of which no more is known end in: `train`; empty too: nothing is known."""

    sure: bool = False
    """Whether no test stands around it, and all of its paths are written out."""

    allow_empty: bool = False
    """Whether a class without images is none to stop at."""

    skips_empty: bool = False
    """Whether a class without images is left out, and has no number: as timm has it."""

    own_rule: bool = False
    """Whether the job says by itself which files are images (`is_valid_file`)."""

    relabels: bool = False
    """Whether labels are changed behind it (`target_transform`)."""

    labels_unused: bool = False
    """Whether a loop of the file leaves labels aside (`for images, _ in loader`)."""


class UsesFiles(NamedTuple):
    """A line that does something with the names of files."""

    how: str
    """`asks`: whether the caption of an image is there; `skips`: goes on where a file is not there;
    `needs`: raises where what lies beside an image is not there, `counts`: where there are more or
    fewer of these; `lists`: takes all names of a folder, also those that begin with a dot;
    `spares`: takes them without those; `table`: names a list; `folder`: one for what lies beside
    images."""

    at: Definition
    names: tuple[str, ...] = ()
    """Of such a list or folder, without the folders above it; or what is needed: `mask`."""


class Shifted(NamedTuple):
    """Two lists of files that a data set takes by the same index, and that are out of step."""

    one: str = ""
    """As the data set calls it: `images`."""

    other: str = ""
    pairs: int = 0
    wrong: int = 0
    """Pairs of files with other names, from the first of them on."""

    at: int = 0
    """The index of that."""

    file: str = ""
    beside: str = ""
    alone: str = ""
    """The one of them that the other list has nothing for; empty: both have the same in another
    order."""

    sorts: bool = False
    """Whether the one is sorted by letters, and the other by numbers."""

    guess: bool = False
    """Whether they may be so on purpose."""


class Loss(NamedTuple):
    """Samples that one stage takes out for one reason."""

    reason: str
    """`field`: one is not there; `text`: it is no UTF-8; `image`, `record` (JSON, a number, an
    array): it does not decode; `behind`: they stand behind the damage of their shard; `twice`:
    names that stand twice in a sample."""

    field: tuple[str, ...]
    """The field that it is about, with its alternatives."""

    how: str
    """What becomes of it, as of `Stage.handler`."""

    stage: str
    """The stage, as the user would write it: `to_tuple`."""

    handler_name: str
    at: Definition
    samples: int
    shards: tuple[str, ...] = ()
    """The first few of those that hold them, as reports name them."""

    keys: tuple[str, ...] = ()
    """Of the first few samples."""

    more_shards: int = 0
    chosen: str = ""
    """What chooses among samples before it, with its line (`preflight.pipelines.fates`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Survival:
    """Of the samples of the shards that a loader reads, how many come through it."""

    reads: Reads
    name: str
    """The loader."""

    file: str | None
    """The source that makes the loader."""

    samples: int
    """In all of its shards that were looked at, as far as they can be counted."""

    through: int
    """How many come through every stage of which it is known what it does."""

    losses: tuple[Loss, ...] = ()
    """The most samples first."""

    by_rank: tuple[int, ...] = ()
    """How many come through on each rank, where the shards of each are known."""

    starved: tuple[int, ...] = ()
    """Ranks that have shards, of which nothing comes through."""

    most_of_one: int = 0
    """How many come through the worker of any rank to which the most do."""

    looked_at: int = 0
    """Shards that were read, each counted as often as the loader names it."""

    unnamed: int = 0
    """Of these shards, those that were looked at for the loader's sake alone."""

    unnamed_samples: int = 0
    unread: int = 0
    """Shards of the loader that were not looked at."""

    unread_names: tuple[str, ...] = ()
    """Of the first few of them."""

    uncounted: tuple[str, ...] = ()
    """Shards that are damaged, so that nobody knows how many samples are lost in them."""

    unsure: tuple[str, ...] = ()
    """Stages that may drop more, as the user would write them, each with its line."""

    came_out: int | None = None
    """How many came out of an epoch that was run to its end, where all of them went into it."""

    chosen: tuple[str, ...] = ()
    """What took some of them out of that epoch, as the user would write it: `.select(f)`."""

    left_out: int = 0
    """Of those that came out, how many are in no batch: only whole ones are given."""

    @property
    def known(self) -> int:
        """How many come through, as far as is known: as they did, or else as the files show."""
        return self.through if self.came_out is None else self.came_out
