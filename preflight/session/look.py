"""Looks at all targets: has processes asked about them, and passes on what there is to judge."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from preflight.findings.check import Check
from preflight.findings.finding import Finding
from preflight.findings.looks import Cleared, Failed, Left, Look, Looked
from preflight.findings.registry import fits
from preflight.kinds.asked import MistypedError, reason_of
from preflight.kinds.gather import Gather, Run, SoFar, unreadable
from preflight.kinds.kind import Kind
from preflight.kinds.question import Question
from preflight.kinds.rooms import gives, kind_of_facts, kinds, kinds_of, load
from preflight.kinds.target import Target
from preflight.ledger.recall import Memory
from preflight.processes import results
from preflight.processes.ask import Asking, ask
from preflight.processes.results import Batch
from preflight.processes.shares import jobs_for, shares, workers_for
from preflight.secrets.hiding import Secrets
from preflight.session.counts import Counts
from preflight.session.progress import Account, Watch
from preflight.settings.job import Job
from preflight.settings.to_child import told_of
from preflight.targets.facts import Absent
from preflight.targets.targets import Missing
from preflight.values.this_process import processors

OUT_OF_TIME = "the budget of"
"""With what the reason begins for which nobody came to something in time."""

# Files of a kind of which some are asked whether they are in memory.
_SOME = 1_024


@dataclass(slots=True)
class Looks:
    """Looks at all targets, for the facts that some check wants."""

    job: Job
    checks: Mapping[str, Check]
    watch: Watch
    select: tuple[str, ...] = ()
    """The words of `--select`."""

    hide: Secrets = field(default_factory=Secrets)
    """The secrets, which are taken out of all that is kept."""

    steps: dict[str, float] = field(default_factory=dict)
    """Seconds that single steps took, such as `import torch`."""

    counts: Counts = field(default_factory=Counts)
    """What was counted of each target, for the page."""

    memory: Memory = field(init=False)
    """What earlier runs have seen."""

    survivors: tuple[str, ...] = ()
    """Processes that the user's code has started, and that nobody could end."""

    machine: Any = None
    """The facts of this machine."""

    not_judged: tuple[str, ...] = ()
    """Comparisons that were not asked for."""

    remarks: tuple[str, ...] = ()
    """What a reader of the report must know besides, a sentence each."""

    told_to: str | None = None
    """The rank whose report covers this run too."""

    found: list[Finding] = field(default_factory=list)
    """By checks, up to now."""

    failed: list[Failed] = field(default_factory=list)
    """What could not be looked at, up to now."""

    name: str = field(default_factory=lambda: os.urandom(8).hex())
    """A name of this run alone, for files that its processes write."""

    _traces: set[str] = field(default_factory=set)
    """Tracebacks of failures of our own that were written to stderr: each is written once."""

    _gathers: dict[Kind, Gather] = field(default_factory=dict)
    _account: Account = field(init=False)
    _wanted: frozenset[type] = field(init=False)
    """The types of facts for whose sake targets are looked at: those of selected checks."""

    def __post_init__(self) -> None:
        self.memory = Memory(job=self.job, hide=self.hide)
        self._account = Account(watch=self.watch)
        selected = [
            one
            for one in self.checks.values()
            if not one.always or any(fits(word, one.id) for word in self.select)
        ]
        asking = selected or self.checks.values()
        self._wanted = frozenset(facts for one in asking for facts in one.over)

    def of(self, named: Sequence[Target], apart: Sequence[Target]) -> Generator[Look, None, None]:
        """Give each look as it comes, and end every process when closed.

        A target that was named and is there is `Cleared`: it is not missing.
        """
        targets = (*named, *apart)
        run = Run(
            job=self.job,
            memory=self.memory,
            targets=targets,
            wants=self._wanted.__contains__,
            tell=self._tell,
            passed=self._account.passed,
            so_far=SoFar(self.found, self.failed),
        )
        present = {type(one) for one in targets}
        for kind in kinds():
            if kind.target in present or not present.isdisjoint(kind.led_to_by):
                self._gathers[kind] = load(kind.gather)(kind, run)
        try:
            there = (Cleared(kinds=(Absent,)) for one in named if not isinstance(one, Missing))
            for look in chain(there, self._looks(targets)):
                if isinstance(look, Looked) and look.target is not None:
                    self._tell(look.target, look.facts)
                elif isinstance(look, Failed):
                    self.failed.append(look)
                elif isinstance(look, Left):
                    self.counts.leave(look, kind_of_facts(look.kinds[0]))
                yield look
        finally:
            for one in self._gathers.values():
                one.close()
            self.memory.ledger.write()

    def _looks(self, targets: Iterable[Target]) -> Iterator[Look]:
        gathers = self._gathers.values()
        for target in targets:
            yield from self._add(target)
        self._account.total = sum(one.things for one in gathers)
        for one in gathers:
            known = self._account.done
            yield from one.recall()
            self._account.to_read[one] = one.things - (self._account.done - known)
        self._account.begins()
        jobs = self._jobs()
        yield from self._ask(self._batches(jobs), jobs=jobs, budget=self.job.look.budget)
        then = [one for gather in gathers for one in gather.then_questions()]
        yield from self._came()
        yield from self._ask(shares(iter(then), total=0.0, jobs=jobs), jobs=jobs)
        questions = (one for gather in gathers for one in gather.last_questions())
        yield from self._ask(shares(questions, total=0.0, jobs=1), jobs=processors())
        for one in gathers:
            yield from one.finish()
        questions = (one for gather in gathers for one in gather.after_all_questions())
        yield from self._ask(shares(questions, total=0.0, jobs=1), jobs=1)
        self.not_judged = tuple(part for one in gathers for part in one.not_judged())
        self.told_to = next(filter(None, (one.told_to() for one in gathers)), None)
        self.remarks = tuple(remark for one in gathers for remark in one.remarks())

    # --- targets

    def _add(self, target: Target) -> Iterator[Look]:
        """Hand a target to the gather of each of its rows, where a check wants its facts."""
        rows = kinds_of(type(target))
        if not any(row.always for row in rows):
            if self._wanted.isdisjoint(gives(type(target))) and not self._is_needed(target):
                return
            self.counts.asked.setdefault(target, None)
        for row in rows:
            try:
                yield from self._gathers[row].add(target)
            except OSError as error:
                place = target.place(self.job.root)
                yield unreadable(place, reason_of(error), gives(type(target)))
                return

    def _is_needed(self, target: Target) -> bool:
        """Whether facts of another kind that a check wants cannot be made without it."""
        gathers = self._gathers.values()
        return any(
            one.needs(target) for one in gathers if not self._wanted.isdisjoint(one.kind.facts)
        )

    def _tell(self, target: Target, facts: Any) -> None:
        """Count what was seen, and pass it on to every gather."""
        row = kind_of_facts(type(facts))
        self.counts.take(target, facts, row)
        if row is not None and row.machine:
            self.machine = facts
        for one in self._gathers.values():
            one.hear(target, facts)

    # --- processes

    def _jobs(self) -> int:
        if self.job.look.jobs:
            return self.job.look.jobs
        paths = (path for one in self._gathers.values() for path in one.some_paths(_SOME))
        return workers_for(list(paths), processors())

    def _batches(self, most: int) -> Iterator[Batch]:
        """Make batches of questions: the user's code first, since it takes longest to start."""
        gathers = self._gathers.values()
        folders: dict[str | None, list[Question]] = {}
        for gather in gathers:
            for one in gather.code_questions():
                folders.setdefault(one.folder, []).append(one)
        seconds = {one: one.seconds() for one in gathers}
        self._account.expected = sum(seconds.values())
        yield from map(tuple, folders.values())
        for torch in (False, True):
            those = [one for one in gathers if one.kind.loads_torch == torch]
            total = sum(seconds[one] for one in those)
            questions = (question for one in those for question in one.questions())
            jobs = jobs_for(total, most) if torch else most
            apart = self.job.look.budget is not None
            yield from shares(questions, total=total, jobs=jobs, apart=apart)

    def _ask(
        self, batches: Iterable[Batch], *, jobs: int, budget: float | None = None
    ) -> Iterator[Look]:
        wants = {facts.__name__ for facts in self._wanted}
        picture = self.job.look.show_batch
        how = Asking(
            # What is seen of a file does not hang on the budget, so that the ledger is not told.
            options={
                **told_of(self.job),
                "wants": tuple(wants),
                "budget": self.job.look.budget,
                "show_batch": None if picture is None else {"file": picture, "run": self.name},
            },
            python=self.job.python,
            jobs=jobs,
            timeout=self.job.look.timeout,
            until=None if budget is None else time.monotonic() + budget,
        )
        for result in ask(batches, how):
            if isinstance(result, results.Began):
                self._account.began(result.step)
            elif isinstance(result, results.Took):
                self._account.ended(result.step)
                took = self.steps.get(result.step, 0.0) + result.seconds
                self.steps[result.step] = round(took, 3)
            elif isinstance(result, results.UnderWay):
                self._account.reads(result)
            elif isinstance(result, results.Survived):
                self.survivors += result.processes
            elif isinstance(result, results.Early):
                yield from result.question.gather.seen(result.question, result.told)
            else:
                yield from self._taken(result)
            yield from self._came()
        yield from self._came()

    def _taken(self, result: results.Answer | results.Fault | results.Unasked) -> Iterator[Look]:
        question = result.question
        gather = question.gather
        match result:
            case results.Answer():
                yield from gather.heard(question, result.told)
            case results.Fault():
                if result.mistyped:
                    raise MistypedError(result.error)
                if result.trace is not None and result.trace not in self._traces:
                    self._traces.add(result.trace)
                    sys.stderr.write(self.hide.text(f"preflight itself failed:\n{result.trace}"))
                yield from gather.failed(question, result.error, result.fix)
            case results.Unasked():
                reason = f"{OUT_OF_TIME} {self.job.look.budget:g} s was used up"
                yield from gather.left_out(question, reason)
                return
        self._account.did(question)

    def _came(self) -> Iterator[Look]:
        for one in self._gathers.values():
            while one.come:
                yield one.come.pop(0)
