"""The report for a terminal: plain text, or the same text with colours and links."""

from __future__ import annotations

from collections.abc import Iterable

from preflight.findings.report import Report
from preflight.render.finding_blocks import View
from preflight.render.groups import root_of
from preflight.render.lines import Line, Paper, Span
from preflight.render.page import first_line, page

# Colour says nothing that the words do not. The eight basic colours follow the user's own theme.
_COLOURS = {
    "verdict.go": "bold green reverse",
    "verdict.no-go": "bold red reverse",
    "verdict.cannot-judge": "bold yellow reverse",
    "number.error": "bold red",
    "number.warning": "bold yellow",
    "number.note": "bold blue",
    "number.broken": "bold yellow",
    "id": "bold cyan",
    "label": "bold",
    "place": "dim",
    "foot": "dim",
    "foot.label": "dim",
}


def render(
    report: Report,
    *,
    width: int = 80,
    color: bool = False,
    verbose: int = 0,
    quiet: bool = False,
    encoding: str = "utf-8",
    links: bool = False,
) -> str:
    """Draw the page; only a path or a command is wider than it.

    Above 0, `verbose` tells all groups and places in full, and what became of each check; `quiet`
    gives the first line only. A stream of this encoding can always take the text. Where the
    terminal follows links (OSC 8), places lead to their files.
    """
    paper = Paper.of(width, encoding)
    if quiet:
        return _drawn([first_line(report, paper)], color=color)
    view = View(
        paper=paper, verbose=verbose, root=root_of(report) if links else None, last=report.last
    )
    return _drawn(page(report, view), color=color)


def _drawn(lines: Iterable[Line], *, color: bool) -> str:
    def drawn(span: Span) -> str:
        text = _colored(span) if color else span.text
        return f"\x1b]8;;{span.link}\x1b\\{text}\x1b]8;;\x1b\\" if span.link else text

    # Links are those of OSC 8; rich would give each one a random id, and no two pages alike.
    return "".join("".join(map(drawn, line)).rstrip() + "\n" for line in lines)


def _colored(span: Span) -> str:
    from rich.color import ColorSystem
    from rich.style import Style as Pen

    pen = Pen.parse(_COLOURS.get(span.style, ""))
    return pen.render(span.text, color_system=ColorSystem.STANDARD)
