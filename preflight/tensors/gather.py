"""Has cached files loaded, where the job asks for it (`--deep`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from preflight.cached_files.cache_listing import list_cache
from preflight.findings.finding import Location
from preflight.findings.looks import Look
from preflight.kinds.gather import Gather
from preflight.kinds.question import Question
from preflight.targets.looked_at_once import own_files
from preflight.targets.targets import CacheFolder
from preflight.values.names import name_of


class _File(NamedTuple):
    """One file of a cache; of these, there may be very many."""

    target: CacheFolder
    path: str

    def place(self, root: str) -> Location:
        """Say what reports call it."""
        return Location(file=name_of(self.path, root))


class LoadedFiles(Gather):
    """All cached files of a run."""

    def add(self, target: CacheFolder) -> Iterator[Look]:
        """Take in the files of a cache."""
        if (
            self.run.job.look.deep
            and not target.is_to_be
            and any(map(self.run.wants, self.kind.facts))
        ):
            files = own_files(list_cache(target.path), target).files
            self.targets += (_File(target, path) for path in files)
        yield from ()

    def wire(self, target: _File) -> Mapping[str, Any]:
        """Give a file as a process is told of it."""
        return {"path": target.path}

    def question(self, target: _File) -> Question:
        """Ask about a file."""
        question = super().question(target)
        question.target = target.target
        return question

    def judged(self, question: Question, facts: Any, _read_at: float | None) -> Iterator[Look]:
        """Tell whoever puts the files of a cache together; alone, one is not judged."""
        self.run.tell(question.target, facts)
        yield from ()
