"""Puts together what was seen of the parts of each data set."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from preflight.datasets.collected import Collected
from preflight.datasets.facts import DatasetCaptions, DatasetFacts
from preflight.datasets.kind import KEY_NAMES
from preflight.datasets.uncaptioned import (
    dotted_fields,
    few_texts,
    without_caption,
)
from preflight.findings.finding import Location
from preflight.findings.looks import Look, Looked
from preflight.images.facts import FolderFacts
from preflight.kinds.gather import Gather, Run
from preflight.kinds.kind import Kind
from preflight.kinds.question import Question
from preflight.kinds.rooms import facts_of
from preflight.kinds.target import Target
from preflight.loaders.facts import Sent
from preflight.pipelines.facts import Reads
from preflight.pipelines.fates import taken
from preflight.shards.facts import ShardFacts
from preflight.shards.fields import unlike
from preflight.sources.facts import SourceFacts
from preflight.sources.work.evened import joined, scripts_of
from preflight.targets.targets import Dataset, Folder, Loader, Shard, Source
from preflight.values.addresses import is_found, plain_path
from preflight.values.names import name_of

# Stages of a loader of which each worker raises that has no shard.
_RAISING = {"split_by_worker", "check_empty"}


class Datasets(Gather):
    """All data sets of a run."""

    def __init__(self, kind: Kind, run: Run) -> None:
        super().__init__(kind, run)
        self._all: list[Collected] = []
        self._of: defaultdict[str, list[Collected]] = defaultdict(list)
        self._sources: list[SourceFacts] = []
        self._loaders: list[Reads] = []
        self._sent: list[Sent] = []
        self._split: set[str] = set()
        """Shards of loaders of which the settings say how ranks divide them."""

    def needs(self, target: Target) -> bool:
        """Whether it is a part, or a source that may say how the shards of a set are drawn."""
        if isinstance(target, Source):
            return any(isinstance(one, Dataset) and one.shards for one in self.run.targets)
        return super().needs(target)

    def add(self, target: Dataset) -> Iterator[Look]:
        """Take in a data set, of which nothing is asked before all its shards were read."""
        self._all.append(one := Collected(dataset=target))
        parts = target.shards if target.folder is None else (target.folder,)
        for path in dict.fromkeys(parts):
            self._of[path].append(one)
        yield from ()

    def hear(self, target: Target, facts: object) -> None:
        """Take in what was seen of shards and folders, and what sources and loaders say of them."""
        if isinstance(facts, ShardFacts) and isinstance(target, Shard):
            for one in self._of.get(target.path, ()):
                one.take(target.path, facts, target.captions)
        elif isinstance(facts, FolderFacts) and isinstance(target, Folder):
            for one in self._of.get(target.path, ()):
                one.folder = facts
        elif isinstance(facts, SourceFacts):
            self._sources.append(facts)
        elif isinstance(facts, Sent) and (facts.resampled or facts.shard_stages):
            self._sent.append(facts)
        elif isinstance(facts, Reads) and facts.shards:
            self._loaders.append(facts)
            if isinstance(target, Loader) and self._says_split(target):
                self._split.update(facts.shards)
            self._add_shards_of(facts)

    def _says_split(self, loader: Loader) -> bool:
        made = (loader.spec, loader.name, loader.pick)
        return any(
            one.split and (one.call, one.name, one.pick) == made for one in self.run.job.loader
        )

    def _is_split(self, dataset: Dataset) -> bool:
        """Whether the settings say how its shards are divided, of it or of a loader."""
        entry = dataset.entry
        of_data = entry is not None and bool(self.run.job.data[entry].split)
        return of_data or not self._paths_of(dataset).isdisjoint(self._split)

    def _paths_of(self, dataset: Dataset) -> set[str]:
        return {self.run.full(one) for one in dataset.shards}

    def _add_shards_of(self, reads: Reads) -> None:
        """Take the shards of a loader that are in no data set for one."""
        known = {self.run.full(one) for one in self._of}
        more = tuple(one for one in reads.shards if one not in known and os.path.isfile(one))
        if more:
            for _ in self.add(Dataset(name=reads.name, shards=more)):
                continue

    def last_questions(self) -> Iterator[Question]:
        """Look for keys that stand in two shards, and ask for their names."""
        for one in self._all:
            one.find()
            for place, told in one.asked():
                yield Question(
                    kind=KEY_NAMES,
                    wire=told,
                    target=one.dataset,
                    at=Location(file=name_of(told["path"], self.run.job.root)),
                    gives=(),
                    gather=self,
                    whole=(one, place),
                )

    def heard(self, question: Question, told: tuple[Mapping[str, Any], ...]) -> Iterator[Look]:
        """Take in the names of keys."""
        collected, place = question.whole
        for facts in map(facts_of, told):
            collected.names[place] = facts.names
        yield from ()

    def finish(self) -> Iterator[Look]:
        """Give what is known of each data set as a whole."""
        alone = sum(bool(one.dataset.shards) for one in self._all) == 1
        for one in self._all:
            facts = one.facts(self.run.job.root)
            if not facts.is_folder:
                facts = replace(facts, **self._drawn(one.dataset, facts, alone=alone))
                facts = replace(facts, split_said=self._is_split(one.dataset))
                facts = replace(facts, joined=self._joined(facts))
            yield Looked(facts=facts, target=one.dataset)
            undecided = [
                each._replace(reads=self._written_for(path)) for path, each in one.undecided.items()
            ]
            lack, captioned = without_caption(facts.fields, undecided)
            few, images = (0, 0) if lack else few_texts(facts.fields, one.undecided.values())
            is_asked = self._asks(one.dataset)
            dotted, samples = ((), 0) if is_asked else dotted_fields(facts.fields)
            told = {each.caption for each in lack}
            odd = () if is_asked else tuple(unlike(facts.fields, one.made, told))
            if lack or few or dotted or odd:
                whole = DatasetCaptions(
                    name=facts.name,
                    file=facts.file,
                    uncaptioned=lack,
                    captioned=captioned,
                    few=few,
                    images=images,
                    dotted=dotted,
                    samples=samples,
                    unlike=odd,
                )
                yield Looked(facts=whole, target=one.dataset)

    def _written_for(self, path: str) -> Reads | None:
        """Give the pipeline of the sources that names a shard, where no loader was made."""
        if self._loaders or self._sent:
            return None
        for reads in (reads for source in self._sources for reads in source.pipelines):
            names = [self.run.full(one) for one in map(plain_path, reads.shards) if one]
            full = self.run.full(path)
            if full in names or (reads.by_pattern and any(is_found(full, by=n) for n in names)):
                return reads
        return None

    def _asks(self, dataset: Dataset) -> bool:
        """Whether a loader reads its shards, or a source says which fields are taken of any."""
        pipelines = (reads for source in self._sources for reads in source.pipelines)
        return bool(self._loaders_of(dataset)) or any(map(taken, pipelines))

    def _loaders_of(self, dataset: Dataset) -> list[Reads]:
        mine = self._paths_of(dataset)
        return [one for one in self._loaders if not mine.isdisjoint(one.shards)]

    def _beside(self, dataset: Dataset, loaders: Sequence[Reads]) -> int:
        """Count the shards of other data sets that the same loader reads."""
        mine = self._paths_of(dataset)
        return min((len({*one.shards} - mine) for one in loaders), default=0)

    def _joined(self, facts: DatasetFacts) -> str:
        """Say where the sources join ranks, if these have unlike numbers of samples."""
        job, ranks = self.run.job, self.run.job.launch.ranks
        if len({sum(facts.sizes[rank::ranks]) for rank in range(ranks)}) < 2:
            return ""
        return joined((), job.root, scripts_of(self.run.targets, job.root))

    def _drawn(self, dataset: Dataset, facts: DatasetFacts, *, alone: bool) -> dict[str, Any]:
        """Say how the shards of a data set are drawn: as its loader does, or else as sources say.

        Which of several data sets a loader reads is told by its shards, or else by their number.
        """
        for reads in (known := self._loaders_of(dataset)):
            if reads.endless == "resampled":
                return {"resampled": _place_of(reads)}
        shards = len(facts.shards) + facts.unread
        names = {one.name for one in known}
        loaders = [
            one
            for one in self._sent
            if (one.name in names if known else alone or one.shards == shards)
        ]
        for sent in () if known else loaders or self._sent:
            if sent.resampled:
                return {"resampled": sent.name}
        told: dict[str, Any] = {"beside": self._beside(dataset, known)}
        if known and all(reads.endless == "repeated" for reads in known):
            told["repeated"] = _place_of(known[0])
        raising = [one for one in loaders if set(one.shard_stages) >= _RAISING]
        least = min(raising or loaders, key=lambda one: one.own_workers or 0, default=None)
        if least is not None and (raising or known):
            is_divided = "split_by_node" in least.shard_stages
            workers = least.own_workers if raising else 1  # others do without a shard
            told |= {"workers": workers, "is_divided": is_divided}
        if least is not None and raising:
            return {**told, "drawn_once": least.name}
        for key in () if loaders or known else ("resampled", "perhaps_resampled", "drawn_once"):
            places = filter(None, (getattr(source, key) for source in self._sources))
            told[key] = next(places, None)
        return told


def _place_of(reads: Reads) -> str:
    """Say where a loader has its shards drawn again."""
    at = reads.endless_at
    return f"{at.file}:{at.line}" if at.line else reads.name
