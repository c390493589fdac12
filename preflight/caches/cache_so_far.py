"""One folder of cached files, as far as they have been read."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field

from preflight.cached_files.cache_listing import list_cache
from preflight.caches.whole import WholeCache
from preflight.kinds.question import stamp_of
from preflight.settings.job import Job
from preflight.targets.looked_at_once import own_files
from preflight.targets.targets import CacheFolder
from preflight.tensors.facts import Content

# Seconds of work that a run which is killed may lose, and how many times as long as it takes to
# keep what was seen.
OFTEN = 2.0
TIMES = 30


@dataclass(slots=True, kw_only=True)
class Cache(WholeCache):
    """A folder of cached files, as far as they have been read."""

    contents: list[Content] = field(default_factory=list)
    """What torch has read in its files, where it was asked to."""

    read: bool = False
    """Whether any file was read now."""

    begun: float = field(default_factory=time.time)
    """When the first of what is known was read, in seconds since the epoch."""

    kept: float = field(default_factory=time.monotonic)
    wait: float = OFTEN
    recalled: frozenset[int] = frozenset()
    """Places of files that were not read now."""

    left_behind: frozenset[str] | None = None
    """Names of checkpoints, but for the newest; None: nobody has asked yet."""

    def appeared(self) -> int:
        """Count the files that were put in since the folder was listed."""
        changed = [path for path, then in self.listing.folders if stamp_of(path)[1] != then]
        if not changed:
            return 0
        try:
            now = list_cache(self.target.path)
        except OSError:
            return 0
        return len(set(own_files(now, self.target).files) - set(self.listing.files))


def same_as(target: CacheFolder, job: Job) -> str | None:
    """Name an earlier entry of the settings that leads to the same folder.

    Two that say how their entries are named, and each otherwise, do share it on purpose.
    """
    if target.entry is None:
        return None
    here = os.path.realpath(target.path)
    key = job.cache[target.entry].key
    for other in job.cache[: target.entry]:
        if key is not None and other.key not in (None, key):
            continue
        if os.path.realpath(os.path.join(job.root, other.path)) == here:
            return other.path
    return None
