"""The verdict in words: the sentences that a page begins and ends with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from preflight.findings.finding import Severity
from preflight.findings.report import Report
from preflight.render.groups import Group, Unseen
from preflight.values.names import counted

_LABELS = {"go": "GO", "no-go": "NO-GO", "cannot-judge": "CANNOT JUDGE"}


def label(report: Report) -> str:
    """Say the verdict as pages do, and whether the look was cut short."""
    word = _LABELS.get(report.verdict, report.verdict.upper())
    return word if report.complete else f"{word} (incomplete)"


def headline(report: Report, found: Sequence[Group], dark: Sequence[Unseen]) -> str:
    """Say in one sentence what the verdict means for this job."""
    if report.verdict == "no-go":
        return _no_go(report, [group for group in found if group.gates])
    if report.verdict == "cannot-judge":
        return _cannot_judge(report, found, dark)
    return _go(report, found)


def ending(report: Report, found: Sequence[Group]) -> str:
    """Say once more what counts, for whoever reads the end of a long page first."""
    if report.verdict == "no-go":
        first = next((group for group in found if group.gates), None)
        if first is None:
            return "It does not start like this."
        things = counted(sum(group.gates for group in found), "thing")
        return f"{things} to mend. Begin with {first.number}: {first.begin}."
    counts = Counter(one.outcome for one in report.checks)
    passed = f"{counted(counts['passed'], 'check')} passed"
    if report.verdict == "cannot-judge":
        broken = f", {counts['broken']:,} could not look everywhere" if counts["broken"] else ""
        return f"{passed}{broken}."
    rest = [
        f"{counts[outcome]:,} {said}"
        for outcome, said in (("found", "found something"), ("skipped", "skipped"))
        if counts[outcome]
    ]
    beside = heavier(found)
    start = f"with {beside}. " if beside else ""
    return f"{start}{', '.join([passed, *rest])}, in {report.seconds:.1f} s."


def heavier(found: Sequence[Group]) -> str:
    """Count errors and warnings that do not gate: `2 warnings`; empty where there are none."""
    counts: Counter[Severity] = Counter()
    for group in found:
        if not group.gates and group.severity > Severity.NOTE:
            counts[group.severity] += group.total
    return " and ".join(counted(counts[one], one.word) for one in sorted(counts, reverse=True))


def _go(report: Report, found: Sequence[Group]) -> str:
    gpus = report.job.get("launch.gpus")
    on = f" on {counted(gpus.value, 'GPU')}" if gpus and isinstance(gpus.value, int) else ""
    nothing = f"Nothing found that would stop this job{on}."
    beside = heavier(found)
    if any(group.severity is Severity.ERROR for group in found):
        return f"with {beside}: --fail-on {report.fail_on} lets them pass."
    return f"with {beside}. {nothing}" if beside else nothing


def _no_go(report: Report, gating: Sequence[Group]) -> str:
    things = counted(len(gating), "thing")
    if not gating:
        return report.reasons[0] if report.reasons else "The report does not say why."
    if all(group.severity < Severity.ERROR for group in gating):
        them = "it" if len(gating) == 1 else "them"
        return f"{things} found, and --fail-on {report.fail_on} stops at {them}."
    if report.verdict_by.get("job") == "go":
        return f"here: {things} about this machine would stop this job; mend or leave it."
    return f"{things} would stop this job, or let it train on the wrong data."


def _cannot_judge(report: Report, found: Sequence[Group], dark: Sequence[Unseen]) -> str:
    beside = heavier(found)
    nothing = f"{beside[:1].upper()}{beside[1:]} found" if beside else "Nothing wrong was found"
    if dark:
        places = counted(sum(one.places for one in dark), "place")
        return f"{nothing}, but {places} could not be looked at."
    if not report.complete:
        return f"{nothing} until it was stopped."
    return f"{nothing}, but not all was looked at that had to be."
