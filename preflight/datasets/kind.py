"""The rows of data sets."""

from __future__ import annotations

from preflight.datasets.class_facts import ClassFolders, OtherNumbers, SplitClasses
from preflight.datasets.facts import (
    DatasetCaptions,
    DatasetFacts,
    FileList,
    KeyNames,
    Listed,
    NamesSeen,
    Opened,
)
from preflight.kinds.kind import Kind
from preflight.pipelines.facts import Survival
from preflight.targets.targets import Built, Dataset, Folder, Loader, Script, Shard, Source
from preflight.values.names import counted


def _lists(found: list[Listed]) -> str | None:
    """Say on a page what loaders list."""
    said = []
    for one in found:
        some = ", and more" if one.looked_for < one.files else ""
        kinds = ", ".join(f"{count:,} {suffix}" for suffix, count in one.suffixes)
        columns = f"columns {', '.join(one.columns[:5])}" if one.columns else ""
        rows = counted(one.rows, "row") if one.rows else ""
        files = f"lists {counted(one.files, 'file')} ({kinds}{some})" if one.files else ""
        said.append(", ".join(filter(None, (columns, rows, files))))
    return "; ".join(dict.fromkeys(filter(None, said))) or None


DATASET = Kind(
    name="dataset",
    noun="data set",
    word="data",
    target=Dataset,
    facts={DatasetFacts: "data set", DatasetCaptions: "data set"},
    made_of=(Shard, Folder),
    led_to_by=(Loader, Built, Script),
    gather="preflight.datasets.gather:Datasets",
)

SURVIVAL = Kind(
    name="survival",
    noun="loader",
    word="loader",
    part="data",
    facts={Survival: "loader of shards"},
    made_of=(Loader, Built),
    led_to_by=(Loader, Built, Script, Source),
    gather="preflight.datasets.survivals:Survivals",
    counts=lambda facts: (
        {"shard": facts.unnamed, "sample": facts.unnamed_samples} if facts.unnamed else {}
    ),
)

LISTED = Kind(
    name="listed",
    noun="loader",
    word="loader",
    part="data",
    facts={Listed: "loader of files"},
    made_of=(Loader, Built),
    led_to_by=(Loader, Built, Script),
    gather="preflight.datasets.listed:ListedFiles",
    counts=lambda facts: {
        noun: count
        for noun, count in (
            ("image", facts.images),
            ("caption", facts.captions),
            ("cached file", facts.cached),
        )
        if count
    },
    sums_up={Listed: _lists},
)

OPENED = Kind(
    name="opened",
    noun="loader",
    word="loader",
    facts={Opened: "loader of shards"},
    led_to_by=(Loader, Built, Script, Source),
    of_job=False,
    gather="preflight.datasets.openings:Openings",
)

CLASSES = Kind(
    name="classes",
    noun="folder of classes",
    word="source",
    facts={
        ClassFolders: "folder of classes",
        SplitClasses: "folder of classes",
        OtherNumbers: "pair of loaders of classes",
    },
    led_to_by=(Source, Loader, Built, Script, Folder),
    gather="preflight.datasets.class_folders:Classes",
)

KEY_NAMES = Kind(
    name="key-names",
    noun="shard",
    answers=(KeyNames,),
    reader="preflight.datasets.key_names:look",
)

FILE_LIST = Kind(
    name="file-list",
    noun="list",
    word="data",
    facts={FileList: "list of images"},
    led_to_by=(Folder,),
    gather="preflight.datasets.lists:Lists",
)

LIST_NAMES = Kind(
    name="list-names",
    noun="list",
    answers=(NamesSeen,),
    reader="preflight.datasets.named_in_lists:look",
    may_be_left=True,
)

KINDS = (DATASET, SURVIVAL, LISTED, OPENED, CLASSES, KEY_NAMES, FILE_LIST, LIST_NAMES)
