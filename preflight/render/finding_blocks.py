"""A group of findings on a terminal page: its line in the list, and its block in full."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from preflight.findings.finding import Finding, Location, Row
from preflight.render.groups import (
    Group,
    Unseen,
    first_word,
    foremost,
    sentence,
    summary,
    where,
    within,
)
from preflight.render.lines import Line, Paper, Span, cells, hanging, padded, spread
from preflight.render.shared_advice import Advice, Sharing, advice
from preflight.values.names import counted

PLACES = 5
"""Places of one group that are told in full."""

_LABELS = ("why", "fix", "or")
_LABEL_WIDTH = 5

# Columns that a text beside its place has at least.
_LEAST = 30


class View(NamedTuple):
    """How much of a report a page tells, and where its places lead."""

    paper: Paper
    verbose: int = 0
    root: str | None = None
    """The job's folder where places are to be links into it, absolute."""

    last: str | None = None

    def place(self, at: Location, text: str | None = None) -> Span:
        """Say a place, as a link to its file where links are wanted."""
        said = self.paper.say(text if text is not None else where(at))
        link = None
        if self.root is not None and at.file is not None and not at.file.startswith("package "):
            path = at.file if at.file.startswith("/") else f"{self.root}/{at.file}"
            from urllib.parse import quote

            link = "file://" + quote(path, errors="surrogateescape")
        return Span(said, "place", link)


def list_lines(found: Sequence[Group], view: View, *, digits: int) -> Iterator[Line]:
    """Give one line for each group: number, first word of the id, what is wrong, place."""
    paper = view.paper
    words = max([6, *(len(group.word) for group in found)])
    for group in found:
        place = paper.shorten_path(paper.say(group.place), paper.width * 2 // 5)
        room = paper.width - (2 + digits + 2 + words + 2) - cells(place) - 2
        first = group.findings[0]
        # Of one whose place inside a file is long, what is wrong with it is said instead.
        long = group.total == 1 and cells(paper.say(within(first.at))) > room // 2
        text = paper.shorten(paper.say(first.message if long else summary(group)), room)
        left = (
            Span(f"  {group.number:>{digits}}", f"number.{group.severity.word}"),
            Span(f"  {padded(paper.say(group.word), words)}  {text}"),
        )
        link = view.place(first.at).link if len(group.findings) == 1 else None
        yield spread(left, Span(place, "place", link), paper.width)


def unseen_lines(dark: Sequence[Unseen], view: View) -> Iterator[Line]:
    """Give the places that could not be looked at, each with its reason and what to do."""
    paper = view.paper
    words = max([6, *(len(first_word(checks[0])) for _, checks, _ in dark)])
    indent = words + 7
    told: tuple[str, ...] = ()
    for broken, checks, _ in dark:
        word = paper.say(first_word(checks[0]))
        head = (Span("  !", "number.broken"), Span(f"  {padded(word, words)}  "))
        place = paper.say(str(broken.at) or "this job")
        text = f"{place}: {paper.say(broken.error)}"
        yield from hanging(head, paper.wrap(text, paper.width - indent))
        if broken.fix:
            yield from _labelled("fix", broken.fix, view, indent)
        if view.verbose and len(checks) > 1:
            again = checks == told
            yield from _labelled("for", "the same" if again else ", ".join(checks), view, indent)
            told = checks


def block(group: Group, view: View, *, digits: int) -> Iterator[Line]:
    """Give one group in full."""
    indent = digits + 2
    yield from _header(group, view, digits=digits)
    shown = group.findings if view.verbose else foremost(group.findings, PLACES)
    told = advice(shown)
    if group.total == 1:
        yield from _text(sentence(shown[0]), view, indent)
        yield from _table(shown[0], view, indent)
        yield from _also(shown[0], view, indent)
    else:
        yield from _sorts(told, view, indent, _text_column(shown, view, indent))
        yield from _rest(group, len(shown), view, indent)
    yield from _advice(told.advice, view, indent)


def _sorts(told: Sharing, view: View, indent: int, column: int) -> Iterator[Line]:
    """Give findings by what they share, and under those of each sort what is their own."""
    if not told.sorts:
        yield from _rows(told.findings, view, indent, column)
    before: Sequence[tuple[object, ...]] = ()
    for sort in told.sorts:
        rows = [(one.at, one.message, one.rows, one.also) for one in sort.findings]
        if sort.sorts or rows != before:  # such as those of two models of one class
            yield from _sorts(sort, view, indent, column)
        if sort.sorts and any(sort.advice):
            yield from _text(f"of these {len(sort.findings):,}:", view, indent)
        yield from _advice(sort.advice, view, indent + 2 if sort.sorts else column)
        before = rows


def _header(group: Group, view: View, *, digits: int) -> Iterator[Line]:
    paper = view.paper
    number = Span(f"{group.number:>{digits}}", f"number.{group.severity.word}")
    left = (number, Span("  "), Span(paper.say(group.check), "id"))
    if group.total > 1:
        yield spread(left, Span(counted(group.total, "finding"), "place"), paper.width)
        return
    place = view.place(group.findings[0].at)
    if sum(cells(span.text) for span in left) + 2 + cells(place.text) <= paper.width:
        yield spread(left, place, paper.width)
        return
    yield left
    yield (Span(" " * (digits + 2)), place)


def _text_column(found: Sequence[Finding], view: View, indent: int) -> int:
    """Where texts begin: beside their places where these are short, else one line below."""
    beside = max(cells(view.place(one.at).text) for one in found) + 3
    width = view.paper.width
    return indent + (beside if beside <= min(width * 2 // 5, width - _LEAST - indent) else 2)


def _rows(found: Sequence[Finding], view: View, indent: int, column: int) -> Iterator[Line]:
    """Give each finding with its place; what stands above already is not said again."""
    paper = view.paper
    place_before = text_before = said_before = ""
    also_before: tuple[Location, ...] = ()
    for one in found:
        place, text = view.place(one.at), sentence(one)
        again = place.text == place_before
        said = text
        if one.message == said_before:
            said = (
                "the same" if text == text_before else f"{text.removesuffix(one.message)}the same"
            )
        lines = paper.wrap(paper.say(said), paper.width - column) or [""]
        if indent + cells(place.text) + 3 <= column:
            start = () if again else (place,)
            gap = column - indent - (0 if again else cells(place.text))
            yield (Span(" " * indent), *start, Span(" " * gap + lines.pop(0)))
        elif not again:
            yield (Span(" " * indent), place)
        yield from ((Span(" " * column + line),) for line in lines)
        yield from _table(one, view, column)
        if not (again and said == "the same" and one.also == also_before):
            yield from _also(one, view, column)
        place_before, text_before, said_before = place.text, text, one.message
        also_before = one.also


def _rest(group: Group, told: int, view: View, indent: int) -> Iterator[Line]:
    """Say how many more there are, and where; those beyond the limit were only counted."""
    kept, counted_only = len(group.findings) - told, sum(group.more.values())
    where_kept = f"in {view.last}" if view.last else "which -v tells"
    if kept and counted_only:
        text = f"and {kept + counted_only:,} more, {kept:,} of them {where_kept}"
    elif kept:
        text = f"and {kept:,} more, {where_kept}"
    else:
        text = f"and {counted_only:,} more, which were only counted"
    if kept or counted_only:
        yield from _text(text, view, indent)
    if view.verbose:
        for file, number in group.more.items():
            yield from _text(f"{file}: {number:,} of them", view, indent + 2)


def _table(one: Finding, view: View, indent: int) -> Iterator[Line]:
    """Give a line for each reason: its number, what it is, and the line that makes it so."""
    paper = view.paper
    digits = max((len(_number(row)) for row in one.rows), default=0)
    for row in one.rows:
        head = Span(f"{' ' * indent}{_number(row):>{digits}}  ")
        example = f" ({row.example})" if row.example else ""
        pieces = paper.wrap(paper.say(row.text + example), paper.width - len(head.text))
        *first, last = hanging((head,), pieces or [""])
        yield from first
        place = None if row.at is None else view.place(row.at)
        if place and sum(cells(span.text) for span in last) + 2 + cells(place.text) > paper.width:
            yield last
            last = (Span(" " * len(head.text)),)
        yield spread(last, place, paper.width) if place else last


def _number(row: Row) -> str:
    return "?" if row.count is None else f"{row.count:,}"


def _also(one: Finding, view: View, indent: int) -> Iterator[Line]:
    if not one.also:
        return
    shown = one.also if view.verbose else one.also[:PLACES]
    places = [at.name if at.name and at.file == one.at.file else str(at) for at in shown]
    left = len(one.also) - len(shown)
    more = [f"and {left:,} more"] if left else []
    yield from _labelled("also", ", ".join([*places, *more]), view, indent)


def _advice(said: Advice, view: View, indent: int) -> Iterator[Line]:
    for label, text in zip(_LABELS, said, strict=True):
        if text:
            yield from _labelled(label, text, view, indent)


def _labelled(label: str, text: str, view: View, indent: int) -> Iterator[Line]:
    paper = view.paper
    pieces = []
    for number, part in enumerate(text.splitlines()):
        # What has a line of its own, such as a command, is kept in one piece, to be copied.
        said = paper.say(part if number == 0 else f"  {part.strip()}")
        pieces += paper.wrap(said, paper.width - indent - _LABEL_WIDTH, commands=True)
    head = (Span(" " * indent), Span(padded(label, _LABEL_WIDTH), "label"))
    yield from hanging(head, pieces)


def _text(text: str, view: View, indent: int) -> Iterator[Line]:
    pieces = view.paper.wrap(view.paper.say(text), view.paper.width - indent)
    yield from hanging((Span(" " * indent),), pieces)
