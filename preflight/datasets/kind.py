"""The rows of data sets."""

from __future__ import annotations

from preflight.datasets.facts import DatasetCaptions, DatasetFacts, KeyNames
from preflight.kinds.kind import Kind
from preflight.pipelines.facts import Survival
from preflight.targets.targets import Built, Dataset, Folder, Loader, Shard, Source

DATASET = Kind(
    name="dataset",
    noun="data set",
    word="data",
    target=Dataset,
    facts={DatasetFacts: "data set", DatasetCaptions: "data set"},
    made_of=(Shard, Folder),
    led_to_by=(Loader, Built),
    gather="preflight.datasets.gather:Datasets",
)

SURVIVAL = Kind(
    name="survival",
    noun="loader",
    word="loader",
    part="data",
    facts={Survival: "loader of shards"},
    made_of=(Loader, Built),
    led_to_by=(Loader, Built, Source),
    gather="preflight.datasets.survivals:Survivals",
    counts=lambda facts: (
        {"shard": facts.unnamed, "sample": facts.unnamed_samples} if facts.unnamed else {}
    ),
)

KEY_NAMES = Kind(
    name="key-names",
    noun="shard",
    answers=(KeyNames,),
    reader="preflight.datasets.key_names:look",
)

KINDS = (DATASET, SURVIVAL, KEY_NAMES)
