"""Advice that is the same for all places of a group stands once, under all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from preflight.findings.finding import Finding, Location
from preflight.render import markdown, terminal
from tests.render.jobs import demo
from tests.render.sample import finding, outcome

CHECK = "sample-unpaired"

WRONG_NAME = "has no caption: {0}.TXT is there, and {0}.txt is what is read"
LACKING = "has no caption: there is no {0}.txt"


def page_of(found: Sequence[Finding], *, verbose: int = 0) -> str:
    report = replace(demo(), findings=tuple(found), checks=(outcome(CHECK, "unpaired"),), more={})
    return terminal.render(report, verbose=verbose)


def found(message: str, fix: str, names: Sequence[str] = "abcdef", **more: str) -> list[Finding]:
    """Make a finding of each name."""
    return [
        finding(CHECK, message.format(one), file=f"data/{one}.jpg", fix=fix.format(one), **more)
        for one in names
    ]


@pytest.mark.parametrize("verbose", [0, 1])
def test_a_fix_of_which_only_the_name_differs_stands_once(verbose: int) -> None:
    page = page_of(found(WRONG_NAME, "Rename {0}.TXT to {0}.txt."), verbose=verbose)

    assert page.count("fix  ") == 1
    assert "fix  Rename a.TXT to a.txt, and the others alike.\n" in page


def test_markdown_says_it_once_too() -> None:
    report = replace(demo(), findings=tuple(found(WRONG_NAME, "Rename {0}.TXT to {0}.txt.")))

    text = markdown.render(report)

    assert text.count("**Fix**") == 1
    assert ", and the others alike." in text


def test_one_finding_alone_names_no_others() -> None:
    page = page_of(found(WRONG_NAME, "Rename {0}.TXT to {0}.txt.", "a"))

    assert "fix  Rename a.TXT to a.txt.\n" in page


def test_each_sort_of_advice_stands_once() -> None:
    """And a text that is the same word for word needs no others."""
    some = found(WRONG_NAME, "Rename {0}.TXT to {0}.txt.", "ab")
    others = found(LACKING, "Write the caption.", "cd")

    page = page_of([*some, *others])

    assert page.count("fix  ") == 2
    assert "fix  Rename a.TXT to a.txt, and the others alike.\n" in page
    assert "fix  Write the caption.\n" in page


def test_advice_that_differs_in_more_than_names_is_told_of_each() -> None:
    """What the finding does not say itself, its reader has to be told."""
    page = page_of(
        [
            finding(CHECK, "RANK is read, and not set", file="a.py", fix="Set RANK=0."),
            finding(CHECK, "WORLD_SIZE is read, and not set", file="a.py", fix="Set WORLD_SIZE=1."),
        ]
    )

    assert "fix  Set RANK=0.\n" in page
    assert "fix  Set WORLD_SIZE=1.\n" in page


def test_what_is_to_be_copied_is_told_of_each() -> None:
    page = page_of(found(LACKING, "Fetch it:  git lfs pull --include={0}.txt", "ab"))

    assert "git lfs pull --include=a.txt" in page
    assert "git lfs pull --include=b.txt" in page


def test_words_that_one_message_happens_to_have_part_no_advice() -> None:
    same = "Write the caption, or leave the image out."
    page = page_of([*found("is an image alone", same, "a"), *found("stands alone", same, "b")])

    assert page.count(same) == 1


REASON = "to_tuple raises at the first, or a handler drops each without a word."


def of_shards(*shares: str, reason: str = REASON) -> list[Finding]:
    return [
        finding(CHECK, "has no caption", file=f"data/{number}.tar", why=f"{share}: {reason}")
        for number, share in enumerate(shares)
    ]


@pytest.mark.parametrize("verbose", [0, 1])
def test_a_reason_stands_once_where_only_the_shares_differ(verbose: int) -> None:
    shares = ["6 of 12 samples here", "3 of 12 samples here", "1 of 8 samples here"]

    page = page_of(of_shards(*shares), verbose=verbose)

    assert page.count("raises at the first") == 1
    assert "why  to_tuple raises" in page
    assert [page.count(f"why  {share}.\n") for share in shares] == [1, 1, 1]


def test_markdown_says_such_a_reason_once_too() -> None:
    found = of_shards("6 of 12 samples here", "3 of 12 samples here")

    text = markdown.render(replace(demo(), findings=tuple(found)))

    assert text.count("raises at the first") == 1
    assert "**Why**: 6 of 12 samples here." in text


def test_a_reason_without_its_share_begins_as_a_sentence() -> None:
    page = page_of(of_shards("6 of 12 samples here, judged", "1 of 8 here", reason="they are out."))

    assert "why  They are out.\n" in page
    assert "why  6 of 12 samples here, judged.\n" in page


def test_a_share_that_is_the_same_stays_with_its_reason() -> None:
    page = page_of(of_shards("6 of 12 samples here", "6 of 12 samples here"))

    assert page.count("why  6 of 12 samples here: to_tuple raises at the first") == 1


def test_reasons_that_differ_keep_their_shares() -> None:
    one, two = "6 of 12 samples here", "3 of 12 samples here"

    page = page_of([*of_shards(one), *of_shards(two, reason="they are passed over.")])

    assert f"why  {one}: to_tuple raises" in page
    assert f"why  {two}: they are passed over." in page


SPAWNED = "The workers are spawned: the loop stops here."


def of_loader(*each: tuple[str, str, str]) -> list[Finding]:
    """Make a finding of each message, its own reason, and its fix; the rest of it is the same."""
    return [
        finding(CHECK, said, file="a.py", line=line, name=f"at.{line}", why=why, fix=fix)
        for line, (said, why, fix) in enumerate(each, 1)
    ]


LAMBDA = "cannot be sent: lambda", f"A lambda has no name. {SPAWNED}", "Name it."
LOCK = "cannot be sent: lock", f"A lock is of one process. {SPAWNED}", "Make it later."


@pytest.mark.parametrize("verbose", [0, 1])
def test_a_sentence_of_a_reason_stands_once(verbose: int) -> None:
    """That the other sentence differs does not make it stand at each place."""
    page = page_of(of_loader(LAMBDA, LOCK, LAMBDA, LOCK), verbose=verbose)

    assert page.count("A lambda has no name.\n") == page.count("A lock is of one process.\n") == 1
    assert page.count("The workers are spawned") == 1
    assert page.index("A lock is of") < page.index("why  The workers are spawned")


def test_all_sentences_stand_together_where_all_are_the_same() -> None:
    page = page_of(of_loader(LAMBDA, LAMBDA, LAMBDA))

    assert page.count(f"why  A lambda has no name. {SPAWNED}\n") == 1


def test_what_an_exception_says_is_told_as_a_whole() -> None:
    """Though a sentence of it is said of others, too."""
    sharded, replicated = (
        (
            "cannot be copied",
            f"The copy stops: {who} does not support it. Save it instead.",
            "Leave.",
        )
        for who in ("FSDP", "DDP")
    )

    page = page_of(of_loader(sharded, sharded, replicated))

    assert page.count("FSDP does not support it. Save it instead.") == 1
    assert page.count("DDP does not support it. Save it instead.") == 1


def test_markdown_says_a_sentence_once_too() -> None:
    report = replace(demo(), findings=tuple(of_loader(LAMBDA, LOCK)))

    assert markdown.render(report).count("The workers are spawned") == 1


def test_what_most_of_a_group_share_stands_once_under_these() -> None:
    """And it is said that it is of these, since others follow or stand before."""
    other = "cannot be sent: file", "A file is open. Its workers are forked.", "Open it later."

    page = page_of(of_loader(LAMBDA, LOCK, LAMBDA, other))

    assert page.count("The workers are spawned") == 1
    assert page.index("of these 3:\n") < page.index("why  The workers are spawned")
    assert page.count("Its workers are forked") == 1
    assert (
        markdown.render(
            replace(demo(), findings=tuple(of_loader(LAMBDA, LOCK, LAMBDA, other)))
        ).count("of these 3:")
        == 1
    )


def test_a_message_that_comes_again_is_not_said_again_beside_another_name() -> None:
    page = page_of(of_loader(LAMBDA, LAMBDA, LOCK))

    assert "at.1: cannot be sent: lambda\n" in page
    assert "at.2: the same\n" in page
    assert "at.3: cannot be sent: lock\n" in page


def test_ten_thousand_reasons_of_their_own_are_told_one_by_one() -> None:
    """A group may be as long as a check may have findings; no place is held against all others."""
    each = [(f"is bad {n}", f"Reason {n} is its own. {SPAWNED}", f"Do {n} x.") for n in range(5000)]

    page = page_of(of_loader(*each), verbose=1)

    assert page.count("is its own.") == 5000
    assert page.count("The workers are spawned") == 1


def test_two_models_of_one_class_are_told_once_with_the_reason_of_each() -> None:
    """Each is a finding, at the same places."""
    said = "is a lock", "is a file"
    found = [
        finding(CHECK, text, file="a.py", line=line, why=f"It is kept. The copy of {model} stops.")
        for model in ("net", "teacher")
        for line, text in enumerate(said, 1)
    ]
    page = page_of(found)

    assert [page.count(text) for text in (*said, "It is kept.")] == [1, 1, 1]
    assert page.index("a file") < page.index("copy of net stops") < page.index("copy of teacher")


def test_the_same_place_is_not_told_again_with_all_that_is_beside_it() -> None:
    also = (Location(file="a.py", line=1, name="blocks[1]"),)
    page = page_of([finding(CHECK, "is a lock", file="a.py", line=1, also=also)] * 2)

    assert page.count("also blocks[1]") == 1
    assert "the same\n" in page
