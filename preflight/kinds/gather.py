"""Asks about all targets of one kind, and makes looks of the answers; runs in the parent.

What stands here does for kinds of which each target is one question, and each answer a whole. Where
many parts make one fact, a room has its own.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from preflight.findings.finding import Finding
from preflight.findings.looks import Failed, Left, Look, Looked
from preflight.kinds.kind import Kind
from preflight.kinds.question import Question, stamp_of
from preflight.kinds.rooms import gives
from preflight.kinds.target import Target
from preflight.ledger.recall import Memory, facts_in
from preflight.settings.job import Job
from preflight.values.wire import to_wire

# Files that are looked up in the ledger at once.
_AT_ONCE = 1_024

READABLE = "Give the user that runs the job the right to read it."


class SoFar(NamedTuple):
    """What the run has found so far, and what it could not look at."""

    found: Sequence[Finding] = ()
    failed: Sequence[Failed] = ()


class Run(NamedTuple):
    """What a gather knows of the run."""

    job: Job
    memory: Memory
    targets: tuple[Target, ...]
    """All of them, of every kind."""

    wants: Callable[[type], bool]
    """Whether a selected check is over a type of facts."""

    tell: Callable[[Target, Any], None]
    """Passes what was seen of a target on to every gather."""

    passed: Callable[[int], None]
    """Called with the number of things that need no reading, since they are remembered."""

    so_far: SoFar = SoFar()

    def full(self, path: str) -> str:
        """Give the whole path of what the job names."""
        return os.path.abspath(os.path.join(self.job.root, path))


class Gather:
    """Each target is one question, and each answer is whole."""

    def __init__(self, kind: Kind, run: Run) -> None:
        self.kind = kind
        self.run = run
        self.targets: list[Any] = []
        self.come: list[Look] = []
        """Looks that came up between two answers, to be passed on with the next one."""

        self._left: list[Any] | None = None

    # --- what is to be asked

    def needs(self, _target: Target) -> bool:
        """Whether this kind's facts cannot be made without a target of another kind."""
        return False

    def add(self, target: Any) -> Iterator[Look]:
        """Take in a target; give a look for what can be said of it without a process.

        Raises:
            OSError: it cannot be listed.
        """
        self.targets.append(target)
        yield from ()

    def recall(self) -> Iterator[Look]:
        """Give what is known of files that have not changed."""
        if not (self.kind.is_kept and self.run.memory.ledger.holds_something):
            return
        left: list[Any] = []
        for begin in range(0, len(self.targets), _AT_ONCE):
            by_how: dict[str, dict[str, Any]] = {}
            for target in self.targets[begin : begin + _AT_ONCE]:
                how = self.run.memory.how(self.kind.name, self.wire(target))
                by_how.setdefault(how, {})[self.path(target)] = target
            for how, files in by_how.items():
                known = self.run.memory.recall(self.kind.noun, how, files, expect=False)
                for path, target in files.items():
                    if path not in known:
                        left.append(target)
                        continue
                    self.run.passed(1)
                    question = self.question(target)
                    seen = facts_in(known[path], self.file_of(question))
                    yield from self.seen(question, seen, read_at=known[path].read_at)
        self._left = left

    @property
    def left(self) -> list[Any]:
        """What is to be read."""
        return self.targets if self._left is None else self._left

    @property
    def things(self) -> int:
        """How many things there are, known ones among them."""
        return len(self.targets)

    def seconds(self) -> float:
        """How long processes are likely to look at what is left, but for the user's code."""
        return 0.0 if self.kind.runs_code else sum(map(self._seconds, self.left))

    def _seconds(self, target: Any) -> float:
        job = self.run.job
        return self.kind.seconds(self.wire(target), job.root, job.look.depth)

    def some_paths(self, most: int) -> Iterator[str]:
        """Give the paths of some of the files that are to be read; at most so many of a folder."""
        if self.kind.is_kept:
            yield from (self.path(one) for one in self.left[:most])

    def code_questions(self) -> Iterator[Question]:
        """Give the questions for which the user's code is run."""
        if self.kind.runs_code:
            yield from map(self.question, self.left)

    def questions(self) -> Iterator[Question]:
        """Give all other questions, one at a time."""
        for target in () if self.kind.runs_code else self.left:
            question = self.question(target)
            if self.kind.is_kept:
                self.expect(question)
            yield question

    def then_questions(self) -> Iterator[Question]:
        """Give questions about targets that were found while others were read."""
        yield from ()

    def last_questions(self) -> Iterator[Question]:
        """Give questions that need the answers to all the others."""
        yield from ()

    def after_all_questions(self) -> Iterator[Question]:
        """Give questions that are asked last, when all that was seen has been judged."""
        yield from ()

    def wire(self, target: Any) -> Mapping[str, Any]:
        """Give a target as plain values, as they are sent to a process."""
        told: Mapping[str, Any] = to_wire(target)
        return told

    def question(self, target: Any) -> Question:
        """Ask about a target."""
        wire = self.wire(target)
        job = self.run.job
        return Question(
            kind=self.kind,
            wire=wire,
            target=target,
            at=target.place(job.root),
            gives=gives(type(target)) if self.kind.runs_code else self.kind.gives(),
            gather=self,
            seconds=self.kind.seconds(wire, job.root, job.look.depth),
            size=stamp_of(self.path(target))[0] if self.kind.is_kept else 0,
            folder=getattr(target, "folder", None) if self.kind.runs_code else None,
        )

    def about(self, whole: Any, places: Any) -> Question:
        """Make a question about several things; for gathers that ask such questions."""
        raise NotImplementedError

    def path(self, target: Any) -> str:
        """Give the path of a target's file, as it can be opened."""
        return os.path.join(self.run.job.root, target.path)

    def expect(self, question: Question) -> None:
        """Note what a file looks like before it is read, where it may be remembered."""
        question.how = self.run.memory.how(self.kind.name, question.wire)
        self.run.memory.ledger.expect(question.how, self._file(question))

    def _file(self, question: Question) -> str:
        return os.path.join(self.run.job.root, question.wire["path"])

    @staticmethod
    def file_of(question: Question) -> str:
        """Name what a question is about, as facts do."""
        return question.at.file or question.at.name or ""

    # --- what comes of it

    def heard(self, question: Question, told: tuple[Mapping[str, Any], ...]) -> Iterator[Look]:
        """Take in what a process says."""
        if question.how is not None:
            self.run.memory.keep(question.how, self._file(question), told)
        yield from self.seen(question, told)

    def seen(
        self, question: Question, told: Iterable[Mapping[str, Any]], *, read_at: float | None = None
    ) -> Iterator[Look]:
        """Make looks of plain facts."""
        from preflight.kinds.rooms import facts_of

        for one in told:
            yield from self.judged(question, facts_of(one), read_at)

    def judged(self, question: Question, facts: Any, read_at: float | None) -> Iterator[Look]:
        """Say what there is to judge of facts."""
        yield Looked(facts=facts, target=question.target, read_at=read_at)

    def hear(self, target: Target, facts: Any) -> None:
        """Be told what was seen of any target, of this kind or another."""

    def failed(self, question: Question, error: str, fix: str | None) -> Iterator[Look]:
        """Say that nobody could look."""
        yield Failed(at=question.at, error=error, kinds=question.gives, fix=fix)

    def left_out(self, question: Question, reason: str) -> Iterator[Look]:
        """Say that nobody came to it in the time that there was."""
        yield Left(
            reason=reason,
            kinds=question.gives,
            count=len(question),
            about=question.kind.about,
            noun=question.kind.noun,
            target=question.target,
        )

    def finish(self) -> Iterator[Look]:
        """Give what there is to say once all was answered."""
        yield from ()

    def close(self) -> None:
        """Keep what is to be kept, also where the run was cut short."""

    def remarks(self) -> Iterator[str]:
        """Give what a reader of the report must know besides, a sentence each.

        Such as what lies in targets and is left out on purpose, and how to have it looked at.
        """
        yield from ()

    def told_to(self) -> str | None:
        """Name the rank whose report covers this run too, so that it is not told twice."""
        return None

    def not_judged(self) -> Iterator[str]:
        """Name comparisons of this kind that nobody was asked to make."""
        yield from ()


def unreadable(place: Any, reason: str, kinds: tuple[type, ...]) -> Failed:
    """Say of a file or folder that the system refuses it."""
    return Failed(at=place, error=reason, kinds=kinds, fix=mend(reason))


def mend(reason: str) -> str:
    """Say what to do about a file that cannot be read."""
    if "ermission" in reason:
        return READABLE
    return "Put back what it should be, or take it out of the folder."
