"""Holds what was seen of shards against what each live loader reads."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace

from preflight.batches.facts import CountedInScript, Drawn
from preflight.batches.pass_facts import Further
from preflight.findings.looks import Left, Look, Looked
from preflight.flow.defer import has_had_all
from preflight.flow.facts import Flow
from preflight.kinds.gather import Gather, Run
from preflight.kinds.kind import Kind
from preflight.kinds.target import Target
from preflight.pairing.lengths import LONGEST
from preflight.pairing.rules import extension_of
from preflight.pipelines.facts import Loss, Reads, Survival
from preflight.pipelines.fates import OPAQUE, RECORDS, decodes
from preflight.pipelines.survival import Came, ReadBy, survival, whole_batches_of
from preflight.shards.facts import Field, ShardFacts
from preflight.sources.facts import SourceFacts
from preflight.targets.targets import Built, Loader, Shard, Source
from preflight.values.addresses import is_found, plain_path
from preflight.values.code_name import command_for


class Survivals(Gather):
    """All loaders of a run that say which shards they read."""

    def __init__(self, kind: Kind, run: Run) -> None:
        super().__init__(kind, run)
        self._came: dict[str, Came] = {}
        self._reads: list[tuple[Target, Reads]] = []
        self._guesses: list[tuple[Target, Reads]] = []
        self._fields: dict[str, tuple[Field, ...]] = {}
        self._flows: list[Flow] = []

    def needs(self, target: Target) -> bool:
        """Whether it is one of the shards, or a source that may say what is done with them."""
        return isinstance(target, (Shard, Source))

    def hear(self, target: Target, facts: object) -> None:
        """Take in what was seen of shards, and what loaders say."""
        if isinstance(facts, Reads):
            self._reads += [(target, facts)] if facts.stages else []
        elif isinstance(facts, SourceFacts) and isinstance(target, Source):
            self._guesses += [(target, one) for one in facts.pipelines]
        elif isinstance(facts, ShardFacts) and isinstance(target, Shard):
            path = self.run.full(target.path)
            self._came[path] = came(facts)
            self._fields[path] = facts.fields.fields
        elif isinstance(facts, (CountedInScript, Drawn, Further)) and facts.flow:
            self._flows.append(facts.flow)

    def finish(self) -> Iterator[Look]:
        """Give, of each loader, how many samples come through it."""
        named = {self.run.full(one.path) for one in self.run.targets if isinstance(one, Shard)}
        launch = ReadBy(self.run.job.launch.ranks, self.run.job.launch.num_workers)
        each = self._reads or list(self._guessed(list(named)))
        yield from () if self._reads else self._not_understood(reads for _, reads in each)
        for target, reads in each:
            found = survival(reads, self._came, launch)
            more = [one for one in dict.fromkeys(reads.shards) if one not in named]
            seen = [self._came[one] for one in more if one in self._came]
            samples = sum(one.samples for one in seen)
            run = [one for one in self._flows if one.name == reads.loader]
            found = as_it_ran(replace(found, unnamed=len(seen), unnamed_samples=samples), run)
            if found.looked_at or not reads.guess:
                # What a source seems to say is no look at a loader.
                yield Looked(facts=found, target=None if reads.guess else target)
            if not (reads.guess or any(has_had_all(one, found) for one in run)):
                yield from self._undecoded(reads)
            if not (
                reads.shards or reads.made or reads.guess or any(one.ended == "over" for one in run)
            ):
                reason = f"which shards {reads.name} reads is known in the run only"
                yield Left(reason=reason, kinds=(Survival,), noun="pipeline")
            if found.unread and not reads.guess:
                first = f", such as {found.unread_names[0]}" if found.unread_names else ""
                yield Left(
                    reason=f"{reads.name} reads it, and it was not read here{first}",
                    kinds=(Survival,),
                    count=found.unread,
                    noun="shard",
                )

    def _undecoded(self, reads: Reads) -> Iterator[Left]:
        """Count what the loader decodes, and raises on where it is damaged, and nobody has read."""
        if self.run.job.look.depth == "index":
            return
        files: Counter[str] = Counter()
        for one in (field for path in reads.shards for field in self._fields.get(path, ())):
            is_large = one.name in RECORDS - {"npy"} and one.largest > LONGEST
            if (extension_of(one.name) in OPAQUE or is_large) and decodes(one.name, reads.stages):
                files[one.name] += one.files
        for name, count in files.items():
            reason = f"decode() of {reads.name} reads what only the job itself loads"
            noun = f".{name} field"
            yield Left(reason=reason, kinds=(Survival,), count=count, noun=noun)

    @property
    def _is_live(self) -> bool:
        return any(type(one) in (Loader, Built) for one in self.run.targets)

    def _not_understood(self, judged: Iterable[Reads]) -> Iterator[Left]:
        """Count pipelines that are written in sources, and may drop what was looked at."""
        known = {one.name for one in judged if not self._came.keys().isdisjoint(one.shards)}
        for _, reads in self._guesses if self._came and not self._is_live else ():
            paths = [self.run.full(one) for one in map(plain_path, reads.shards) if one]
            others = reads.sure and not reads.by_pattern and self._came.keys().isdisjoint(paths)
            if reads.name in known or (reads.shards and others):
                continue
            known.add(reads.name)
            reason = f"which shards {reads.name} reads is known in the run only"
            if reads.shards:
                reason = f"{reads.name} reads other shards than those that were looked at"
                by = reads.assumed or reads.config
                reason += f", as {by} has it" if by else ""
            command = command_for(reads.script or reads.defined.file or "")
            yield Left(
                reason=f"{reason}; {command} meets it",
                kinds=(Survival,),
                noun="pipeline",
            )

    def _guessed(self, named: list[str]) -> Iterator[tuple[Target, Reads]]:
        """Give what a source says of pipelines, where no loader was made.

        Shards that are no literal are taken for all that were named, where there is one pipeline of
        a script that was named, too.
        """
        if self._is_live:
            return
        for target, reads in self._guesses:
            paths = (plain_path(one) for one in reads.shards)
            local = tuple(self.run.full(one) for one in paths if one)
            if reads.by_pattern:
                local = tuple(one for one in sorted(named) for p in local if is_found(one, by=p))
                if not local:
                    continue
            is_named = isinstance(target, Source) and os.path.isfile(self.run.full(target.path))
            if local or (is_named and len(self._guesses) == 1):
                whole = replace(reads, shards=local or tuple(named))
                if (local and reads.sure) or self._is_meant(whole):
                    yield target, whole

    def _is_meant(self, reads: Reads) -> bool:
        """Whether shards hold any field that the pipeline asks for; else it reads other ones."""
        asked = {name for one in reads.stages for field in one.fields for name in field}
        seen = [self._came[one] for one in reads.shards if one in self._came]
        there = {name for one in seen for arrived in one.arrived for name in arrived.fields}
        return not asked or not there or not asked.isdisjoint(there)


def as_it_ran(found: Survival, flows: Iterable[Flow]) -> Survival:
    """Add what came out of an epoch that was run to its end, where it was given just these."""
    for flow in flows:
        is_all = flow.ended == "over" and not found.unread and flow.entered == found.samples
        if is_all and flow.came_out <= found.through:
            before = [one for one in found.losses if one.chosen and _is_out_before(one, flow)]
            return replace(
                found,
                came_out=flow.came_out,
                chosen=tuple(one.call for one in flow.chosen),
                left_out=_left_out(flow, found.reads),
                through=found.through + sum(one.samples for one in before),
                losses=tuple(one for one in found.losses if one not in before),
            )
    return found


def _left_out(flow: Flow, reads: Reads) -> int:
    """Count what came out of an epoch and is in no batch, where only whole ones are made, once."""
    size, stages = whole_batches_of(reads), flow.stages
    at = next((place for place, one in enumerate(stages) if one.kind == "batched"), len(stages))
    if not size or not at or stages[at - 1].unit != "sample":
        return 0
    if at < len(stages):  # by a stage, and not by the DataLoader
        is_whole = any(one.kind == "batched" and not one.partial for one in reads.stages)
        batches = stages[at].gave if is_whole else 0
    else:
        batches = flow.batches
    return max(0, stages[at - 1].gave - batches * size) if batches else 0


def _is_out_before(one: Loss, flow: Flow) -> bool:
    return flow.takes_out_before(one.stage, one.at.line)


def came(facts: ShardFacts) -> Came:
    """Keep of a shard what matters to those who read its samples."""
    return Came(
        file=facts.file,
        samples=facts.samples,
        lost=facts.lost,
        damaged=bool(facts.damage),
        quiet=facts.quiet,
        twice=sum(one.count for one in facts.oddities if one.kind == "twice"),
        arrived=facts.arrived,
    )
