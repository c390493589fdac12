"""A folder of sources, as it is gone through in a run."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from preflight.sources.facts import Mentions, Opens
from preflight.sources.job_sources import JobSources
from preflight.targets.targets import Source

# Files that can be parsed in a fraction of a second.
_FEW = 100


@dataclass(slots=True)
class Tree:
    """A folder of sources, as far as its files have been read."""

    target: Source
    paths: Sequence[str]
    sources: JobSources
    ignored: Sequence[os.DirEntry[str]] = ()
    """What git ignores of it."""

    cut: bool = False
    """Whether there are more files than are read."""

    known: frozenset[str] = frozenset()
    left: int = 0
    """Files that are still to be answered for, and 1 as long as some were not asked about."""

    asked: bool = False
    """Whether names were looked for."""

    names: Sequence[str] = ()
    mark: str | None = None
    """What told this content of all files from another when names were looked for."""

    oldest: float | None = None
    """When the first of what is remembered was read, in seconds since the epoch."""

    @property
    def is_small(self) -> bool:
        """Whether all files are parsed, also those that say nothing that matters."""
        return len(self.paths) <= _FEW

    def all_names(self, told: Iterable[object], root: str) -> list[str]:
        """Give its files, and those of settings by which something was found in them."""
        full = os.path.join(root, self.target.path)
        names = dict.fromkeys(name for one in told for name in _configs_of(one))
        return [*self.names, *(os.path.relpath(os.path.join(root, one), full) for one in names)]


def _configs_of(told: object) -> Iterator[str]:
    if isinstance(told, Mentions) and told.file and not told.file.endswith(".py"):
        yield told.file
    elif isinstance(told, Opens):
        yield from (name for one in told.pipelines for name in one.configs)
