"""Asks about shards, of which there may be very many."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from preflight.findings.looks import Left, Look, Looked
from preflight.kinds.gather import Gather, Run
from preflight.kinds.kind import Kind
from preflight.kinds.question import Question
from preflight.kinds.target import Target
from preflight.pipelines.facts import Reads
from preflight.shards.facts import ShardFacts
from preflight.targets.sampled import DrawnSamples
from preflight.targets.targets import CaptionRule, Shard
from preflight.values.wire import to_wire


class Shards(Gather):
    """All shards of a run."""

    def __init__(self, kind: Kind, run: Run) -> None:
        super().__init__(kind, run)
        self._samples = DrawnSamples(run.job, run.targets)
        self._read_by_loaders: dict[str, None] = {}

    def add(self, target: Shard) -> Iterator[Look]:
        """Take in a shard, unless it is in no sample."""
        reason = self._samples.without(target.path)
        if reason is not None:
            yield Left(reason=reason, kinds=(ShardFacts,), noun="shard")
        else:
            self.targets.append(target)

    def hear(self, _target: Target, facts: object) -> None:
        """Take in which shards a loader reads."""
        if isinstance(facts, Reads):
            self._read_by_loaders.update(dict.fromkeys(facts.shards))

    def then_questions(self) -> Iterator[Question]:
        """Ask about the shards of loaders that nobody has named, where they are files here."""
        root = self.run.job.root
        named = (one for one in self.run.targets if isinstance(one, Shard))
        known = {os.path.abspath(os.path.join(root, one.path)) for one in named}
        for path in self._read_by_loaders:
            if path not in known and os.path.isfile(path):
                question = self.question(Shard(path=path))
                self.expect(question)
                yield question

    def wire(self, target: Shard) -> Mapping[str, Any]:
        """Give a shard as a process is told of it."""
        return {"path": target.path, "captions": _told(target.captions)}

    def judged(
        self, question: Question, facts: ShardFacts, read_at: float | None
    ) -> Iterator[Look]:
        """Give what was seen of a shard, and say of videos that nobody looks into them."""
        yield Looked(facts=facts, target=question.target, read_at=read_at)
        if facts.videos:
            yield Left(
                reason="video is not read by this version",
                kinds=(ShardFacts,),
                count=facts.videos,
                about="image",
                noun="video",
            )


@cache
def _told(rule: CaptionRule) -> Any:
    """Give a rule as a process is told of it: one value for all shards, of which many wait."""
    return to_wire(rule)
