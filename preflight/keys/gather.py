"""Asks of caches in the settings whether their entries lead back to what they were made of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from preflight.findings.looks import Left, Look, Looked
from preflight.keys.facts import CacheKeys
from preflight.kinds.gather import Gather, Run
from preflight.kinds.kind import Kind
from preflight.kinds.question import Question
from preflight.settings.job import Job
from preflight.targets.sampled import outside, sample_of
from preflight.targets.targets import CacheFolder, Dataset
from preflight.targets.words.in_settings import captions_of
from preflight.targets.words.unfilled import holds_nothing
from preflight.values.code_name import parse_spec
from preflight.values.names import name_of
from preflight.values.wire import to_wire

AGAINST = "cache against data"
"""Whether each sample has its entry in a cache: only where the data set of a cache is named."""


class KeyLists(Gather):
    """All caches whose data sets are named."""

    def __init__(self, kind: Kind, run: Run) -> None:
        super().__init__(kind, run)
        self._caches: list[CacheFolder] = []

    def add(self, target: CacheFolder) -> Iterator[Look]:
        """Take in a cache, unless its data sets are not named, or not looked at whole."""
        job = self.run.job
        self._caches += [] if target.checkpoint else [target]
        of = made_of(target, self.run)
        for sample in (sample_of(one, job) for one in of if one.shards):
            if sample is not None:  # what the other shards hold, only they say
                yield Left(reason=outside(sample), kinds=(CacheKeys,), noun=self.kind.noun)
                return
        if of:
            self.targets.append(target)
        elif not target.checkpoint and holds_nothing(target.path):
            named = name_of(target.path, job.root)
            facts = CacheKeys(file=named, entry=target.entry, is_unfilled=True)
            yield Looked(facts=facts, target=target)

    def wire(self, target: CacheFolder) -> Mapping[str, Any]:
        """Give a cache and its data sets as a process is told of them."""
        return told_of_cache(target, self.run)

    def question(self, target: CacheFolder) -> Question:
        """Ask about a cache; where its key is a function, the user's code is run for it."""
        question = super().question(target)
        key = self.run.job.cache[target.entry or 0].key
        if key is not None and parse_spec(key) is not None:
            question.folder = self.run.job.root
        return question

    def code_questions(self) -> Iterator[Question]:
        """Ask about those whose key is a function."""
        asked = map(self.question, self.targets)
        return (one for one in asked if one.folder is not None)

    def questions(self) -> Iterator[Question]:
        """Ask about all others."""
        asked = map(self.question, self.targets)
        return (one for one in asked if one.folder is None)

    def not_judged(self) -> Iterator[str]:
        """Say where no cache that is looked at is held against data."""
        if self._caches and not any(map(self._is_compared, self._caches)):
            yield AGAINST

    def _is_compared(self, cache: CacheFolder) -> bool:
        job, entry = self.run.job, cache.entry
        return entry is not None and (bool(job.cache[entry].of) or job.implies_data(entry))


def made_of(cache: CacheFolder, run: Run) -> list[Dataset]:
    """Give the data sets of whose samples a cache has entries, as far as the settings say it."""
    job, entry = run.job, cache.entry
    if entry is None:
        return []
    known = [one for one in run.targets if isinstance(one, Dataset)]
    known = [one for one in known if one.entry is not None]
    if job.implies_data(entry):
        return known
    names = job.cache[entry].of
    return [one for one in known if _is_called(one, names, job)]


def told_of_cache(cache: CacheFolder, run: Run) -> dict[str, Any]:
    """Give a cache and its data sets as a process is told of them."""
    job, entry = run.job, cache.entry or 0
    return {
        "path": cache.path,
        "entry": entry,
        "key": job.cache[entry].key,
        "is_to_be": cache.is_to_be,
        "of": [told_of_data(one, job) for one in made_of(cache, run)],
        "others": [one.path for place, one in enumerate(job.cache) if place != entry],
    }


def _is_called(dataset: Dataset, names: Iterable[str], job: Job) -> bool:
    data = job.data[dataset.entry or 0]
    return not {data.name, data.path, data.shards}.isdisjoint(names)


def told_of_data(dataset: Dataset, job: Job) -> dict[str, Any]:
    """Give a data set whose samples have entries in a cache as a process is told of it."""
    data = job.data[dataset.entry or 0]
    return {
        "name": dataset.name,
        "folder": dataset.folder,
        "shards": dataset.shards,
        "spelled": data.path if dataset.folder is not None else data.shards,
        "captions": to_wire(captions_of(data)),
    }
