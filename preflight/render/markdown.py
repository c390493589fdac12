"""The report as Markdown, for CI summaries and comments; nothing in it is taken for markup."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from preflight.findings.finding import Finding, Row
from preflight.findings.report import Report
from preflight.render.groups import (
    Group,
    Unseen,
    foremost,
    groups,
    is_command,
    unseen,
    where,
    within,
)
from preflight.render.left_unread import if_named, unread_text
from preflight.render.shared_advice import Advice, Sharing, advice
from preflight.render.verdict import headline, label
from preflight.values.names import counted, shown

_PLACES = 10

# A comment on GitHub holds 65,536 characters; what is longer is refused as a whole.
_LONGEST = 50_000
_LONGEST_NAME = 1_000

# Words that no Markdown gives a meaning: letters, and plain numbers. Everything else (dots inside,
# digits among letters, `@`, `#`, `_`) is set as code, since GitHub makes links of mentions, issue
# numbers, commits and addresses, in running text only.
_PLAIN = re.compile(r"(?![0-9a-f]{7,40}$)[^\W\d_]+(?:['-][^\W\d_]+)*|[0-9][0-9,]*(?:\.[0-9]+)?|%")
_WORD = re.compile(r"(?<!\S)\(?`[^`]+`[.,;:!?)]*(?!\S)|\S+")
_BETWEEN = re.compile(r"(?<=[^`])` `(?=[^`])")
_ITEM = re.compile(r"[0-9]+[.)]")


def render(report: Report) -> str:
    """Give the verdict, a table of what was found, and each in full."""
    found, dark = groups(report), unseen(report)
    lines = [f"## {text(label(report))}: {text(headline(report, found, dark))}", "", *_table(found)]
    for reason in report.reasons:
        lines += [text(reason), ""]
    if dark:
        lines += ["### Not looked at", "", *_dark(dark), ""]
    room = _LONGEST - sum(map(len, lines))
    for group in found:
        block = [*_group(group, report), ""]
        room -= sum(map(len, block))
        if room < 0:
            lines += [f"From {group.number} on there is no room here; the JSON report has all.", ""]
            break
        lines += block
    lines += _foot(report)
    return "\n".join(lines).rstrip("\n") + "\n"


def text(said: str) -> str:
    """Set a sentence so that it reads as written: plain words as they are, the rest as code."""
    words = _WORD.findall(shown(said)[:_LONGEST_NAME])
    if words and _ITEM.match(words[0]):
        return _joined([code(words[0]), *map(_set, words[1:])])  # or it would begin a list
    return _joined(map(_set, words))


def _joined(words: Iterable[str]) -> str:
    """Put words together; what stands beside each other as code is one piece of code."""
    return _BETWEEN.sub(" ", " ".join(words))


def code(said: str) -> str:
    """Set a name as code, in which nothing has a meaning but a row of as many backticks."""
    said = shown(said)[:_LONGEST_NAME]
    if not said.strip():
        return ""
    runs = {len(run) for run in re.findall("`+", said)}
    fence = "`" * next(number for number in range(1, len(runs) + 2) if number not in runs)
    space = " " if said[0] in "` " or said[-1] in "` " else ""
    return f"{fence}{space}{said}{space}{fence}"


def cell(said: str) -> str:
    """Set a name in a table, where a bar ends the cell even inside code."""
    return "&#124;".join(code(part) for part in said.split("|"))


def _set(word: str) -> str:
    """Set one word, or what its writer has set as code already, and leave its marks outside."""
    body = word.rstrip(".,;:!?")
    end = word[len(body) :]
    start = "(" if body.startswith("(") else ""
    body = body[len(start) :]
    if body.endswith(")") and body.count(")") > body.count("("):
        body, end = body[:-1], f"){end}"
    if not body:
        return code(word)
    if len(body) > 2 and body[0] == body[-1] == "`":
        return start + code(body[1:-1]) + end
    return start + (body if _PLAIN.fullmatch(body) else code(body)) + end


def _table(found: tuple[Group, ...]) -> list[str]:
    if not found:
        return []
    rows = [
        f"| {group.number} | {cell(group.check)} | {group.severity.word}"
        f" | {group.total:,} | {cell(group.place)} |"
        for group in found
    ]
    return ["| | check | | found | where |", "|--:|---|---|--:|---|", *rows, ""]


def _group(group: Group, report: Report) -> Iterator[str]:
    told = foremost(group.findings, _PLACES)
    said = advice(told)
    yield f"### {group.number}. {code(group.check)}: {text(group.title)}"
    yield ""
    yield from _sorts(said)
    left = group.total - len(told)
    if left:
        kept = f", in {code(report.last)}" if report.last and not group.more else ""
        yield f"- and {left:,} more{kept}"
    for line in _advice(said.advice):
        yield from ("", line)


def _sorts(told: Sharing) -> Iterator[str]:
    """Give findings by what they share, and under those of each sort what is their own."""
    for one in () if told.sorts else told.findings:
        yield f"- {_place(one)}: {text(one.message)}{_also(one)}"
        yield from (f"  - {_row(row)}" for row in one.rows)
    for sort in told.sorts:
        yield from _sorts(sort)
        if sort.sorts and any(sort.advice):
            yield f"- of these {len(sort.findings):,}:"
        yield from (f"  - {line}" for line in _advice(sort.advice))


def _place(one: Finding) -> str:
    inside = within(one.at)
    return f"{code(where(one.at))} {code(inside)}".rstrip()


def _row(row: Row) -> str:
    """Write one reason as an item: its number, what it is, an example, and its line."""
    count = "?" if row.count is None else f"{row.count:,}"
    example = f" ({code(row.example)})" if row.example else ""
    at = f" {code(where(row.at))}" if row.at else ""
    return f"{count} {text(row.text)}{example}{at}"


def _also(one: Finding) -> str:
    if not one.also:
        return ""
    more = [f"{len(one.also) - _PLACES:,} more"] if len(one.also) > _PLACES else []
    return f" (also {', '.join([*(code(str(at)) for at in one.also[:_PLACES]), *more])})"


def _advice(said: Advice) -> Iterator[str]:
    for name, sentences in zip(("Why", "Fix", "Or"), said, strict=True):
        if sentences:
            yield f"**{name}**: {_with_commands(sentences)}"


def _with_commands(sentences: str) -> str:
    """Set lines of their own, and what stands behind two spaces, as code that can be copied."""
    said = []
    for number, line in enumerate(sentences.splitlines()):
        prose, gap, command = line.strip().rpartition("  ")
        if (gap or number > 0) and is_command(command):
            said += [text(prose), code(command)]
        else:
            said.append(text(line))
    return " ".join(filter(None, said))


def _dark(dark: tuple[Unseen, ...]) -> Iterator[str]:
    for broken, _, _ in dark:
        yield f"- {code(str(broken.at) or 'this job')}: {text(broken.error)}"
        yield from (f"  - {line}" for line in _advice((None, broken.fix, None)))


def _foot(report: Report) -> Iterator[str]:
    for target in report.targets:
        seen = f": {text(target.text)}" if target.text else ""
        yield f"- {text(target.kind)} {code(target.word)}{seen}"
    yield f"- {counted(len(report.checks), 'check')} in {report.seconds:.1f} s"
    if report.not_judged:
        yield f"- Not judged: {', '.join(text(name) for name in report.not_judged)}"
    for hint, part in {one.hint: one.part for one in report.coverage[::-1] if one.hint}.items():
        yield f"- {code(hint)} looks at the {text(part)}"
    if files := unread_text(report):
        yield f"- Not read: {text(files)}"
    for files, command in if_named(report):
        yield f"- {text(files)}: {code(command)}"
    if report.accepted:
        said = "; ".join(
            text(reason) for reason in dict.fromkeys(r.reason for r in report.accepted)
        )
        yield f"- Accepted: {counted(len(report.accepted), 'finding')}: {said}"
    yield f"- Again: {code(report.command)}"
