"""Asks who has which items, of each cache, data set and loader of whose split the settings tell."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from preflight.findings.looks import Failed, Left, Look, Looked
from preflight.keys.gather import told_of_cache, told_of_data
from preflight.kinds.gather import Gather, Run
from preflight.kinds.kind import Kind
from preflight.kinds.question import Question
from preflight.kinds.target import Target
from preflight.loaders.facts import Sent
from preflight.pipelines.facts import Reads
from preflight.ranks.facts import WorldFacts
from preflight.ranks.made.facts import RankBatches
from preflight.ranks.worlds import Divided, worlds
from preflight.settings.job import Job
from preflight.settings.split import runs_code, steps_of
from preflight.shards.facts import ShardFacts
from preflight.sources.work.evened import scripts_of
from preflight.storage.facts import WriterTrial
from preflight.targets.targets import CacheFolder, Dataset, Loader, Remote, Shard
from preflight.values.code_name import is_code_name

_FAR = "its address does not name its shards one by one, so that nobody knows how many there are"


class Worlds(Gather):
    """All of whose split something is said."""

    def __init__(self, kind: Kind, run: Run) -> None:
        super().__init__(kind, run)
        self.targets = [*worlds(run.targets, run.job)] if run.wants(WorldFacts) else []
        self._reads: dict[Target, Reads] = {}
        self._sent: dict[Target, Sent] = {}
        self._samples: dict[str, int] = {}
        """Of each shard that was read, by its path."""
        self._split: set[Target] = set()
        """Loaders of which ranks have different samples as they are made."""
        self._writers: dict[Target, str] = {}
        """Of caches, each of which let nobody read half of an entry."""
        self._caches: list[tuple[Target, WorldFacts, float | None]] = []

    def needs(self, target: Target) -> bool:
        """Whether something is said of how it is divided."""
        return any(one.of == target for one in self.targets)

    @property
    def things(self) -> int:
        """Count none: each is counted as what is divided."""
        return 0

    def hear(self, target: Target, facts: object) -> None:
        """Take in what loaders list, and how many samples shards have."""
        if isinstance(facts, Reads):
            self._reads[target] = facts
        elif isinstance(facts, Sent):
            self._sent[target] = facts
        elif isinstance(facts, ShardFacts) and isinstance(target, Shard):
            self._samples[self.run.full(target.path)] = facts.samples
        elif isinstance(facts, RankBatches) and facts.splits:
            self._split.add(target)
        elif isinstance(facts, WriterTrial) and facts.is_whole:
            self._writers[target] = facts.writer

    def code_questions(self) -> Iterator[Question]:
        """Ask where the user's code, or what he has installed, divides."""
        return (one for one in self._of_files() if one.folder is not None)

    def questions(self) -> Iterator[Question]:
        """Ask about all others, but for loaders, which are not made yet."""
        return (one for one in self._of_files() if one.folder is None)

    def then_questions(self) -> Iterator[Question]:
        """Ask about loaders that were made."""
        for one in self.targets:
            if not isinstance(one.of, Loader) or self._shards_of(one.of):
                continue
            items = self._listed(one.of)
            if items is not None:
                yield self._asked(one, "loader", items)
            elif one.of in self._reads or one.of in self._sent:
                self.come.append(_blind(one, self.run.job, "it lists neither shards nor samples"))

    def last_questions(self) -> Iterator[Question]:
        """Ask about lists of shards, of which each was read by now, if any was."""
        for one in self.targets:
            shards = one.shards or self._shards_of(one.of)
            part = "loader" if isinstance(one.of, Loader) else "data"
            told_of = part == "data" and self._is_of_a_loader(one, shards)
            if shards and not told_of and not self._is_resampled(one.of):
                sizes = [self._samples.get(self.run.full(path)) for path in shards]
                told = {"names": shards, "noun": "shard"}
                yield self._asked(one, part, told | {"sizes": None if None in sizes else sizes})

    def _is_resampled(self, target: Target) -> bool:
        reads = self._reads.get(target)
        return reads is not None and reads.endless == "resampled"

    def _shards_of(self, target: Target) -> tuple[str, ...]:
        """Give the shards of a data set, or of a loader that was made."""
        if isinstance(target, Dataset):
            return target.shards
        reads = self._reads.get(target)
        return reads.shards if reads is not None else ()

    def _of_files(self) -> Iterator[Question]:
        for one in self.targets:
            if isinstance(one.of, CacheFolder):
                yield self._asked(one, "cache", {"cache": told_of_cache(one.of, self.run)})
            elif isinstance(one.of, Dataset) and not one.of.shards:
                yield self._asked(one, "data", {"data": told_of_data(one.of, self.run.job)})

    def _listed(self, loader: Loader) -> dict[str, Any] | None:
        reads, sent = self._reads.get(loader), self._sent.get(loader)
        if sent is not None and sent.epoch is not None:
            return {"count": sent.epoch.samples, "noun": "sample"}
        if reads is not None and reads.listed:
            return {"count": reads.listed, "noun": "file"}
        return None

    def _is_of_a_loader(self, data: Divided, shards: tuple[str, ...]) -> bool:
        """Whether a loader was made that reads them by the same split: of that it is told."""
        mine = {*map(self.run.full, shards)}
        return any(
            one.split == data.split and {*map(self.run.full, self._shards_of(one.of))} == mine
            for one in self.targets
            if isinstance(one.of, Loader)
        )

    def _batches(self, one: Divided) -> dict[str, Any]:
        """Say how samples become batches: by the loader that was made, or by the settings."""
        sent = self._sent.get(one.of)
        if sent is None or sent.epoch is None:
            return {"batch_size": one.batch_size, "drop_last": None}
        return {"batch_size": sent.epoch.batch_size, "drop_last": sent.epoch.drop_last}

    def _asked(self, one: Divided, part: str, items: Mapping[str, Any]) -> Question:
        job = self.run.job
        steps = steps_of(one.split)
        reads = self._reads.get(one.of)
        workers = one.workers if one.workers is not None else reads.num_workers if reads else 1
        place = one.place(job.root)
        wire = {
            "name": one.name,
            "file": place.file,
            "part": part,
            "split": one.split,
            "steps": steps,
            "ranks": job.launch.ranks,
            "workers": max(workers, 1),
            "atomic": one.atomic,
            "scripts": scripts_of(self.run.targets, job.root),
            **self._batches(one),
            **items,
        }
        key = str(items.get("cache", {}).get("key") or "")
        return Question(
            kind=self.kind,
            wire=wire,
            target=one,
            at=place,
            gives=(WorldFacts,),
            gather=self,
            folder=job.root if runs_code(steps) or is_code_name(key) else None,
        )

    def judged(
        self, question: Question, facts: WorldFacts, read_at: float | None
    ) -> Iterator[Look]:
        """Say who has what, of what is divided; of caches once their writers were tried."""
        target = question.target
        of = target.of if isinstance(target, Divided) else target
        facts = replace(facts, counted=of in self._split)
        if isinstance(of, CacheFolder):
            self._caches.append((of, facts, read_at))
        else:
            yield Looked(facts=facts, target=of, read_at=read_at)

    def finish(self) -> Iterator[Look]:
        """Say it of caches; and of loaders that were not made, or draw from all shards."""
        for of, facts, read_at in self._caches:
            told = replace(facts, tried_writer=self._writers.get(of, ""))
            yield Looked(facts=told, target=of, read_at=read_at)
        for one in self.targets:
            if self._is_resampled(one.of):
                yield Left(reason="it draws its shards with replacement", kinds=(WorldFacts,))
            known = one.of in self._reads or one.of in self._sent
            if isinstance(one.of, Loader) and not known:
                yield _blind(one, self.run.job, "it was not made, so that nobody knows its items")
            if isinstance(one.of, Remote) and not one.shards:
                yield _blind(one, self.run.job, _FAR)


def _blind(one: Divided, job: Job, reason: str) -> Failed:
    return Failed(at=one.place(job.root), error=reason, kinds=(WorldFacts,))
