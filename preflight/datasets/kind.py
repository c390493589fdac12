"""The rows of data sets."""

from __future__ import annotations

from preflight.datasets.facts import DatasetFacts, KeyNames
from preflight.kinds.kind import Kind
from preflight.targets.targets import Dataset, Folder, Shard

DATASET = Kind(
    name="dataset",
    noun="data set",
    word="data",
    target=Dataset,
    facts={DatasetFacts: "data set"},
    made_of=(Shard, Folder),
    gather="preflight.datasets.gather:Datasets",
)

KEY_NAMES = Kind(
    name="key-names",
    noun="shard",
    answers=(KeyNames,),
    reader="preflight.datasets.key_names:look",
)

KINDS = (DATASET, KEY_NAMES)
