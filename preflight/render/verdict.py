"""The verdict in words: the sentences that a page begins and ends with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from preflight.findings.finding import Severity
from preflight.findings.report import NOT_LOOKED_AT, Report
from preflight.render.groups import Group, Unseen
from preflight.values.names import counted, first_of, joined

# Suffixes whose files are counted by themselves; those of all others are counted together.
_SUFFIXES = 3

_LABELS = {"go": "GO", "no-go": "NO-GO", "cannot-judge": "CANNOT JUDGE"}


def label(report: Report) -> str:
    """Say the verdict as pages do, and whether the look was cut short."""
    word = _LABELS.get(report.verdict, report.verdict.upper())
    return f"{word} (incomplete)" if report.interrupted else word


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
        if nothing_looked_at(report) is not None:
            return "It is no GO: say what to look at."
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
    covers = covered(report)
    nothing = f"for {covers}{on}." if covers else f"Nothing found that would stop this job{on}."
    beside = heavier(found)
    if any(group.severity is Severity.ERROR for group in found):
        said = f"with {beside}, which --fail-on {report.fail_on} lets pass"
    elif beside:
        said = f"with {beside}"
    else:
        return " ".join(filter(None, (nothing, left_over(report))))
    return " ".join(filter(None, (f"{said}{', ' if covers else '. '}{nothing}", left_over(report))))


def covered(report: Report) -> str:
    """Say what was looked at: `24 shards (12,000 samples) and 2 caches`; empty: nobody knows."""
    every = [one.seen for one in report.coverage if one.seen]
    if report.coverage and not every:
        if report.machine is not None:
            return "this machine"
        seen = (one.word for one in report.targets if not one.text.startswith(NOT_LOOKED_AT))
        words = list(dict.fromkeys(seen))
        return first_of(words, len(words))
    return joined(every)


def left_over(report: Report) -> str:
    """Say what was not looked at, in a sentence; empty where that is nothing, or nobody knows."""
    dark = [one.part for one in report.coverage if not one.seen and one.part in report.not_judged]
    parts = [one for one in dark if one != "script"]  # its sources are what there is to look at
    said = [", ".join(parts)] if parts else []
    if unread := [one.unread for one in report.coverage if one.unread]:
        said.append(f"{files_by_suffix(unread)} that no reader reads")
    if if_named := [one.if_named for one in report.coverage if one.if_named]:
        said.append(f"{files_by_suffix(if_named)} to be named")
    return f"Not looked at: {'; '.join(said)}." if said else ""


def files_by_suffix(every: Sequence[Mapping[str, int]]) -> str:
    """Count files with their noun, as the last number has it; those of most suffixes together."""
    counts = _by_suffix(every)
    said = joined([f"{number:,} {what}" for number, what in counts])
    return f"{said} {'file' if counts[-1][0] == 1 else 'files'}"


def _by_suffix(every: Sequence[Mapping[str, int]]) -> list[tuple[int, str]]:
    counts = sum(map(Counter, every), Counter[str]())
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    more = sum(number for _, number in ranked[_SUFFIXES:])
    said = [(number, suffix or "suffixless") for suffix, number in ranked[:_SUFFIXES]]
    return [*said, (more, "other")] if more else said


def nothing_looked_at(report: Report) -> str | None:
    """Give the reason that says so, where nothing of the job itself was looked at."""
    said = report.reasons[0] if report.reasons else ""
    return said if said.startswith("Nothing of ") else None


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
    if report.interrupted:
        return f"{nothing} until it was stopped."
    if (said := nothing_looked_at(report)) is not None:
        return said
    return f"{nothing}, but not all was looked at that had to be."
