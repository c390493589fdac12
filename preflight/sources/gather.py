"""Makes looks of what was read in sources."""

from __future__ import annotations

from collections.abc import Iterator

from preflight.findings.finding import Location
from preflight.findings.looks import Failed, Left, Look, Looked
from preflight.kinds.gather import Gather
from preflight.kinds.question import Question
from preflight.sources.facts import SourceFacts

_FIX = "Mend it, or look with the job's own interpreter:  preflight run --python EXE"


class Sources(Gather):
    """All sources of a run."""

    def judged(
        self, question: Question, facts: SourceFacts, read_at: float | None
    ) -> Iterator[Look]:
        """Say of a single source that it cannot be parsed; a folder may hold other languages."""
        if facts.is_folder or not facts.unreadable:
            yield Looked(facts=facts, target=question.target, read_at=read_at)
            return
        self.run.tell(question.target, facts)
        if question.target.implied:  # type: ignore[attr-defined]  # a Source
            yield Left(reason="cannot be parsed, as its import says", kinds=question.gives)
            return
        for file, line, reason in facts.unreadable:
            place = Location(file=file, line=int(line) if line else None)
            yield Failed(at=place, error=reason, kinds=question.gives, fix=_FIX)
