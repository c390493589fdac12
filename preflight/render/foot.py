"""The foot of a terminal page: what was looked at, what was not, how long it took, what is next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from preflight.findings.report import Named, Outcome, Report
from preflight.render.finding_blocks import View
from preflight.render.groups import Group
from preflight.render.left_unread import are_read_if_named, if_named, unread_text
from preflight.render.lines import Line, Span, cells, hanging, padded
from preflight.render.verdict import nothing_looked_at
from preflight.settings.ages import format_age
from preflight.values.names import counted

_LABEL_WIDTH = 13

# Columns from which on labels stand beside their text however long that is; and how far it is set
# in below them, where it would not fit beside.
_WIDE, _NARROW = 60, 2

_TARGETS = 8
_SKIPS = 4

# Columns of a text beside what it is about; else it stands below.
_LEAST = 24
_WORTH_TELLING = 0.2  # of all seconds

# How a part is named that has no obvious word.
_HINTS = {
    "script": "source=FILE has a script read",
    "cache against data": "of = [...] in [[cache]] says what a cache was made of",
}


def foot(report: Report, found: Sequence[Group], view: View) -> Iterator[Line]:
    """Give the foot of a page that found something, or could not look."""
    yield from entry("Looked at", _looked_at(report), view)
    yield from _remembered(report, view)
    if not view.verbose:  # the list of checks has said it
        yield from _skipped(report, view)
    yield from _common(report, view)
    yield from entry("Took", _took(report), view)
    if report.last:
        here = "" if view.verbose else ", or -v here"
        yield from entry("Whole list", f"{report.last}{here}", view)
    commands = _aside(report)
    if report.last:
        commands.append(("preflight report", "this page, ready for an issue"))
    if found:
        commands.insert(0, (f"preflight explain {found[0].check}", "the whole story of the first"))
    commands.append((report.command, "looks at the same again"))
    yield from _commands(commands, view)


def quiet_foot(report: Report, view: View) -> Iterator[Line]:
    """Give the foot of a GO page: only what its reader has to know."""
    yield from _remembered(report, view)
    yield from _common(report, view)
    settings = sorted({_file_of(one.origin) for one in report.job.values()} - {""})
    if settings:
        yield from entry("Read from", ", ".join(settings), view)
    yield from _commands(_aside(report), view)


def target_lines(report: Report, view: View) -> Iterator[Line]:
    """Say what each word of the command line was taken for, and what was seen of it."""
    paper = view.paper
    shown = report.targets if view.verbose else report.targets[:_TARGETS]
    kinds = max([6, *(len(paper.say(one.kind)) for one in shown)])
    words = max([0, *(cells(paper.say(one.word)) for one in shown if not _says_kind(one))])
    beside = words <= paper.width * 2 // 5
    for one in shown:
        kind, text = paper.say(one.kind), paper.say(one.text)
        word = "" if _says_kind(one) else paper.say(one.word)
        indent = kinds + 4 + (words + 3 if beside else 2)
        texts = paper.wrap(text, paper.width - indent)
        head = f"  {padded(kind, kinds)}  "
        if beside:
            yield from hanging((Span(f"{head}{padded(word, words)}   "),), texts or [""])
        else:
            yield (Span(head + word),)
            yield from hanging((Span(" " * indent),), texts)
    left = len(report.targets) - len(shown)
    if left:
        yield (Span(f"  and {left:,} more: -v lists them"),)


def _says_kind(one: Named) -> bool:
    """Whether a word is only that of its kind; a folder may be called `data`."""
    return one.word == one.kind == "host"


def need_lines(report: Report, view: View) -> Iterator[Line]:
    """Say what a run needs that has looked at nothing of a job: what lies there, what to type."""
    paper = view.paper
    passed = [one for one in report.coverage if one.if_named]
    said = [unread_text(report), are_read_if_named(passed) if passed else ""]
    none = "none named" if any(one.part == "data" for one in passed) else "none found"
    data = ": ".join(filter(None, (none, "; ".join(filter(None, said)))))
    if not any(one.of for one in report.coverage if one.part == "data"):
        yield from hanging((Span("  data    "),), paper.wrap(paper.say(data), paper.width - 10))
    hints = {
        one.hint: one.hint_at or f"looks at the {one.part}" for one in report.coverage if one.hint
    }
    hints = hints or {"preflight run --help": "how data, caches and loaders are named"}
    offers = [*hints.items()]  # of what a script makes, that it is run
    head = "  say     "
    column = max(cells(paper.say(command)) for command, _ in offers)
    room = paper.width - len(head) - column - 3
    for command, what in offers:
        begin = Span(head), Span(padded(paper.say(command), column) + "   ")
        head = " " * len(head)
        if room < _LEAST:
            yield begin[0], Span(paper.say(command))
            begin = Span(head), Span("  ")
        room_here = room if room >= _LEAST else paper.width - len(head) - 2
        yield from hanging(begin, paper.wrap(paper.say(what), room_here))


def check_lines(report: Report, view: View) -> Iterator[Line]:
    """List the checks with what became of each; no reason is said of two."""
    paper = view.paper
    told: dict[str, str] = {}
    ids = max([0, *(cells(paper.say(one.id)) for one in report.checks)])
    words = max([0, *(cells(paper.say(one.outcome)) for one in report.checks)])
    for one in report.checks:
        head: Line = (
            Span("  "),
            Span(padded(paper.say(one.id), ids), "id"),
            Span(f"  {padded(paper.say(one.outcome), words)}  "),
        )
        indent = ids + words + 6
        if paper.width - indent < _LEAST:
            yield head
            head, indent = (Span("    "),), 4
        texts = paper.wrap(paper.say(_became(one, report, told)), paper.width - indent)
        yield from hanging(head, texts or [""])


def entry(label: str, text: str, view: View) -> Iterator[Line]:
    """Give one entry of the foot, its text hanging beside its label."""
    paper = view.paper
    head = padded(label, _LABEL_WIDTH)
    for piece in paper.wrap(paper.say(text), paper.width - _LABEL_WIDTH):
        yield (Span(head, "foot.label"), Span(piece, "foot"))
        head = " " * _LABEL_WIDTH


def _aside(report: Report) -> list[tuple[str, str]]:
    """Give the command that moves damaged files out of the way, where there are some."""
    files = {one.file for each in report.findings for one in each.aside if one.stays is None}
    if not files or not report.last:  # which is what it goes by
        return []
    return [("preflight quarantine", f"moves {counted(len(files), 'damaged file')} aside")]


def _remembered(report: Report, view: View) -> Iterator[Line]:
    if report.remembered:
        files = [f"{one.count:,} of {counted(one.of, one.noun)}" for one in report.remembered]
        age = format_age(max(one.age for one in report.remembered))
        text = f"{', '.join(files)}, read up to {age} ago; --reread 0 reads them again"
        yield from entry("Remembered", text, view)


def _common(report: Report, view: View) -> Iterator[Line]:
    if nothing_looked_at(report) is None:
        yield from _not_judged(report, view)
    if report.unread and view.verbose:
        yield from entry("Not used", ", ".join(report.unread), view)
    if report.accepted:
        reasons = dict.fromkeys(one.reason for one in report.accepted)
        number = counted(len(report.accepted), "finding")
        yield from entry("Accepted", f"{number}: {'; '.join(reasons)}", view)


def _not_judged(report: Report, view: View) -> Iterator[Line]:
    """Name what was not looked at, with the commands that look at it, where sources have it."""
    typed = {one.part: one.hint for one in report.coverage if one.hint}
    if report.not_judged:
        names = ", ".join(report.not_judged)
        left = [part for part in report.not_judged if part in _HINTS and part not in typed]
        hints = "".join(f"; {_HINTS[part]}" for part in left)
        yield from entry("Not judged", f"{names}: not named{hints}.", view)
    for command in dict.fromkeys(typed.values()):
        yield (Span(" " * _LABEL_WIDTH), Span(view.paper.say(command)))
    if files := unread_text(report):
        yield from entry("Not read", f"{files}.", view)
    for text, command in if_named(report):
        yield from entry("Not named", f"{text}:", view)
        if command not in typed.values():
            yield (Span(" " * _LABEL_WIDTH), Span(view.paper.say(command)))


def _skipped(report: Report, view: View) -> Iterator[Line]:
    few = report.verdict == "cannot-judge" and len(report.checks) <= _TARGETS
    skips = _skips(report, empty=few)
    shown = skips[:_SKIPS]
    for index, text in enumerate(shown):
        yield from entry("" if index else "Skipped", text, view)
    if len(skips) > len(shown):
        yield from entry("", f"and {len(skips) - len(shown):,} more: -v lists them", view)


def _looked_at(report: Report) -> str:
    counts = Counter(one.outcome for one in report.checks)
    seen = _seen(report.targets)
    left = len(seen) - _TARGETS
    targets = [*seen[:_TARGETS], *([f"and {left:,} more"] if left > 0 else [])]
    counts["found"] = sum(bool(one.found) for one in report.checks)
    said = {
        "found": "found something",
        "broken": "could not look everywhere",
        "passed": "passed",
        "skipped": "skipped",
    }
    outcomes = [f"{counts[key]:,} {words}" for key, words in said.items() if counts[key]]
    checks = f"{counted(len(report.checks), 'check')}: {', '.join(outcomes)}."
    return f"{', '.join(targets)}. {checks}" if targets else checks


def _seen(targets: Sequence[Named]) -> list[str]:
    by_word: dict[str, list[str]] = {}
    for one in targets:
        texts = by_word.setdefault(one.word, [])
        other = texts and one.text and one.kind != "missing"
        texts += [f"as {one.kind}: {one.text}" if other else one.text] if one.text else []
    return [f"{word} ({'; '.join(said)})" if said else word for word, said in by_word.items()]


def _skips(report: Report, *, empty: bool) -> list[str]:
    """Give each reason once, with the checks that it kept from looking.

    That a job has nothing of a kind (`empty`) is left to -v: "not judged" says it already. What
    keeps it from a GO was said above.
    """
    by_reason: dict[str, list[str]] = {}
    for outcome in report.checks:
        for skip in outcome.skipped:
            if (skip.count or empty) and not _is_said(skip.reason, report):
                by_reason.setdefault(skip.reason, []).append(outcome.id)
    return [f"{', '.join(checks)}: {reason}" for reason, checks in by_reason.items()]


def _took(report: Report) -> str:
    steps = sorted(report.steps.items(), key=lambda step: -step[1])
    long = [f"{name} {s:.1f} s" for name, s in steps if s >= report.seconds * _WORTH_TELLING]
    of_which = f", of which {', '.join(long[:2])}" if long else ""
    return f"{report.seconds:.1f} s{of_which}."


def _is_said(reason: str, report: Report) -> bool:
    """Whether it stands among the reasons of the verdict."""
    return any(reason.removesuffix(".") in said for said in report.reasons)


def _became(one: Outcome, report: Report, told: dict[str, str]) -> str:
    """Say it in brief; `told` has for each reason the check of which it was said before."""
    why = [_why_skipped(skip.reason, one.id, report, told) for skip in one.skipped]
    if not one.targets:
        return "; ".join(text.lstrip(":, ") for text in why)
    said = [f"{one.looked_at:,} of {one.targets:,} looked at"]
    if one.remembered:
        said.append(f"{one.remembered:,} remembered from an earlier run")
    if one.found:
        said.append(counted(one.found, "finding"))
    said += [f"{counted(len(one.broken), 'place')} could not be looked at"] if one.broken else []
    skipped = zip(one.skipped, why, strict=True)
    return ", ".join([*said, *(f"{skip.count:,} skipped{text}" for skip, text in skipped)])


def _why_skipped(reason: str, check: str, report: Report, told: dict[str, str]) -> str:
    """Say why, or where it was said."""
    if _is_said(reason, report):
        return ", as said above"
    first = told.setdefault(reason, check)
    return f" as {first}" if first != check else f": {reason}"


def _commands(commands: Sequence[tuple[str, str]], view: View) -> Iterator[Line]:
    """Set commands and what they do side by side, or one below the other; none is ever broken."""
    paper = view.paper
    said = [(paper.say(command), words) for command, words in commands]
    head, indent = "Next", _LABEL_WIDTH
    is_wide = paper.width >= _WIDE
    if not is_wide and any(cells(command) > paper.width - indent for command, _ in said):
        yield (Span(head, "foot.label"),)
        head, indent = "", _NARROW
    room = paper.width - indent - max([0, *(len(words) for _, words in said)]) - 3
    column = max([0, *(cells(command) for command, _ in said if cells(command) <= room)])
    for command, words in said:
        start = (Span(padded(head, indent), "foot.label"), Span(padded(command, column)))
        if cells(command) <= column:
            yield (*start, Span(f"   {words}", "foot"))
        else:
            yield start
            for piece in paper.wrap(words, paper.width - indent - 3):
                yield (Span(" " * (indent + 3) + piece, "foot"),)
        head = ""


def _file_of(origin: str) -> str:
    """Take the file out of an origin such as `preflight.toml:4`; empty for flags and defaults."""
    file, _, line = origin.rpartition(":")
    return file if line.isdigit() else ""
