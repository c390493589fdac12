"""Losses and weights that are no numbers, as facts tell of them."""

from __future__ import annotations

from dataclasses import replace
from math import nan

from preflight.facts import Frame, NotFinite, Steps
from preflight.findings.finding import Severity
from preflight.job import Job
from preflight.testing import ask
from tests.questions import outcome_of

BACKWARD = Frame(file="train.py", line=20, function="main", text="loss.backward()")
STEP = Frame(file="train.py", line=21, function="main", text="optimizer.step()")
LOSS = NotFinite(step=2, backward=2, value="nan", at=BACKWARD)
WEIGHTS = NotFinite(step=1, names=("Net.head.weight",), count=1, of=4, at=STEP)


def steps(**more: object) -> Steps:
    return Steps(name="train.py", **{"steps": 4, "backwards": 4, "losses": (1.5, nan), **more})  # type: ignore[arg-type]


def test_numbers_are_left_alone() -> None:
    assert ask("script-numbers", steps(losses=(1.5, 1e30))) == []


def test_a_loss_is_told_at_the_line_that_computes_its_gradients() -> None:
    (found,) = ask("script-numbers", steps(loss=LOSS))

    assert (str(found.at), found.severity) == ("train.py:20", Severity.ERROR)
    assert found.message == "computes gradients of a loss that is nan, in step 2 (after 1.5)"


def test_the_line_that_makes_it_is_told_before_the_one_that_comes_upon_it() -> None:
    made = Frame(file="net.py", line=4, function="forward", text="return x.log()")
    (loss,) = ask("script-numbers", steps(loss=replace(LOSS, made=made, by="log")))
    (slope,) = ask("script-numbers", steps(weights=replace(WEIGHTS, made=made, by="Sqrt")))

    assert [str(one.at) for one in (loss, slope)] == ["net.py:4", "net.py:4"]
    assert [str(one) for found in (loss, slope) for one in found.also] == [
        "train.py:20",
        "train.py:21",
    ]
    assert loss.message == "makes a loss that is nan, by log, in step 2 (after 1.5)"
    assert slope.message.startswith(
        "has a slope that is NaN, of Sqrt, which leaves NaN or infinite"
    )


def test_weights_that_were_bad_before_the_loss_are_what_is_told() -> None:
    (found,) = ask("script-numbers", steps(loss=LOSS, weights=WEIGHTS))

    assert (str(found.at), found.severity) == ("train.py:21", Severity.ERROR)
    assert found.message == (
        "leaves NaN or infinite values in 1 of 4 parameters after step 1: Net.head.weight; "
        "losses until then: 1.5"
    )


def test_a_loss_that_was_bad_before_the_weights_is_what_is_told() -> None:
    early = NotFinite(step=1, backward=1, value="inf", at=BACKWARD)
    (found,) = ask("script-numbers", steps(losses=(nan,), loss=early, weights=WEIGHTS))

    assert found.message == "computes gradients of a loss that is inf, in step 1"


def test_one_loss_that_left_no_trace_is_a_warning() -> None:
    """As where the script itself leaves out a step whose gradients are no numbers."""
    (found,) = ask("script-numbers", steps(loss=LOSS, recovered=True))

    assert found.severity is Severity.WARNING


def test_a_script_that_computed_no_gradients_does_not_pass() -> None:
    outcome = outcome_of("script-numbers", steps(steps=0, backwards=0, losses=()), Job())

    assert outcome.outcome == "skipped"


def test_a_loss_of_an_evaluation_is_a_warning_where_all_of_the_training_is_finite() -> None:
    at = Frame(file="train.py", line=30, function="evaluate", text="total += loss.item()")
    evaluation = NotFinite(step=2, names=("total",), value="nan", at=at)
    (alone,) = ask("script-numbers", steps(evaluation=evaluation))
    (spoilt,) = ask("script-numbers", steps(evaluation=evaluation, weights=WEIGHTS))

    assert (str(alone.at), alone.severity) == ("train.py:30", Severity.WARNING)
    assert alone.message.startswith("has total of nan in an evaluation after 2 steps")
    assert str(spoilt.at) == "train.py:21"
