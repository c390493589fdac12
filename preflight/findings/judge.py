"""Asks every check about everything that was looked at, and loses nothing on the way.

What could not be looked at is said of each check that would have judged it, and what a check found
before it broke is kept.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from preflight.findings import our_failures
from preflight.findings.check import Check, Facts, Foreign
from preflight.findings.finding import Finding, Location, Severity
from preflight.findings.looks import Cleared, Failed, Left, Look, Looked
from preflight.findings.registry import place
from preflight.findings.report import Broken, Outcome, Skip
from preflight.settings.job import Job

Tell: TypeAlias = Callable[[Finding], None]
"""Called with each finding when it is found."""

Words: TypeAlias = Callable[[type], str]
"""Says what facts of a type are about, for people."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """What all checks have found, and what became of each."""

    outcomes: tuple[Outcome, ...]
    findings: tuple[Finding, ...]
    more: Mapping[str, Mapping[str, int]]
    looked: frozenset[type]
    """The types of facts that at least one check has judged."""

    interrupted: bool = False
    """Whether the looks were stopped (Ctrl-C)."""

    foreign: frozenset[str] = frozenset()
    """Reasons to skip that are of no consequence (`check.Foreign`)."""

    left: Mapping[tuple[str, str], int] = field(default_factory=dict)
    """How many targets were left out, by noun and reason: a GO has to mention them."""


@dataclass(slots=True)
class _Tally:
    """What one check has come to so far."""

    check: Check
    limit: int
    words: Words
    looked_at: int = 0
    remembered: int = 0
    among: int = 0
    _by_severity: dict[Severity, list[Finding]] = field(default_factory=dict)
    _told: dict[tuple[str, Location, str], Finding] = field(default_factory=dict)
    more: Counter[str] = field(default_factory=Counter)
    skipped: Counter[str] = field(default_factory=Counter)
    broken: list[Broken] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def found(self) -> list[Finding]:
        return [one for those in self._by_severity.values() for one in those]

    @property
    def kept(self) -> int:
        return sum(map(len, self._by_severity.values()))

    def ask(self, look: Looked, job: Job, tell: Tell) -> bool:
        """Ask the check about one value of facts, and say whether it has judged it."""
        facts = look.facts
        begun = time.perf_counter()
        try:
            reason = self.check.skip(facts, job) if self.check.skip is not None else None
            if reason is not None:
                self.skipped[reason] += 1
                return False
            for finding in self.check.ask(facts, job):
                self._keep(finding, tell)
                if look.count > 1:
                    self.more[_folder_of(finding)] += look.count - 1
            if self.check.more is not None and (more := self.check.more(facts)):
                self.more[where(facts).file or "?"] += more
            if self.check.among is not None:
                self.among += self.check.among(facts) * look.count
        except Exception as error:  # noqa: BLE001  a broken check must not hide the others
            self.broken.append(_failed(self.check.id, error, where(facts)))
            return False
        else:
            if look.read_at is None:
                self.looked_at += look.count
            else:
                self.remembered += look.count
            return True
        finally:
            self.seconds += time.perf_counter() - begun

    def _keep(self, finding: Finding, tell: Tell) -> None:
        """Keep a finding; where there are too many, the last of those that weigh least goes."""
        if self._is_told(finding):
            return
        self._by_severity.setdefault(finding.severity, []).append(finding)
        if self.kept > self.limit:
            least = min(severity for severity, those in self._by_severity.items() if those)
            dropped = self._by_severity[least].pop()
            self._count(dropped)
            if dropped is finding:
                return
        tell(finding)

    def _is_told(self, finding: Finding) -> bool:
        """Whether it was found before: a script may be named beside the folder that it lies in.

        Where the first was of lower severity, it is dropped, and this one is kept.
        """
        key = finding.fingerprint, finding.at, finding.message
        before = self._told.get(key)
        if before is not None and before.severity >= finding.severity:
            return True
        if self.kept < self.limit:
            self._told[key] = finding
        if before is not None:
            those = self._by_severity[before.severity]
            those[:] = [one for one in those if one is not before]
        return False

    def _count(self, finding: Finding) -> None:
        place = finding.at.file or finding.at.name or "?"
        full = len(self.more) >= self.limit and place not in self.more
        self.more[_folder_of(finding) if full else place] += 1

    def take(self, look: Failed | Left | Cleared) -> None:
        """Count a target that has no facts for this check."""
        if set(self.check.over).isdisjoint(look.kinds):
            return
        if isinstance(look, Cleared):
            self.looked_at += 1
        elif look.about not in (None, self.check.id.partition("-")[0]):
            return
        elif isinstance(look, Failed):
            self.broken.append(Broken(at=look.at, error=look.error, fix=look.fix))
        else:
            self.skipped[look.reason] += look.count

    def outcome(self) -> Outcome:
        total = self.kept + sum(self.more.values())
        skipped = tuple(Skip(reason=reason, count=n) for reason, n in self.skipped.items())
        seen = self.looked_at + self.remembered
        count = seen + len(self.broken) + sum(self.skipped.values())
        if not count:
            what = " and no ".join(dict.fromkeys(map(self.words, self.check.over)))
            skipped = (Skip(reason=f"no {what} was looked at", count=0),)
        return Outcome(
            id=self.check.id,
            outcome=self._word(total),
            scope=self.check.scope.value,
            title=self.check.title,
            many=self.check.many,
            targets=count,
            looked_at=self.looked_at,
            remembered=self.remembered,
            among=self.among,
            found=total,
            skipped=skipped,
            broken=tuple(sorted(self.broken, key=lambda one: str(one.at))),
            seconds=round(self.seconds, 6),
        )

    def _word(self, total: int) -> str:
        if self.broken:
            return "broken"
        if total:
            return "found"
        return "passed" if self.looked_at or self.remembered else "skipped"


def _failed(check: str, error: Exception, at: Location) -> Broken:
    """Say of a check that it failed: a bug of ours, or of a plug-in."""
    if "/" in check:
        return Broken(at=at, error=f"the check {check} failed: {type(error).__name__}: {error}")
    return Broken(
        at=at,
        error=f"the check {check} failed; {our_failures.in_words(error)}",
        fix="Open an issue with what this prints:  preflight report",
    )


def _folder_of(finding: Finding) -> str:
    """Name the folder of a finding, by which the many are counted that are not kept."""
    return (finding.at.file or "").rpartition("/")[0] or "."


def ask_checks(
    checks: Mapping[str, Check], job: Job, looks: Iterable[Look], *, tell: Tell, words: Words
) -> Judged:
    """Ask the checks about each look as it comes."""
    limit = job.look.max_findings
    tallies = [_Tally(check=one, limit=limit, words=words) for one in checks.values()]
    looked: set[type] = set()
    left: Counter[tuple[str, str]] = Counter()
    concerned: dict[type, list[_Tally]] = {}
    interrupted = False
    try:
        for look in looks:
            if isinstance(look, Looked):
                kind = type(look.facts)
                if kind not in concerned:
                    concerned[kind] = [one for one in tallies if issubclass(kind, one.check.over)]
                judged = [one.ask(look, job, tell) for one in concerned[kind]]
                if any(judged):
                    looked.add(kind)
                continue
            if isinstance(look, Left) and look.noun is not None:
                left[look.noun, look.reason] += look.count
            for tally in tallies:
                tally.take(look)
    except KeyboardInterrupt:
        interrupted = True
    findings = [finding for tally in tallies for finding in tally.found]
    return Judged(
        outcomes=tuple(tally.outcome() for tally in tallies),
        findings=tuple(sorted(findings, key=_order)),
        more={tally.check.id: dict(tally.more) for tally in tallies if tally.more},
        looked=frozenset(looked),
        interrupted=interrupted,
        foreign=frozenset(
            reason for one in tallies for reason in one.skipped if isinstance(reason, Foreign)
        ),
        left=left,
    )


def where(facts: Facts) -> Location:
    """Say what facts are about, as a place."""
    file = getattr(facts, "file", None)
    name = getattr(facts, "name", None)
    return Location(file=file, name=name if file or name else "this machine")


def _order(finding: Finding) -> tuple[object, ...]:
    """In the order in which the job would meet them, then by place: the same in every run."""
    at = finding.at
    return (place(finding.check), -finding.severity, at.file or "", at.line or 0, at.name or "")
