"""What is said of a script that ends before it has trained."""

from __future__ import annotations

import pytest

from preflight.facts import Ended, Frame, Met, Rehearsal
from preflight.testing import ask

LINE = Frame(file="train.py", line=9, function="main", text="for batch in loader:")
RETURNED = Ended(how="returned", code=0)


def rehearsal(ended: Ended = RETURNED, **more: object) -> Rehearsal:
    return Rehearsal(name="train.py", file="train.py", ended=ended, **more)  # type: ignore[arg-type]


def test_a_script_that_does_nothing_is_told() -> None:
    (finding,) = ask("script-idle", rehearsal())

    assert str(finding.at) == "train.py"


def test_it_is_told_at_the_loader_that_gave_nothing() -> None:
    (finding,) = ask("script-idle", rehearsal(met=(Met(what="loader", at=LINE, count=0),)))

    assert str(finding.at) == "train.py:9"


def test_a_batch_is_enough_and_so_is_a_step_without_a_loader() -> None:
    assert ask("script-idle", rehearsal(met=(Met(what="loader", at=LINE),))) == []
    assert ask("script-idle", rehearsal(steps=1)) == []


@pytest.mark.parametrize(
    "ended", [Ended(how="raised", code=1), Ended(how="exited", code=2), Ended(how="stopped")]
)
def test_an_end_that_another_check_tells_is_left_alone(ended: Ended) -> None:
    assert ask("script-idle", rehearsal(ended)) == []
