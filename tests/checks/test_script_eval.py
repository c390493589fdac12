"""What is said of a script that stops in its evaluation."""

from __future__ import annotations

from dataclasses import replace

import pytest

from preflight.facts import Ended, Frame, Met, Raised, Rehearsal
from preflight.testing import ask

LINE = Frame(file="train.py", line=20, function="evaluate", text='numbers["accuracy"]')


def rehearsal(while_at: str) -> Rehearsal:
    raised = Raised(error="KeyError: 'accuracy'", frames=(LINE,), while_at=while_at)
    ended = Ended(how="raised", code=1, raised=raised)
    return Rehearsal(name="train.py", file="train.py", ended=ended)


def test_it_is_told_at_its_own_line() -> None:
    (finding,) = ask("script-eval", rehearsal("evaluation"))

    assert str(finding.at) == "train.py:20"
    assert "trains until its first evaluation" in (finding.why or "")


def test_one_that_others_came_before_is_not_called_the_first() -> None:
    evaluations = Met(what="evaluation", at=LINE, count=2)
    (finding,) = ask("script-eval", replace(rehearsal("evaluation"), met=(evaluations,)))

    assert "trains until a later evaluation than its first" in (finding.why or "")


@pytest.mark.parametrize("while_at", ["setup", "training"])
def test_what_is_raised_elsewhere_is_told_by_another_check(while_at: str) -> None:
    assert ask("script-eval", rehearsal(while_at)) == []
    assert len(ask("script-stopped", rehearsal(while_at))) == 1


def test_a_model_that_is_trained_on_as_it_was_left_is_a_warning() -> None:
    met = Met(what="left in eval", at=LINE, name="1 Dropout of Net", count=3)
    ended = Ended(how="returned", code=0)
    seen = Rehearsal(name="train.py", file="train.py", ended=ended, met=(met,))
    (finding,) = ask("script-eval", seen)

    assert (str(finding.at), finding.severity.name) == ("train.py:20", "WARNING")
    assert finding.message.endswith("for 3 steps of those seen: 1 Dropout of Net")
