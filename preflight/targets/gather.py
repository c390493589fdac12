"""Says of what is named and is not there, or is out of reach, that nobody can look at it."""

from __future__ import annotations

import os
from collections.abc import Iterator

from preflight.findings.looks import Failed, Look, Looked
from preflight.kinds.gather import READABLE, Gather
from preflight.kinds.rooms import kinds
from preflight.targets.facts import Absent
from preflight.targets.near_paths import near_path
from preflight.targets.targets import Columnar, Missing, Remote, Unlistable
from preflight.values.names import name_of

_COPY = "Copy a shard of it here and name that, or leave it out:  --may-skip shard,sample,image"

_LOAD = "Name the loader that reads it, in place of it:  preflight run FILE.py:FUNCTION"


class MissingTargets(Gather):
    """What the settings or a brace range name, and is not there."""

    def add(self, target: Missing) -> Iterator[Look]:
        """Say what is missing, and what lies beside it."""
        root = self.run.job.root
        elsewhere = None if target.holds else _from_its_file(target, root)
        facts = Absent(
            file=name_of(target.path, root),
            kind=target.kind,
            pattern=target.pattern,
            named_in=target.named_in,
            named_at=target.named_at,
            near=None if target.holds or target.pattern else near_path(target.path),
            elsewhere=elsewhere,
            holds=target.holds,
        )
        yield Looked(facts=facts, target=target, count=1 + target.more)


def _from_its_file(target: Missing, root: str) -> str | None:
    """Take a path from the folder of the file that names it, where it is there."""
    beside = os.path.dirname(target.named_in or "")
    if not beside or os.path.isabs(name := name_of(target.path, root)):
        return None
    path = os.path.join(root, beside, name)
    return name_of(path, root) if os.path.lexists(path) else None


class OutOfReach(Gather):
    """Data behind an address or a command, or in rows, and folders that cannot be listed."""

    def add(self, target: Remote | Columnar | Unlistable) -> Iterator[Look]:
        """Say that nobody reads it, or knows what is in it."""
        error = "this folder cannot be listed"
        parts, fix = {"data", "cache"}, READABLE
        if isinstance(target, Remote):
            error = "data behind an address or a command is not read by this version"
            parts, fix = {"data"}, _COPY
        elif isinstance(target, Columnar):
            error = "files of rows (Arrow, Parquet) are not read by this version"
            parts, fix = {"data"}, _LOAD
        # Of each kind, the first facts stand for all.
        first = (next(iter(one.facts)) for one in kinds() if one.part in parts and one.suffixes)
        yield Failed(at=target.place(self.run.job.root), error=error, kinds=tuple(first), fix=fix)
