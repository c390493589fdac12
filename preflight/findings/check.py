"""What a check is: an id, the facts it is asked about, and a function that yields findings."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from preflight.findings.finding import (
    Aside,
    Finding,
    Location,
    Row,
    Scalar,
    Scope,
    Severity,
    fingerprint,
)
from preflight.settings.job import Job

API = 1
"""The version of the contract below; a plug-in may compare it."""

Facts: TypeAlias = object
"""A frozen dataclass that a reader gave."""

Question: TypeAlias = Callable[[Any, Job], Iterator[Finding]]
Reason: TypeAlias = Callable[[Any, Job], str | None]
Number: TypeAlias = Callable[[Any], int]


class Foreign(str):
    """A reason to skip which says that the question is none for this, and so of no consequence.

    Any other says that nobody could answer it, which is held against a check that is required.
    """

    __slots__ = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One question, asked of facts of one type, or of each of several, one at a time."""

    id: str
    """What is looked at, then what is wrong: `shard-damaged`; of a plug-in `plugin/name`."""

    title: str
    """What is found, as a list would say it: `archive that cannot be read to its end`."""

    many: str
    """The same of several, to stand behind their number: `archives cannot be read to their end`."""

    over: tuple[type, ...]
    severity: Severity
    """The highest that it gives."""

    scope: Scope
    ask: Question
    explanation: str
    """The module's docstring, which `preflight explain` prints."""

    always: bool = False
    """Whether it is asked whatever `--select` says."""

    skip: Reason | None = None
    """Says why the question does not apply to these facts (`no GPU here`); None where it does."""

    more: Number | None = None
    """Counts what facts hold no more of than a number, beside what is found one by one."""

    among: Number | None = None
    """Counts the things in facts of which each may be a finding; without it, they are one thing."""

    def found(
        self,
        message: str,
        *,
        at: Location,
        severity: Severity | None = None,
        rows: tuple[Row, ...] = (),
        also: tuple[Location, ...] = (),
        why: str | None = None,
        fix: str | None = None,
        workaround: str | None = None,
        aside: tuple[Aside, ...] = (),
        evidence: Mapping[str, Scalar] | None = None,
        about: str | None = None,
        line_text: str | None = None,
    ) -> Finding:
        """Make a finding of this check.

        Args:
            message: what is wrong here, with its numbers and units, as a predicate of the place.
            at: the one place to look at first.
            severity: lower than the check's own, where this case is milder.
            rows: a table of the reasons, where there are several.
            also: other places that take part.
            why: the consequence in this job, with the line that makes it so.
            fix: the one thing to do.
            workaround: what runs today for somebody who did not write the code.
            aside: files that are of no use as they are, for `preflight quarantine`.
            evidence: what was measured, for machines.
            about: what tells two findings of this check in one place apart.
            line_text: the source line's text, which stands for a name where there is none.

        Raises:
            ValueError: a severity above the one that the check declares.
        """
        if severity is not None and severity > self.severity:
            raise ValueError(f"{self.id} declares {self.severity.word}, and found {severity.word}")
        return Finding(
            check=self.id,
            severity=self.severity if severity is None else severity,
            message=message,
            at=at,
            rows=rows,
            also=also,
            why=why,
            fix=fix,
            workaround=workaround,
            aside=aside,
            evidence=evidence or {},
            fingerprint=fingerprint(self.id, at, about=about, line_text=line_text),
        )


def check(
    *,
    over: type | tuple[type, ...],
    title: str,
    many: str = "",
    severity: Severity,
    scope: Scope = Scope.JOB,
    always: bool = False,
    skip: Reason | None = None,
    more: Number | None = None,
    among: Number | None = None,
) -> Callable[[Question], Check]:
    """Make a check of a generator `(facts, job) -> Iterator[Finding]`.

    Its id is its module's name with dashes, and the module's docstring is its explanation.

    Args:
        over: the type of facts it is asked about, or a tuple of several.
        title: what is found, as a list would say it.
        many: the same of several, to stand behind their number.
        severity: the highest that it gives.
        scope: whether the job has to be mended, or the machine.
        always: ask it whatever `--select` says.
        skip: `(facts, job) -> str | None`: why the question does not apply to these facts, which
            are then counted as skipped for that reason and not as looked at; None where it does.
        more: `(facts) -> int`: how many findings there would be beside those that are given, of
            which facts hold the number alone.
        among: `(facts) -> int`: of how many things in these facts each may be a finding (images of
            a folder), so that a page can say what share of them was found.
    """

    def declare(question: Question) -> Check:
        module = sys.modules[question.__module__]
        return Check(
            id=module.__name__.rpartition(".")[2].replace("_", "-"),
            title=title,
            many=many,
            over=over if isinstance(over, tuple) else (over,),
            severity=severity,
            scope=scope,
            ask=question,
            explanation=(module.__doc__ or "").strip(),
            always=always,
            skip=skip,
            more=more,
            among=among,
        )

    return declare
