"""What is said of samples that are lost with errors: shares, words, places and edges."""

from __future__ import annotations

from typing import Any

import pytest

from preflight.facts import Flow, Passed, Swallowed
from preflight.finding import Finding, Severity
from preflight.objects.facts import Definition
from preflight.testing import ask

MADE = Definition(file="train.py", line=7)


def swallowed(times: int, **given: Any) -> Swallowed:
    told = {"by": "handler", "error": "KeyError: 'caption'", "caught": "_map", **given}
    return Swallowed(times=times, **told)


def flow(
    entered: int, *lost: Swallowed, out: int | None = None, stage: Any = None, **given: Any
) -> Flow:
    left = entered - sum(one.times for one in lost) if out is None else out
    stages = (
        Passed(call="SimpleShardList", kind="other", unit="shard", pipeline=1, gave=4),
        Passed(call=".tarfile_samples()", kind="group", pipeline=1, gave=entered),
        Passed(
            call=".map(decode)",
            handler_name="warn_and_continue",
            at=Definition(file="train.py", line=41),
            pipeline=1,
            gave=left,
            swallowed=lost,
            **(stage or {}),
        ),
    )
    how = {"name": "train:loader", "defined": MADE, "ended": "over", "batches": 9, **given}
    return Flow(stages=stages, **how)


@pytest.mark.parametrize(
    "sound",
    [
        flow(600),
        flow(600, out=3),
        flow(600, swallowed(5)),
        flow(600, swallowed(590, by="own"), out=600),
        flow(100, swallowed(90), ended="cut"),
        flow(100, swallowed(90), ended="raised", batches=0),
        flow(600, swallowed(590), stage={"told_by": "dataset-survival"}),
        flow(0),
    ],
)
def test_what_loses_nothing_by_errors_is_left_alone(sound: Flow) -> None:
    assert ask("loader-starved", sound) == []


def only(facts: Flow) -> Finding:
    (finding,) = ask("loader-starved", facts)
    return finding


@pytest.mark.parametrize(
    ("times", "severity"),
    [
        (6, Severity.WARNING),
        (60, Severity.WARNING),
        (300, Severity.WARNING),
        (301, Severity.ERROR),
        (600, Severity.ERROR),
    ],
)
def test_it_is_an_error_where_less_than_half_is_left(times: int, severity: Severity) -> None:
    assert only(flow(600, swallowed(times))).severity is severity


def test_numbers_handler_stage_and_reason_are_said() -> None:
    finding = only(flow(600, swallowed(590), out=3))

    assert finding.message == (
        "3 of 600 samples come out; 590 are dropped by warn_and_continue at .map(decode): "
        "KeyError: 'caption'"
    )
    assert (finding.at.file, finding.at.line) == ("train.py", 41)
    assert "295 s for these" in finding.why


def test_the_line_that_raised_is_preferred_and_the_stage_stands_beside_it() -> None:
    finding = only(flow(600, swallowed(590, file="own.py", line=3, function="decode")))

    assert (finding.at.file, finding.at.line) == ("own.py", 3)
    assert [(one.file, one.line) for one in finding.also] == [("train.py", 41)]


def test_several_reasons_are_told_as_a_table() -> None:
    finding = only(flow(600, swallowed(300), swallowed(200, error="ValueError: no", varies=True)))

    assert [one.count for one in finding.rows] == [300, 200]
    assert finding.rows[1].text.endswith("ValueError: no (the first)")


def test_an_epoch_that_was_cut_is_judged_by_what_was_seen() -> None:
    finding = only(flow(250, swallowed(200), ended="cut"))

    assert finding.message.startswith("50 of 250 samples that were seen come out; 200 are")


def test_a_stream_that_stands_is_judged_by_little() -> None:
    finding = only(flow(30, swallowed(30), ended="stuck", batches=0, resampled=True))

    assert finding.message.startswith("0 of 30 samples that were seen come out")
    assert "training stands at step 0" in finding.why


def test_a_handler_that_ends_the_stream_is_an_error_at_the_first_sample() -> None:
    finding = only(flow(600, swallowed(1, goes_on=False)))

    assert finding.severity is Severity.ERROR
    assert "and then its stream ends" in finding.message


def test_batches_that_are_dropped_count_as_their_samples() -> None:
    facts = flow(600)
    more = (
        Passed(call=".batched(20)", kind="batched", unit="batch", pipeline=1, gave=30),
        Passed(call=".map(f)", unit="batch", pipeline=1, gave=10, swallowed=(swallowed(20),)),
    )
    finding = only(
        Flow(name="train:loader", stages=(*facts.stages, *more), ended="over", batches=10)
    )

    assert finding.message.startswith("200 of 600 samples come out; 400 are dropped")
