"""What is said of a loader that gives no batch; tests/batches has what becomes of real ones."""

from __future__ import annotations

from dataclasses import replace

import pytest

from preflight.batches.stacks import standing
from preflight.batches.tracebacks import printed
from preflight.facts import FirstBatches, Frame, Standing, Structure, Traceback
from preflight.finding import Severity
from preflight.testing import ask

BATCH = Structure(kind="tensor", dtype="float32", shape=(4, 3), bytes=48)
LINE = Frame(file="train.py", line=12, function="read", text="self.lock.acquire()")
TORCHS = Frame(file="torch 2.13: data.py", line=3, function="_get_data", text="")

STUCK = FirstBatches(
    name="train:make",
    ended="stuck",
    num_workers=2,
    start_method="fork",
    waited=120.0,
    standing=(
        Standing(process="the training process", lines=(TORCHS,)),
        Standing(process="worker 1 of 2", lines=(LINE, TORCHS), users=(LINE,)),
    ),
)


def test_a_loader_that_gives_batches_is_left_alone() -> None:
    enough = FirstBatches(name="train:make", ended="enough", batches=(BATCH,))

    assert ask("loader-stuck", enough) == []
    assert ask("loader-stuck", replace(enough, ended="over")) == []


def test_where_a_worker_stands_is_the_place() -> None:
    (finding,) = ask("loader-stuck", STUCK)

    assert finding.severity is Severity.ERROR
    assert (finding.at.file, finding.at.line) == ("train.py", 12)
    assert "worker 1 of 2 stands in read (`self.lock.acquire()`)" in finding.message


def test_what_another_check_tells_is_not_told_again() -> None:
    assert ask("loader-stuck", replace(STUCK, told_by="dataset-survival")) == []


def test_it_is_told_where_no_stack_could_be_had() -> None:
    (finding,) = ask("loader-stuck", replace(STUCK, standing=()))

    assert finding.message == "gives no batch for 120 s"


def test_a_worker_that_died_is_told_with_what_it_said() -> None:
    said = Traceback(title="Process Process-1:", error="ValueError: no table", frames=(LINE,))
    died = FirstBatches(
        name="train:make", ended="died", num_workers=2, worker=1, exit_status=1, printed=(said,)
    )
    (finding,) = ask("loader-stuck", died)

    assert "its worker 2 ended by itself with exit status 1, which said: ValueError: no table" in (
        finding.message
    )
    assert finding.at.line == 12


def test_of_printed_exceptions_the_last_of_a_chain_is_given() -> None:
    text = (
        "noise\nException in thread Thread-1 (feed):\nTraceback (most recent call last):\n"
        '  File "a.py", line 3, in feed\n    f()\nKeyError: 1\n\n'
        "During handling of the above exception, another exception occurred:\n\n"
        'Traceback (most recent call last):\n  File "a.py", line 5, in feed\n    g()\n'
        "ValueError: two\n  lines\nmore noise\n"
    )
    (one,) = printed(text)

    assert one.title == "Exception in thread Thread-1 (feed):"
    assert one.error == "ValueError: two\n  lines"
    assert [call.lineno for call in one.calls] == [5]


def test_a_traceback_that_was_cut_is_none() -> None:
    assert printed('Traceback (most recent call last):\n  File "a.py", line 3, in f\n') == []


def test_the_stack_of_the_main_thread_is_taken() -> None:
    text = (
        "Fatal Python error: Aborted\n\nThread 0x00007f (most recent call first):\n"
        '  File "b.py", line 1 in other\n\nCurrent thread 0x00007e (most recent call first):\n'
        '  File "a.py", line 9 in inner\n  File "a.py", line 2 in <module>\n'
    )
    found = standing("worker 1 of 1", text, "/job")

    assert [line.function for line in found.lines] == ["<module>", "inner"]


def test_of_a_long_text_the_middle_is_left_out_and_all_is_evidence() -> None:
    error = "ValueError: shapes " + "[3, 224], " * 100 + "see sample 9"
    raised = FirstBatches(name="train:make", ended="raised", error=error)

    [finding] = ask("loader-stuck", raised)

    assert len(finding.message) < 400
    assert "ValueError: shapes [3, 224]" in finding.message
    assert finding.message.endswith("see sample 9")
    assert finding.evidence["error"] == error


@pytest.mark.parametrize(("length", "severity"), [(None, "WARNING"), (2, "WARNING"), (9, "ERROR")])
def test_a_thread_that_ends_an_epoch_early_is_an_error(length: int | None, severity: str) -> None:
    line = Frame(file="train.py", line=9, function="feed", text="q.put(one)")
    dead = Traceback("Exception in thread Thread-1 (feed):", "KeyError: 1", (line,))
    short = FirstBatches(
        name="train:make", ended="over", batches=(BATCH,) * 2, length=length, printed=(dead,)
    )
    (finding,) = ask("loader-stuck", short)

    assert finding.severity.name == severity
    assert ("after 2 batches of 9" in (finding.why or "")) is (length == 9)
