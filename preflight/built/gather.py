"""Has the user's code make loaders and models."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from preflight.built.wanting import is_no_fault, why_not_made
from preflight.findings.looks import Cleared, Look, Looked
from preflight.kinds.gather import Gather
from preflight.kinds.question import Question
from preflight.kinds.rooms import facts_of
from preflight.targets.targets import Built
from preflight.users_code.facts import Unbuilt
from preflight.values.wire import to_exact, to_wire


class BuiltTargets(Gather):
    """All targets of one kind that the user's code makes."""

    def wire(self, target: Built) -> Mapping[str, Any]:
        """Give what is named as a process is told of it; its arguments may be anything in TOML."""
        given = {"args": to_exact(target.args), "kwargs": to_exact(target.kwargs)}
        return {"kind": target.kind, **to_wire(replace(target, args=(), kwargs={})), **given}

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
            yield Looked(facts=one, target=question.target, read_at=read_at)
        if not any(isinstance(one, Unbuilt) for one in found):
            yield Cleared(kinds=(Unbuilt,))
