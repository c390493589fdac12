"""The Markdown report: for people, in a place where names could become links and more."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

from preflight.findings.finding import Location
from preflight.findings.report import Accepted, Broken, Named, Report, Skip
from preflight.render import markdown
from preflight.values.names import shown
from tests.render.jobs import REPORTS, demo, healthy
from tests.render.sample import HOSTILE, finding, outcome

NAMES = (
    *HOSTILE,
    "`",
    "``a` b``",
    " starts and ends with a space ",
    "ends with a backslash\\",
    "back\\|slash and | bar",
    "a*b*c _d_ **e** ~~f~~",
    "<details><summary>x</summary>",
    "![pic](https://evil.example/x.png)",
    "<https://evil.example>",
    "www.evil.example",
    "x@evil.example",
    "@octocat @acme/team #12 GH-12 acme/repo#12 deadbeefdeadbeef",
    "&lt;b&gt; &#64;",
    "# heading",
    "- item",
    "1. one",
    "> quote",
    "===",
    "---",
    "$x^2$ :tada: [^1]",
    "```",
    "~~~",
    "[a]: https://evil.example",
    "<!-- x",
)


def tokens(text: str) -> Iterator[Token]:
    """Give all tokens as a Markdown reader with tables and raw HTML sees them."""
    for token in MarkdownIt("commonmark", {"html": True}).enable("table").parse(text):
        yield token
        yield from token.children or ()


def hostile(name: str) -> Report:
    """Give a report with this name in every place that a user's data can reach."""
    place = Location(file=name, line=3, name=f"member {name}")
    old = finding("shard-damaged", "is cut", file=name)
    return healthy(
        verdict="no-go",
        complete=False,
        not_judged=(name,),
        reasons=(name,),
        command=f"preflight run {name}",
        last=name,
        targets=(Named(word=name, kind="data", text=name),),
        accepted=(Accepted(check=name, at=place, fingerprint="00", reason=name),),
        checks=(
            outcome(
                "shard-damaged",
                name,
                broken=(Broken(at=place, error=name, fix=name),),
                skipped=(Skip(reason=name, count=1),),
            ),
        ),
        findings=(
            old,
            finding(
                "shard-damaged",
                name,
                file=name,
                name=f"member {name}",
                why=name,
                fix=f"{name}\n{name}",
                workaround=f"Or:  {name}",
                also=(place,),
                evidence={"name": name},
            ),
        ),
        more={"shard-damaged": {name: 3}},
    )


@pytest.mark.parametrize("name", ["everything", "demo"])
def test_the_markdown_is_as_it_was(name: str, snapshot: Callable[[str, str], None]) -> None:
    snapshot(f"{name}.md", markdown.render(REPORTS[name]()))


@pytest.mark.parametrize("name", NAMES, ids=ascii)
def test_no_name_becomes_markup(name: str) -> None:
    allowed = {"inline", "text", "code_inline", "softbreak", "strong_open", "strong_close"}
    blocks = re.compile(
        r"(heading|paragraph|bullet_list|list_item|table|thead|tbody|tr|th|td)_(open|close)"
    )
    for token in tokens(markdown.render(hostile(name))):
        assert token.type in allowed or blocks.fullmatch(token.type), token


@pytest.mark.parametrize("name", NAMES, ids=ascii)
def test_what_hosts_would_link_stands_in_code_only(name: str) -> None:
    """Mentions, issues, commits and addresses are linked after Markdown, in running text."""
    linked = re.compile(r"@\w|#\d|\w#\d|GH-\d|https?:|www\.|[0-9a-f]{7}|:\w+:")
    for token in tokens(markdown.render(hostile(name))):
        if token.type == "text":
            assert not linked.search(token.content), token.content


@pytest.mark.parametrize("name", NAMES, ids=ascii)
def test_a_name_is_read_as_it_was_written(name: str) -> None:
    (token,) = [one for one in tokens(f"x {markdown.code(name)} y") if one.type == "code_inline"]

    assert token.content == shown(name)


@pytest.mark.parametrize("name", NAMES, ids=ascii)
def test_a_name_in_a_table_stays_in_its_cell(name: str) -> None:
    table = f"| a | b |\n|---|---|\n| {markdown.cell(name)} | last |\n"
    cells = [one for one in tokens(table) if one.type == "td_open"]
    text = "".join(one.content for one in tokens(table) if one.type in ("code_inline", "text"))

    assert len(cells) == 2
    assert text == f"ab{shown(name)}last"


@pytest.mark.parametrize(
    ("said", "set_as"),
    [
        ("is cut at 8,192 bytes", "is cut at 8,192 bytes"),
        ("lacks `a b.txt`, and c.txt.", "lacks `a b.txt`, and `c.txt`."),
        ("holds `fields`, and (`x`)", "holds `fields`, and (`x`)"),
        ("8. is the eighth", "`8.` is the eighth"),
        ("(see train.py:12), 9 % of it", "(see `train.py:12`), 9 % of it"),
        ("call make() first", "call `make()` first"),
        ("stops: [Errno 22] here", "stops: `[Errno 22]` here"),
        ('by key = "md5(path)", a guess', 'by key `= "md5(path)"`, a guess'),
        ("\u662f\u7a7a\u7684", "\u662f\u7a7a\u7684"),
        ("", ""),
    ],
)
def test_sentences_keep_plain_words_plain(said: str, set_as: str) -> None:
    assert markdown.text(said) == set_as


def test_a_report_of_many_findings_fits_into_a_comment() -> None:
    """GitHub refuses a comment above 65,536 characters as a whole."""
    many = tuple(
        finding(f"image-{number:03}", "is odd " * 100, file="a.jpg", why="x " * 400)
        for number in range(200)
    )
    text = markdown.render(healthy(verdict="no-go", findings=many))

    assert len(text) < 65_536
    assert "there is no room here" in text


def test_a_command_is_set_as_one_piece() -> None:
    assert "`preflight run --elsewhere`" in markdown.render(demo())
    assert "`copy.deepcopy(model, {id(group): group})`" in markdown.render(demo())
