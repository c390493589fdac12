"""Holds the shards that loaders, and sources, open against the disk."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace

from preflight.datasets.facts import Opened
from preflight.findings.looks import Left, Look, Looked
from preflight.kinds.gather import Gather, Run
from preflight.kinds.kind import Kind
from preflight.kinds.target import Target
from preflight.pipelines.facts import Reads
from preflight.sources.facts import SourceFacts
from preflight.targets.folders import may_be_there
from preflight.targets.targets import Built, Loader, Missing, Shard, Source
from preflight.values.addresses import plain_path
from preflight.values.names import name_of

_NAMES = 5


class Openings(Gather):
    """All shards that somebody says will be opened; a live loader overrules the sources."""

    def __init__(self, kind: Kind, run: Run) -> None:
        super().__init__(kind, run)
        self._live: list[Reads] = []
        self._written: list[tuple[Source, Reads]] = []
        self._met: set[tuple[str | None, int | None]] = set()
        """The lines of pipelines that were met in a run."""

    def needs(self, target: Target) -> bool:
        """Whether it is a loader, or else a script, that may say which shards it opens."""
        if self._is_live:
            return type(target) in (Loader, Built)
        return isinstance(target, Source) and not target.implied

    @property
    def _is_live(self) -> bool:
        return any(type(one) in (Loader, Built) for one in self.run.targets)

    def hear(self, target: Target, facts: object) -> None:
        """Take in what loaders say, and what is written in scripts."""
        if isinstance(facts, Reads):
            self._live += [facts] if facts.shards else []
            self._met |= {(one.at.file, one.at.line) for one in facts.stages}
        elif isinstance(facts, SourceFacts) and isinstance(target, Source) and not self._is_live:
            named = [one for one in facts.pipelines if one.shards and not one.by_pattern]
            self._written += [(target, one) for one in named if one.sure]

    def finish(self) -> Iterator[Look]:
        """Give, of each that opens shards of this machine, which of them are not there."""
        elsewhere = self.run.job.launch.elsewhere
        for reads in self._live:
            local = [one for one in dict.fromkeys(reads.shards) if os.path.isabs(one)]
            found = self._held(reads, local)
            if not (elsewhere and found.missing == found.shards):
                yield Looked(facts=found)
        told: set[str] = set()
        for target, reads in () if elsewhere else self._written:
            local = self._paths_of(target, reads)
            met = (reads.defined.file, reads.defined.line) in self._met
            if local and not met and reads.name not in told:
                told.add(reads.name)
                in_folder = os.path.isdir(self.run.full(target.path))
                yield Looked(facts=replace(self._held(reads, local), in_folder=in_folder))
                yield from self._unnamed(reads, local)

    def _held(self, reads: Reads, paths: list[str]) -> Opened:
        """Say which are not there; those of a range that was named are told by themselves."""
        told = {self.run.full(one.path) for one in self.run.targets if isinstance(one, Missing)}
        gone = [one for one in paths if not may_be_there(one)]
        fresh = [name_of(one, self.run.job.root) for one in gone if one not in told]
        opens = next((one for one in reads.stages if one.kind == "open"), None)
        found = Opened(name=reads.name, defined=reads.defined, guess=reads.guess)
        return replace(
            found,
            config=reads.config,
            shards=len(paths),
            missing=len(gone),
            untold=len(fresh),
            names=tuple(fresh[:_NAMES]),
            handler="" if opens is None else opens.handler,
            handler_name="" if opens is None else opens.handler_name,
        )

    def _paths_of(self, target: Source, reads: Reads) -> list[str]:
        """Give the files that a source names, from the folder in which the job is started.

        That is the job's, or the script's own where more of them are there; of a folder, that
        folder, or the one of the file that names them.
        """
        plain = [plain_path(one) for one in dict.fromkeys(reads.shards)]
        names = [one for one in plain if one and not set(one) & set("~$*?[")]
        if len(names) < len(plain):
            return []  # some are behind addresses, or stand for whatever is there
        folders = ["", os.path.dirname(target.path)]
        if os.path.isdir(self.run.full(target.path)):
            folders = ["", target.path, os.path.dirname(reads.defined.file or "")]
        each = [[self.run.full(os.path.join(at, one)) for one in names] for at in folders]
        return max(each, key=lambda paths: sum(map(may_be_there, paths)))

    def _unnamed(self, reads: Reads, paths: list[str]) -> Iterator[Left]:
        """Count those that are there and that no word names."""
        named = {self.run.full(one.path) for one in self.run.targets if isinstance(one, Shard)}
        count = sum(one not in named and may_be_there(one) for one in paths)
        if count:
            said = f"as {reads.config} has it" if reads.config else "as the source is written"
            reason = f"{reads.name} opens it, {said}, and it was not named"
            yield Left(reason=reason, kinds=(Opened,), count=count, noun="shard")
