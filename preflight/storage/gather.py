"""Asks about the places of caches once all else was read, and about what writes to them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from preflight.findings.looks import Left, Look, Looked
from preflight.keys.facts import CacheKeys
from preflight.kinds.gather import Gather, Run
from preflight.kinds.kind import Kind
from preflight.kinds.question import Question
from preflight.storage.facts import StorageProbe
from preflight.storage.scratch import tidy
from preflight.storage.space import nearest_folder
from preflight.targets.targets import CacheFolder


class Storages(Gather):
    """The place of each cache that is written to, or that lacks entries."""

    def __init__(self, kind: Kind, run: Run) -> None:
        super().__init__(kind, run)
        self._caches: dict[str, CacheFolder] = {}
        self._keys: dict[str, CacheKeys] = {}
        self._seen: list[StorageProbe] = []
        self._by_file: dict[str, CacheFolder] = {}

    def add(self, target: CacheFolder) -> Iterator[Look]:
        """Take in a cache, unless it is one file, or only read."""
        if os.path.isfile(target.path) or self._says(target) is False:
            return
        if self.run.job.launch.elsewhere:
            if self._is_tried(target):
                yield Left(reason="the job will run on another machine", kinds=(StorageProbe,))
            return
        self._caches.setdefault(target.path, target)

    def _says(self, target: CacheFolder) -> bool | None:
        """Say whether the settings have it written to; None: they do not say."""
        if target.entry is None:
            return None
        settings = self.run.job.cache[target.entry]
        return settings.is_written or settings.written

    def _is_tried(self, target: CacheFolder) -> bool:
        return bool(self._says(target) or self.run.job.look.probe_storage)

    def hear(self, target: object, facts: object) -> None:
        """Take in which entries are missing."""
        if isinstance(facts, CacheKeys) and isinstance(target, CacheFolder):
            self._keys[target.path] = facts

    def then_questions(self) -> Iterator[Question]:
        """Ask about them once nobody reads in them any more: we put a folder there."""
        if not any(map(self.run.wants, self.kind.facts)):
            return
        for target in self._caches.values():
            if self._is_tried(target) or _missing(self._keys.get(target.path)):
                yield self.question(target)

    def wire(self, target: CacheFolder) -> Mapping[str, Any]:
        """Give a cache as a process is told of it."""
        keys = self._keys.get(target.path)
        return {
            "path": target.path,
            "entry": target.entry,
            "is_written": self._is_tried(target),
            "missing": _missing(keys),
            "cased": list(keys.cased) if keys is not None else [],
        }

    def judged(
        self, question: Question, facts: StorageProbe, _read_at: float | None
    ) -> Iterator[Look]:
        """Keep it until all places were looked at."""
        self._seen.append(facts)
        self._by_file[facts.file] = question.target  # type: ignore[assignment]  # of our own kind
        yield from ()

    def finish(self) -> Iterator[Look]:
        """Say of each place what the caches before it still need on the same file system."""
        needed: dict[int | None, tuple[int, int]] = {}
        for one in sorted(
            self._seen, key=lambda one: (one.entry is None, one.entry or 0, one.file)
        ):
            size, files = needed.get(one.device, (0, 0))
            facts = replace(one, before=size, files_before=files)
            needed[one.device] = size + (one.needed or 0), files + one.missing
            yield Looked(facts=facts, target=self._by_file[one.file])

    def close(self) -> None:
        """Remove what a process has left that was killed."""
        for path, target in self._caches.items():
            if self._is_tried(target):
                tidy(nearest_folder(path))


def _missing(keys: CacheKeys | None) -> int:
    """Count the entries that a cache lacks, of as many a sample as the others have."""
    if keys is None or keys.rule is None:
        return 0
    elsewhere = keys.respelled.samples if keys.respelled is not None else 0
    of_a_sample = (keys.entries - keys.orphans) / keys.matched if keys.matched else 1.0
    lacked = sum(one.samples for one in keys.lacked)
    return round(max(0, keys.missing - elsewhere) * max(of_a_sample, 0.0)) + lacked


class Writers(Gather):
    """What writes the entries of each cache, where the settings name it."""

    def __init__(self, kind: Kind, run: Run) -> None:
        super().__init__(kind, run)
        self._caches: list[CacheFolder] = []

    def add(self, target: CacheFolder) -> Iterator[Look]:
        """Take in a cache whose writer is named."""
        if self._writer(target) is not None:
            self._caches.append(target)
        yield from ()

    def _writer(self, target: CacheFolder) -> str | None:
        return None if target.entry is None else self.run.job.cache[target.entry].writer

    def code_questions(self) -> Iterator[Question]:
        """Ask about each: the user's code is run for it, in the job's folder."""
        if any(map(self.run.wants, self.kind.facts)):
            for target in self._caches:
                question = self.question(target)
                question.folder = self.run.job.root
                yield question

    def wire(self, target: CacheFolder) -> Mapping[str, Any]:
        """Give a cache and its writer as a process is told of them."""
        return {"path": target.path, "entry": target.entry, "writer": self._writer(target)}

    def failed(self, question: Question, error: str, fix: str | None) -> Iterator[Look]:
        """Say that nobody could look, and remove what a process has left that was killed."""
        self.close()
        yield from super().failed(question, error, fix)

    def close(self) -> None:
        """Remove what a process has left that was killed."""
        for target in self._caches:
            place = nearest_folder(target.path)
            tidy(place)
            tidy(os.path.dirname(place))
