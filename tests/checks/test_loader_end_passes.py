"""How epochs are held against each other: words, places and edges."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from preflight.facts import Among, Epoch, Frame, Standing, Traceback, WholePass
from preflight.finding import Severity
from preflight.objects.facts import Definition
from preflight.testing import ask


def facts(*batches: int | Epoch, **given: Any) -> WholePass:
    epochs = [one if isinstance(one, Epoch) else Epoch(batches=one) for one in batches]
    made = Definition(file="train.py", line=7)
    return WholePass(name="train:loader", defined=made, epochs=tuple(epochs), **given)


def cut(batches: int, ended: str = "cut") -> Epoch:
    return Epoch(batches=batches, ended=ended)


def rows(number: int, batches: int = 10, most: int = 4) -> Epoch:
    return Epoch(batches=batches, rows=number, most_rows=most)


STREAM: dict[str, Any] = {"is_iterable": True, "num_workers": 2}
REPEATED = Among(given=80, alone=40, is_repeated=True)


@pytest.mark.parametrize(
    "sound",
    [
        facts(10, 10, length=10),
        facts(10, 10),
        facts(cut(10), length=10_000),
        facts(cut(10)),
        facts(10, cut(1), length=10),
        facts(11, 11, length=10, **STREAM),
        facts(9, 9, length=10, **STREAM),
        facts(rows(40, 10), rows(40, 14)),
        facts(100, 96),
        facts(10, 30, resampled=True),
        facts(cut(60, "beyond"), length=10, resampled=True),
        facts(rows(40), rows(40), length=10, takes=40, batch_size=4),
        facts(rows(10, most=1), length=10, takes=40, batch_size=4),
        facts(rows(36, 12), length=10, takes=40, batch_size=4, is_iterable=True, num_workers=4),
        facts(rows(40), rows(40), among=None, **STREAM),
    ],
)
def test_an_epoch_like_the_others_is_left_alone(sound: WholePass) -> None:
    assert ask("loader-end", sound) == []


@pytest.mark.parametrize(
    ("seen", "message", "severity"),
    [
        (facts(10, 0), "gives 10 batches in its first epoch, and none in its second", "error"),
        (facts(0), "gives batches once, and none in its second", "error"),
        (facts(10, 20), "gives 10 batches in its first epoch, and 20 in its second", "warning"),
        (facts(10, cut(28, "cut")), "10 batches in its first epoch, and at least 28", "warning"),
        (facts(10, 9, length=9), "gives 10 batches in its first epoch, and 9 in", "warning"),
        (facts(10, 10, length=12), "len() is 12, and 10 batches come", "warning"),
        (facts(13, 13, length=10, **STREAM), "len() is 10, and 13 batches come", "warning"),
        (facts(cut(50, "beyond"), length=20), "len() is 20, and at least 50 batches", "note"),
        (
            facts(rows(37), length=10, takes=40, batch_size=4),
            "leaves out 3 of 40 samples",
            "warning",
        ),
        (
            facts(rows(80, 20), rows(80, 20), among=REPEATED, length=10, **STREAM),
            "gives each sample 2 times in an epoch, once from each worker: 80 samples in place of",
            "warning",
        ),
        (
            facts(10, 10, among=Among(given=42, alone=40, again=2), **STREAM),
            "gives 2 samples more than once among its 2 workers, of 40 that come without workers",
            "warning",
        ),
        (
            facts(10, 10, among=Among(given=40, alone=40, again=9, lacking=9), **STREAM),
            "more than once among its 2 workers, and leaves out 9, of 40 that come without",
            "warning",
        ),
        (
            facts(10, 10, among=Among(given=20, alone=40, lacking=20, unit="batch"), **STREAM),
            "leaves out 20 of 40 batches, which none of its 2 workers gives",
            "warning",
        ),
        (
            facts(10, 10, among=Among(given=40, alone=41, lacking=1), **STREAM),
            "leaves out 1 of 41 samples, which none of its 2 workers gives",
            "note",
        ),
        (
            facts(cut(8, "died"), exit_status=-9, worker=1, **STREAM),
            "gives no batch after 8 batches, since a worker was killed by SIGKILL",
            "error",
        ),
        (
            facts(10, cut(0, "stuck"), waited=4.0),
            "gives no batch for 4 s at the begin of the second epoch",
            "error",
        ),
    ],
)
def test_what_is_wrong_is_told_once(seen: WholePass, message: str, severity: str) -> None:
    (finding,) = ask("loader-end", seen)

    assert message in finding.message
    assert finding.severity is Severity[severity.upper()]
    assert (finding.at.file, finding.at.line) == ("train.py", 7)


def test_an_exception_is_told_at_the_users_own_line() -> None:
    frame = Frame(file="data.py", line=3, function="__getitem__", text="return rows[at]")
    (finding,) = ask(
        "loader-end",
        facts(10, cut(2, "raised"), error="IndexError: 9\nmore", frames=(frame,), worker=0),
    )

    assert finding.message == (
        "raises in a worker after 2 batches of the second epoch: IndexError: 9"
    )
    assert (finding.at.file, finding.at.line) == ("data.py", 3)


DEAD = Traceback(
    title="Exception in thread Thread-3 (feed):",
    error="RuntimeError: no room",
    frames=(Frame(file="feed.py", line=4, function="feed", text="q.put(made(n))"),),
)


@pytest.mark.parametrize(
    "printed",
    [
        DEAD._replace(title="worker 1"),
        DEAD._replace(frames=()),
    ],
    ids=["of no thread", "in no line of the job's"],
)
def test_what_is_printed_beside_an_epoch_is_no_dead_thread(printed: Traceback) -> None:
    assert ask("loader-end", facts(10, 10, length=10, printed=(printed,))) == []


def test_a_thread_that_was_told_of_the_first_batches_is_not_told_again() -> None:
    assert ask("loader-end", facts(10, 10, length=10, printed=(DEAD,), printed_before=True)) == []


@pytest.mark.parametrize(
    ("seen", "why", "severity"),
    [
        (facts(10, 10, length=10), "does not stop the job", "warning"),
        (facts(6, 6, length=16), "ends after 6 batches of 16, without an error", "error"),
        (facts(6, 6, length=16, printed_before=True), "after 6 batches of 16", "error"),
        (facts(16, 6), "ends after 6 batches of 16, without an error", "error"),
        (facts(16, 0), "does not stop the job", "error"),
        (facts(9, 9, length=10, **STREAM), "does not stop the job", "warning"),
    ],
)
def test_a_thread_that_dies_says_why_an_epoch_is_short(
    seen: WholePass, why: str, severity: str
) -> None:
    (finding,) = ask("loader-end", dataclasses.replace(seen, printed=(DEAD,)))

    assert finding.message == (
        "loses its thread Thread-3 (feed), which dies of RuntimeError: no room"
    )
    assert why in (finding.why or "")
    assert finding.severity is Severity[severity.upper()]
    assert (finding.at.file, finding.at.line) == ("feed.py", 4)


def test_a_hang_is_told_where_the_thread_died_that_is_waited_for() -> None:
    waits = Frame(file="train.py", line=25, function="__iter__", text="b = q.get()")
    standing = (Standing(process="the training process", lines=(waits,), users=(waits,)),)
    stuck = facts(cut(6, "stuck"), waited=4.0, standing=standing, printed=(DEAD,))
    (finding,) = ask("loader-end", stuck)

    assert finding.message == (
        "gives no batch for 4 s after 6 batches: its thread Thread-3 (feed) has died of "
        "RuntimeError: no room"
    )
    assert (finding.at.line, [one.line for one in finding.also]) == (4, [25])


def test_an_exception_names_the_line_of_the_thread_that_died_beside() -> None:
    late = Frame(file="train.py", line=25, function="__iter__", text="b = q.get(timeout=9)")
    seen = facts(cut(6, "raised"), error="Empty", frames=(late,), printed=(DEAD,))
    (finding,) = ask("loader-end", seen)

    assert (finding.at.line, [one.line for one in finding.also]) == (25, [4])
