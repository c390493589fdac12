"""Which of the things that lie around the settings name already."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass

from preflight.kinds.target import PathTarget, Target
from preflight.settings.job import Job
from preflight.targets.targets import CacheFolder, Folder, Missing, Shard, Source, Unlistable
from preflight.targets.words.discover import discover


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedAlready:
    """Paths by the type of what they were named as."""

    paths: dict[type, frozenset[str]]

    def without(self, targets: Iterable[Target]) -> tuple[Target, ...]:
        """Leave out what is named: by itself, within a folder, or, of caches, in parts."""
        return tuple(one for one in targets if not self._names(one))

    def _names(self, target: Target) -> bool:
        if not isinstance(target, PathTarget):
            return False
        named = self.paths.get(type(target), frozenset())
        path = os.path.realpath(target.path)
        if path in named or isinstance(target, Shard):
            return path in named
        if any(path.startswith(os.path.join(one, "")) for one in named):
            return True
        begin = os.path.join(path, "")
        return isinstance(target, CacheFolder) and any(one.startswith(begin) for one in named)


def known_of(job: Job, folder: str) -> NamedAlready:
    """Find what settings name; of those that name nothing, a run looks around."""
    found = discover((), job, folder).targets if job.names_targets else ()
    kinds = (Shard, Folder, CacheFolder, Source, Unlistable)
    paths: dict[type, set[str]] = {kind: set() for kind in kinds}
    for one in found:
        if isinstance(one, PathTarget) and not (isinstance(one, Source) and one.implied):
            kind = CacheFolder if isinstance(one, Missing) else type(one)
            paths.setdefault(kind, set()).add(os.path.realpath(one.path))
    return NamedAlready(paths={kind: frozenset(those) for kind, those in paths.items()})
