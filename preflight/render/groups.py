"""What every page is made of: the findings by check, numbered, those that gate first."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from preflight.findings.finding import Finding, Location, Severity
from preflight.findings.gate import gates
from preflight.findings.registry import built_in, place
from preflight.findings.report import Broken, Outcome, Report
from preflight.values.names import first_of

# What differs among findings of one sort: names with a suffix or a path, in brackets, and numbers.
_VARYING = re.compile(r"\[[^\]]*\]|\S*[./]\w\S*|\d[\d,.]*")


class Unseen(NamedTuple):
    """What could not be looked at for one reason, with the checks that would have."""

    broken: Broken
    checks: tuple[str, ...]
    places: int = 1


class Group(NamedTuple):
    """The findings of one check and one weight, under the number that pages call them by."""

    number: int
    check: str
    title: str
    severity: Severity
    """The highest among them."""

    gates: bool
    findings: tuple[Finding, ...]
    more: Mapping[str, int]
    """Findings that were counted by file, and not kept."""

    looked_at: int
    """Targets that were judged, in this run or as they are remembered; 0: of several kinds."""

    among: int = 0
    """Things in these targets of which each may be a finding."""

    many: str = ""
    """The title of several findings, to stand behind their number."""

    @property
    def word(self) -> str:
        """The id's first word, which `--select` takes."""
        return first_word(self.check)

    @property
    def total(self) -> int:
        """Findings in all."""
        return len(self.findings) + sum(self.more.values())

    @property
    def place(self) -> str:
        """The one place of all of them, or what their places have in common."""
        return self._shared or f"{len(self._places):,} places"

    @property
    def begin(self) -> str:
        """Where to begin: the place of all of them, or that of the first."""
        return self._shared or where(self.findings[0].at)

    @property
    def _places(self) -> set[str]:
        return {where(one.at) for one in self.findings} | set(self.more)

    @property
    def _shared(self) -> str:
        """What the places have in common; empty: nothing."""
        if len(self._places) == 1:
            return self._places.pop()
        files = {one.at.file or "" for one in self.findings} | set(self.more)
        if len(files) == 1 and "" not in files:
            return files.pop()
        return _common_folder(files)


def groups(report: Report) -> tuple[Group, ...]:
    """Group and number the findings: what gates, then by weight, each as the job would meet it."""
    accepted = {one.fingerprint for one in report.accepted if one.fingerprint}
    outcomes = {one.id: one for one in report.checks}
    by_key: dict[tuple[int, tuple[int, str]], list[Finding]] = {}
    for finding in report.findings:
        if finding.fingerprint not in accepted:
            weight = 9 if gates(finding.severity, report.fail_on) else int(finding.severity)
            by_key.setdefault((-weight, place(finding.check)), []).append(finding)
    told: set[str] = set()
    numbered: list[Group] = []
    for number, (_, found) in enumerate(sorted(by_key.items(), key=lambda item: item[0]), start=1):
        check = found[0].check
        outcome = outcomes.get(check)
        numbered.append(
            Group(
                number=number,
                check=check,
                title=(outcome.title if outcome else "") or check,
                severity=max(one.severity for one in found),
                gates=gates(found[0].severity, report.fail_on),
                findings=tuple(found),
                more={} if check in told else report.more.get(check, {}),
                looked_at=_targets(outcome) if outcome else 0,
                among=outcome.among if outcome else 0,
                many=outcome.many if outcome else "",
            )
        )
        told.add(check)
    return tuple(numbered)


def _targets(outcome: Outcome) -> int:
    """Count what was judged, where all of it is of one kind, so that findings can be held to it."""
    check = built_in().get(outcome.id)
    of_one_kind = check is None or len(check.over) == 1
    return outcome.looked_at + outcome.remembered if of_one_kind else 0


def unseen(report: Report) -> tuple[Unseen, ...]:
    """Say each reason for not looking once, however many checks and places it concerns."""
    by_place: dict[tuple[str, str], tuple[Broken, dict[str, None]]] = {}
    for outcome in sorted(report.checks, key=lambda one: place(one.id)):
        for broken in outcome.broken:
            key = str(broken.at), broken.error
            by_place.setdefault(key, (broken, {}))[1][outcome.id] = None
    by_reason: dict[tuple[str, str | None], tuple[list[Broken], dict[str, None]]] = {}
    for broken, checks in by_place.values():
        those, of_all = by_reason.setdefault((broken.error, broken.fix), ([], {}))
        those.append(broken)
        of_all.update(checks)
    return tuple(
        Unseen(_of_all(those), tuple(checks), len(those)) for those, checks in by_reason.values()
    )


def _of_all(those: Sequence[Broken]) -> Broken:
    """Give what is to be said of places that could not be looked at for the same reason."""
    if len(those) == 1:
        return those[0]
    places = [str(one.at) or "this job" for one in those]
    return replace(those[0], at=Location(name=first_of(places, len(places))))


# Titles that count what was found and not what was looked at, so that no share of it can be told.
_OF_FINDINGS = ("kinds ", "moments ", "places ", "things ")


def summary(group: Group) -> str:
    """Say in one sentence what a group found: its message, or how many of what."""
    if group.total == 1:
        return sentence(group.findings[0])
    among = group.among or (group.looked_at if _is_one_a_target(group) else 0)
    of = f" of {among:,}" if group.total <= among and among > 1 else ""
    if group.many:
        return f"{group.total:,}{of} {group.many}"
    return f"{group.total:,}{of or ' times'}: {group.title}"


def _is_one_a_target(group: Group) -> bool:
    files = {one.at.file or one.at.name for one in group.findings}
    whole = all(one.at.name is None for one in group.findings)
    return whole and len(files) == group.total and not group.many.startswith(_OF_FINDINGS)


def sentence(finding: Finding) -> str:
    """Say what was found in a file; the place inside of it belongs to the sentence."""
    inside = within(finding.at)
    return f"{inside}: {finding.message}" if inside else finding.message


def _common_folder(files: Iterable[str]) -> str:
    """Give the folder that all of them lie below, with its slash; empty where there is none."""
    try:
        folder = posixpath.commonpath([posixpath.dirname(file) for file in files])
    except ValueError:  # some are absolute, some are not
        return ""
    return f"{folder}/" if folder.strip("/") else ""


def foremost(found: Sequence[Finding], most: int) -> tuple[Finding, ...]:
    """Choose those that stand for all where not all are told: the first of each sort comes first.

    They keep their order. Of one sort are those that differ in numbers and names only.
    """
    if len(found) <= most:
        return tuple(found)
    first: dict[tuple[str, ...], int] = {}
    for index, one in enumerate(found):
        said = (one.message, one.why or "", one.fix or "")
        first.setdefault(tuple(_VARYING.sub("#", text) for text in said), index)
    chosen = dict.fromkeys([*list(first.values())[:most], *range(len(found))])
    return tuple(found[index] for index in sorted(list(chosen)[:most]))


def is_command(text: str) -> bool:
    """Whether what stands behind two spaces, or on a line of its own, is to be copied as it is."""
    return not text.endswith((".", "?", "!", ":", ";", ","))


def where(at: Location) -> str:
    """Say the file and its line, or the name of what is in no file."""
    if at.file is None:
        return at.name or "this job"
    return f"{at.file}:{at.line}" if at.line is not None else at.file


def within(at: Location) -> str:
    """Say the place inside a file, as a person would: members of an archive by their bare name."""
    return (at.name or "").removeprefix("member ") if at.file is not None else ""


def first_word(check: str) -> str:
    """Take what a check looks at out of its id; of a plug-in's, the plug-in's name."""
    return check.partition("/")[0] if "/" in check else check.partition("-")[0]


def root_of(report: Report) -> str | None:
    """Give the job's folder, absolute, where the report knows it."""
    setting = report.job.get("root") or report.job.get("job.root")
    root = str(setting.value) if setting and setting.value else ""
    return None if root in ("", ".") else root.rstrip("/\\") or None
