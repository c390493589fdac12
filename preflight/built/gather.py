"""Has the user's code make loaders and models."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from preflight.batches.facts import Drawn
from preflight.batches.pass_facts import Further
from preflight.built.missing import again, is_no_fault, why_not_made
from preflight.findings.looks import Cleared, Failed, Left, Look, Looked
from preflight.kinds.gather import Gather, Run
from preflight.kinds.kind import Kind
from preflight.kinds.question import Question
from preflight.kinds.rooms import facts_of
from preflight.kinds.target import Target
from preflight.loaders.facts import Loaded, Sent
from preflight.models.facts import Copied
from preflight.models.read import copied_by
from preflight.objects.facts import ModelCopy
from preflight.ranks.made.facts import NO_TIME, RankBatches, RankLost, RankOrder, RanksPassed
from preflight.sources.facts import SourceFacts
from preflight.sources.work.evened import scripts_of
from preflight.targets.targets import Built, Source
from preflight.users_code.facts import GivesBatches, Unbuilt
from preflight.values.wire import to_exact, to_wire


class BuiltTargets(Gather):
    """All targets of one kind that the user's code makes."""

    def __init__(self, kind: Kind, run: Run) -> None:
        super().__init__(kind, run)
        self._unread = {one for one in run.targets if isinstance(one, Source) and not one.implied}
        self._line: ModelCopy | None = None
        self._waiting: list[tuple[Copied, Looked]] = []
        """Models whose copies have faults, until it is known where the sources do so."""

    def wire(self, target: Built) -> Mapping[str, Any]:
        """Give what is named as a process is told of it; its arguments may be anything in TOML."""
        given = {"args": to_exact(target.args), "kwargs": to_exact(target.kwargs)}
        given |= {"scripts": scripts_of(self.run.targets, self.run.job.root)}
        return {"kind": target.kind, **to_wire(replace(target, args=(), kwargs={})), **given}

    def needs(self, target: Target) -> bool:
        """Whether it may be said by sources who copies a model."""
        return Copied in self.kind.facts and isinstance(target, Source) and not target.implied

    def hear(self, target: Target, facts: object) -> None:
        """Take in which line of the sources copies a model."""
        if isinstance(facts, SourceFacts):
            if facts.model_copy is not None and (self._line is None or self._line.averages):
                self._line = facts.model_copy
            self._unread.discard(target)
            if not self._unread:
                self.come += self._judgeable()

    def finish(self) -> Iterator[Look]:
        """Give models whose sources nobody could read."""
        yield from self._judgeable()

    def _judgeable(self) -> Iterator[Looked]:
        while self._waiting:
            copied, look = self._waiting.pop(0)
            yield look if self._line is None else replace(look, facts=copied_by(copied, self._line))

    def seen(
        self,
        question: Question,
        told: Iterable[Mapping[str, Any]],
        *,
        read_at: float | None = None,
    ) -> Iterator[Look]:
        """Give what was made, and clear it where nothing stood in the way.

        Where something is not here that the code needs, nobody could look.
        """
        found = [facts_of(one) for one in told]
        for one in found:
            if isinstance(one, Unbuilt) and is_no_fault(one, self.run.job):
                assert isinstance(question.target, Built)  # noqa: S101  for the type checker
                error, fix = why_not_made(one, question.target, self.run.job)
                yield from self.failed(question, error, fix)
                continue
            if isinstance(one, RankLost):
                yield self._lost(question, one)
                continue
            if (left := _left(one)) is not None:
                yield left
                continue
            if isinstance(one, (Drawn, Further)):  # judged when it is known what else tells of it
                self.run.tell(question.target, one)
                continue
            if isinstance(one, GivesBatches):
                reason = f"{one.name} is {one.what}: what it may send to workers is not seen"
                yield Left(reason=reason, kinds=(Sent, Loaded))
            look = Looked(facts=one, target=question.target, read_at=read_at)
            if isinstance(one, Copied) and (one.error is not None or one.originals):
                self._waiting.append((one, look))
            else:
                yield look
        if not self._unread:
            yield from self._judgeable()
        if not any(isinstance(one, Unbuilt) for one in found):
            yield Cleared(kinds=(Unbuilt,))

    def _lost(self, question: Question, lost: RankLost) -> Failed:
        """Say that nobody knows what a rank has."""
        assert isinstance(question.target, Built)  # noqa: S101  for the type checker
        kinds = ((RankBatches, lost.batches), (RankOrder, lost.order))
        alone = again(question.target, "--world-size", "1")
        return Failed(
            at=question.at,
            error=lost.error,
            kinds=tuple(kind for kind, is_lost in kinds if is_lost),
            fix=f"Have each rank make it by itself; what one rank has of it is judged by:  {alone}",
        )


def _left(facts: object) -> Left | None:
    """Say what nobody had the time to make by ranks."""
    if isinstance(facts, RanksPassed):
        kinds, count = (RankBatches, RankOrder), len(facts.ranks)
        return Left(reason=facts.reason, kinds=kinds, count=count, noun="rank")
    if isinstance(facts, (RankBatches, RankOrder)) and facts.reason == NO_TIME:
        return Left(reason=facts.reason, kinds=(type(facts),), noun="rank-by-rank look")
    return None
