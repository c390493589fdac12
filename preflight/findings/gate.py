"""Turns what was found into a verdict and an exit code."""

from __future__ import annotations

import datetime
import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from preflight.findings.check import Check
from preflight.findings.exit_codes import (
    EXIT_CANNOT_JUDGE,
    EXIT_GO,
    EXIT_INTERRUPTED,
    EXIT_MACHINE,
    EXIT_NO_GO,
)
from preflight.findings.finding import Finding, Scope, Severity
from preflight.findings.judge import Judged
from preflight.findings.registry import fits
from preflight.findings.report import Accepted, Outcome, Report
from preflight.settings.how_to_look import Ignore
from preflight.settings.job import Job
from preflight.values.names import counted, first_of
from preflight.values.sampling import OUTSIDE
from preflight.values.small_files import read_small

GO, NO_GO, CANNOT_JUDGE = "go", "no-go", "cannot-judge"


class Judgement(NamedTuple):
    """The verdict, and what made it."""

    verdict: str
    verdict_by: Mapping[str, str]
    findings: tuple[Finding, ...]
    """Those that nobody has accepted."""

    accepted: tuple[Accepted, ...]
    reasons: tuple[str, ...]


class BaselineEntry(NamedTuple):
    """A finding of a saved report."""

    check: str
    file: str | None = None


class Baseline(NamedTuple):
    """What a saved report holds."""

    entries: Mapping[str, BaselineEntry] = {}
    """By their fingerprints."""

    words: frozenset[str] = frozenset()
    """What its run looked at, as it was named."""


class BaselineError(ValueError):
    """The baseline cannot be read."""


def read_baseline(path: str) -> Baseline:
    """Read what a saved report holds.

    Raises:
        BaselineError: there is no such file, or it is no report.
    """
    try:
        report = json.loads(read_small(path))
        return Baseline(
            {str(one["fingerprint"]): _entry(one) for one in report["findings"]},
            frozenset(str(one["word"]) for one in report.get("targets") or ()),
        )
    except OSError as error:
        raise BaselineError(f"the baseline {path} cannot be read: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise BaselineError(f"the baseline {path} is no preflight report in JSON") from error


def _entry(finding: Mapping[str, Any]) -> BaselineEntry:
    file = (finding.get("at") or {}).get("file")
    return BaselineEntry(str(finding["check"]), None if file is None else str(file))


def judge(
    checks: Mapping[str, Check],
    judged: Judged,
    job: Job,
    *,
    is_of_job: bool,
    baseline: Collection[str] = (),
    unearned: tuple[str, ...] = (),
    asked_for: frozenset[str] = frozenset(),
    today: datetime.date,
) -> Judgement:
    """Say GO, NO-GO or CANNOT JUDGE.

    Args:
        checks: all that were asked.
        judged: what they have found, and what became of each.
        job: its gate, and what it ignores until a day.
        is_of_job: whether anything of the job was judged.
        baseline: fingerprints that do not gate again.
        unearned: why it is no GO although nothing was found.
        asked_for: ids of checks that have to say something of all that they were asked about.
        today: the day until which ignores hold.
    """
    kept, accepted = _sort_out(judged.findings, job.ignore, baseline, today)
    gating = [finding for finding in kept if gates(finding.severity, job.gate.fail_on)]
    reasons = (*unearned, *_reasons(judged, job, asked_for), *_uncounted(judged, kept, job))
    if not (is_of_job or unearned):
        reasons = (*reasons, "Nothing of the job itself was looked at.")
    verdict = NO_GO if gating else CANNOT_JUDGE if reasons else GO
    by = {
        scope.value: _verdict_of(scope, checks, gating, judged.outcomes, job, verdict)
        for scope in Scope
    }
    return Judgement(
        verdict=verdict, verdict_by=by, findings=tuple(kept), accepted=accepted, reasons=reasons
    )


def exit_code(report: Report) -> int:
    """Say what the command exits with."""
    if report.interrupted:
        return EXIT_INTERRUPTED
    if report.verdict == GO:
        return EXIT_GO
    if report.verdict == CANNOT_JUDGE:
        return EXIT_CANNOT_JUDGE
    known = {outcome.id: outcome.scope for outcome in report.checks}
    gating = [one for one in report.findings if gates(one.severity, report.fail_on)]
    machine = all(known.get(one.check) == Scope.MACHINE.value for one in gating)
    return EXIT_MACHINE if gating and machine else EXIT_NO_GO


def gates(severity: Severity, fail_on: str) -> bool:
    """Whether a finding of this severity makes the verdict NO-GO."""
    bar = Severity.__members__.get(fail_on.upper())  # none is `never`
    return bar is not None and severity >= bar


def _sort_out(
    findings: Iterable[Finding],
    ignores: Iterable[Ignore],
    baseline: Collection[str],
    today: datetime.date,
) -> tuple[list[Finding], tuple[Accepted, ...]]:
    """Part what somebody has accepted from what counts."""
    kept: list[Finding] = []
    accepted: list[Accepted] = []
    alive = [one for one in ignores if not expired(one, today)]
    for finding in findings:
        reason = next((one.reason for one in alive if covers(one, finding)), None)
        if reason is None and finding.fingerprint in baseline:
            reason = "in the baseline"
        if reason is None:
            kept.append(finding)
        else:
            accepted.append(
                Accepted(
                    check=finding.check,
                    at=finding.at,
                    fingerprint=finding.fingerprint,
                    reason=reason,
                )
            )
    return kept, tuple(accepted)


def expired(ignore: Ignore, today: datetime.date) -> bool:
    """Whether the last day on which it holds is over."""
    return ignore.until is not None and ignore.until < today.isoformat()


def covers(ignore: Ignore, finding: Finding) -> bool:
    """Whether a finding is one of those that are accepted."""
    if not fits(ignore.check, finding.check):
        return False
    if ignore.at is None:
        return True
    places = (finding.at.file or "", finding.at.name or "", str(finding.at))
    return any(fnmatchcase(place, ignore.at) for place in places)


def _reasons(judged: Judged, job: Job, asked_for: frozenset[str]) -> Iterable[str]:
    left = {reason for _, reason in judged.left}
    if judged.interrupted:
        yield "The run was interrupted before it had looked at everything."
    blind: dict[tuple[tuple[str, str], ...], list[str]] = {}
    for outcome in judged.outcomes:
        if outcome.broken and not _may_skip(outcome, job):
            cause = tuple((str(one.at), one.error) for one in outcome.broken)
            blind.setdefault(cause, []).append(outcome.id)
    for cause, ids in blind.items():
        number = counted(len(cause), "target")
        yield f"{first_of(ids, len(ids))} could not look at {number}."
    for outcome in judged.outcomes:
        if any(fits(word, outcome.id) for word in job.gate.require):
            yield from _unlooked(outcome, judged.foreign)
        elif outcome.id in asked_for and not _may_skip(outcome, job):
            for skip in outcome.skipped:
                if skip.count and skip.reason not in left:
                    why = skip.reason
                    yield f"{outcome.id}: what the settings ask for was not compared: {why}."


def _unlooked(outcome: Outcome, foreign: frozenset[str]) -> Iterable[str]:
    """Say where a check that is required has not looked; a sample is what somebody wanted.

    What it is not about is held against it only where there was nothing else.
    """
    if outcome.outcome == "skipped":
        why = "; ".join(skip.reason for skip in outcome.skipped)
        yield f"{outcome.id} is required, and was skipped: {why}."
        return
    for skip in outcome.skipped:
        wanted = skip.reason not in foreign and not skip.reason.startswith(OUTSIDE)
        if skip.count and wanted:
            them = f"{skip.count:,} of {outcome.targets:,}"
            yield f"{outcome.id} is required, and was skipped for {them}: {skip.reason}."


def _uncounted(judged: Judged, kept: list[Finding], job: Job) -> Iterable[str]:
    """Say of findings that were counted and not kept that nobody knows whether they are accepted.

    The gravest are kept: what was not kept may gate only where all that was gates by itself.
    """
    lightest: dict[str, Severity] = {}
    for one in judged.findings:
        lightest[one.check] = min(one.severity, lightest.get(one.check, one.severity))
    there = Counter(one.check for one in judged.findings)
    gating = {one.check for one in kept}
    for outcome in judged.outcomes:
        more = outcome.found - there[outcome.id]
        if more <= 0 or outcome.id in gating or outcome.id not in lightest:
            continue
        if gates(lightest[outcome.id], job.gate.fail_on):
            yield (
                f"{outcome.id}: all findings that were kept are accepted, and {more:,} more were "
                f"only counted; --max-findings {outcome.found} keeps them."
            )


def _may_skip(outcome: Outcome, job: Job) -> bool:
    return any(fits(word, outcome.id) for word in job.gate.may_skip)


def _verdict_of(
    scope: Scope,
    checks: Mapping[str, Check],
    gating: list[Finding],
    outcomes: tuple[Outcome, ...],
    job: Job,
    verdict: str,
) -> str:
    if any(checks[finding.check].scope is scope for finding in gating):
        return NO_GO
    mine = [outcome for outcome in outcomes if outcome.scope == scope.value]
    if any(outcome.broken and not _may_skip(outcome, job) for outcome in mine):
        return CANNOT_JUDGE
    return CANNOT_JUDGE if scope is Scope.JOB and verdict == CANNOT_JUDGE else GO
