"""Says of what is named and is not there, or is out of reach, that nobody can look at it."""

from __future__ import annotations

from collections.abc import Iterator

from preflight.findings.looks import Failed, Look, Looked
from preflight.kinds.gather import READABLE, Gather
from preflight.kinds.rooms import kinds
from preflight.targets.facts import Absent
from preflight.targets.targets import Missing, Remote, Unlistable
from preflight.targets.word import near_path
from preflight.values.names import name_of


class MissingTargets(Gather):
    """What the settings or a brace range name, and is not there."""

    def add(self, target: Missing) -> Iterator[Look]:
        """Say what is missing, and what lies beside it."""
        root = self.run.job.root
        facts = Absent(
            file=name_of(target.path, root),
            kind=target.kind,
            pattern=target.pattern,
            named_in=target.named_in,
            named_at=target.named_at,
            near=None if target.holds or target.pattern else near_path(target.path),
            holds=target.holds,
        )
        yield Looked(facts=facts, target=target, count=1 + target.more)


class RemoteTargets(Gather):
    """Data behind an address or a command."""

    def add(self, target: Remote) -> Iterator[Look]:
        """Say that nobody reads it."""
        yield Failed(
            at=target.place(self.run.job.root),
            error="data behind an address or a command is not read by this version",
            kinds=first_facts("data"),
            fix="Copy a shard of it here and name that, or leave it out:  "
            "--may-skip shard,sample,image",
        )


class UnreadTargets(Gather):
    """Folders that cannot be listed."""

    def add(self, target: Unlistable) -> Iterator[Look]:
        """Say that nobody knows what is in it."""
        yield Failed(
            at=target.place(self.run.job.root),
            error="this folder cannot be listed",
            kinds=first_facts("data", "cache"),
            fix=READABLE,
        )


def first_facts(*parts: str) -> tuple[type, ...]:
    """Give the facts of files that stand for these parts of a job: of each kind, the first."""
    return tuple(next(iter(one.facts)) for one in kinds() if one.part in parts and one.suffixes)
