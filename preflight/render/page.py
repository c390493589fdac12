"""The terminal page: verdict, list, groups in full, foot, and the verdict again."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from preflight.findings.finding import Severity
from preflight.findings.report import Report
from preflight.render.finding_blocks import View, block, list_lines, unseen_lines
from preflight.render.foot import check_lines, foot, need_lines, quiet_foot, target_lines
from preflight.render.groups import Group, Unseen, groups, unseen
from preflight.render.lines import Line, Paper, Span, cells, hanging
from preflight.render.verdict import ending, headline, label, nothing_looked_at

IN_FULL = 8
"""Groups that are told in full; the rest are lines of the list."""

EMPTY: Line = ()

# A reason that -v gives for each place, with all checks that it concerns.
_IN_THE_DARK = re.compile(r" could not look at [\d,]+ targets?\.$")


def first_line(report: Report, paper: Paper) -> Line:
    """Give the verdict and its sentence in one line, however long."""
    text = headline(report, groups(report), unseen(report))
    return (_verdict(report, paper), Span(f"  {paper.say(text)}"))


def page(report: Report, view: View) -> Iterator[Line]:
    """Give all lines of the page."""
    found, dark = groups(report), unseen(report)
    digits = len(str(len(found)))
    yield from _opening(report, headline(report, found, dark), view)
    if report.verdict == "go":
        yield from _go(report, found, view, digits)
    else:
        yield from _no_go(report, found, dark, view, digits)
    if view.verbose:
        yield from (EMPTY, (Span("Checks:"),), EMPTY)
        yield from check_lines(report, view)
    yield EMPTY
    loud = report.verdict != "go" and nothing_looked_at(report) is None
    yield from (foot(report, found, view) if loud else quiet_foot(report, view))
    yield EMPTY
    yield from _opening(report, ending(report, found), view)


def _go(report: Report, found: Sequence[Group], view: View, digits: int) -> Iterator[Line]:
    for lines in (
        list_lines(found, view, digits=digits),
        target_lines(report, view),
        _reasons(report, view),
    ):
        yield from _set_off(lines)
    heavy = [one for one in found if view.verbose or one.severity > Severity.NOTE]
    yield from _blocks(heavy, view, digits, told=0)


def _no_go(
    report: Report, found: Sequence[Group], dark: Sequence[Unseen], view: View, digits: int
) -> Iterator[Line]:
    gating = [group for group in found if group.gates]
    lesser = [g for g in found if not g.gates and g.severity > Severity.NOTE]
    notes = [g for g in found if not g.gates and g.severity is Severity.NOTE]
    yield from _set_off(list_lines(gating, view, digits=digits))
    if dark and gating:
        heading = _heading("Not looked at, so more may be wrong than is listed:", view)
        yield from (EMPTY, *heading, EMPTY, *unseen_lines(dark, view))
    elif dark:
        yield from _set_off(unseen_lines(dark, view))
    if nothing_looked_at(report) is not None:
        yield from _set_off(need_lines(report, view))
    yield from _set_off(_reasons(report, view))
    if gating:
        yield from (EMPTY, *_heading("In the order in which the job would meet them:", view))
        yield from _blocks(gating, view, digits, told=0)
    if lesser:
        errors = any(group.severity is Severity.ERROR for group in lesser)
        said = "Found, and let pass:" if errors else "Warnings:"
        yield from (EMPTY, (Span(said),))
        yield from _blocks(lesser, view, digits, told=len(gating), listed=True)
    if notes and view.verbose:
        yield from (EMPTY, (Span("Worth knowing:"),))
        yield from _blocks(notes, view, digits, told=0)
    elif notes:
        listed = list_lines(notes, view, digits=digits)
        yield from (EMPTY, (Span("Worth knowing:"),), EMPTY, *listed)


def _blocks(
    found: Sequence[Group], view: View, digits: int, *, told: int, listed: bool = False
) -> Iterator[Line]:
    """Give groups in full as far as a reader would follow, and say where the rest is."""
    room = len(found) if view.verbose else max(IN_FULL - told, 0)
    for group in found[:room]:
        yield EMPTY
        yield from block(group, view, digits=digits)
    rest = found[room:]
    if rest and listed:
        yield from _set_off(list_lines(rest, view, digits=digits))
    elif rest:
        numbers = f"{rest[0].number} to {rest[-1].number}" if len(rest) > 1 else rest[0].number
        yield from (EMPTY, (Span(f"{numbers}: as listed above; -v tells them in full."),))


def _heading(text: str, view: View) -> Iterator[Line]:
    yield from ((Span(piece),) for piece in view.paper.wrap(text, view.paper.width))


def _reasons(report: Report, view: View) -> Iterator[Line]:
    """Say why the verdict is no GO, or what a reader of a GO must know."""
    paper = view.paper
    said_above = nothing_looked_at(report) if report.verdict == "cannot-judge" else None
    for number, reason in enumerate(report.reasons):
        if reason == said_above or (view.verbose and _IN_THE_DARK.search(reason)):
            continue
        unjudged = number == 0 and report.verdict == "cannot-judge"
        said = paper.say(f"It is no GO: {reason}" if unjudged else reason)
        yield from ((Span(piece),) for piece in paper.wrap(said, paper.width))


def _opening(report: Report, sentence: str, view: View) -> Iterator[Line]:
    paper = view.paper
    verdict = _verdict(report, paper)
    texts = paper.wrap(paper.say(sentence), paper.width - cells(verdict.text) - 2)
    yield from hanging((verdict, Span("  ")), texts)


def _verdict(report: Report, paper: Paper) -> Span:
    return Span(paper.say(label(report)), f"verdict.{report.verdict}")


def _set_off(lines: Iterator[Line]) -> Iterator[Line]:
    """Put an empty line before a part of the page, where there is such a part."""
    for number, line in enumerate(lines):
        if number == 0:
            yield EMPTY
        yield line
