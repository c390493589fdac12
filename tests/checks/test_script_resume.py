"""What is said of a script that does not go on from what it has saved."""

from __future__ import annotations

import pytest

from preflight.facts import Difference, Frame, Resumed
from preflight.finding import Severity
from preflight.testing import ask
from tests.asking import reason
from tests.checks.test_script_save import LINE, REFUSED

LOADS = Frame(file="train.py", line=4, function="main", text="torch.load(args.resume)")


def resumed(**more: object) -> Resumed:
    given = {"words": "--resume last.pt", "saved_at": LINE, "steps": 2, **more}
    return Resumed(name="train.py", **given)  # type: ignore[arg-type]


def test_one_that_goes_on_is_left_alone() -> None:
    assert ask("script-resume", resumed()) == []
    assert ask("script-resume", resumed(how="stopped")) == []


@pytest.mark.parametrize("how", ["late", "died"])
def test_one_that_nobody_could_judge_is_no_fault(how: str) -> None:
    assert ask("script-resume", resumed(how=how, code=-9)) == []


def test_one_that_was_not_rehearsed_is_no_pass() -> None:

    facts = resumed(unasked="--resume is given already")

    assert reason("script-resume", facts) == "--resume is given already"
    assert ask("script-resume", facts) == []


def test_what_it_raises_is_told_at_its_own_line() -> None:
    (finding,) = ask(
        "script-resume", resumed(how="raised", error="KeyError: 'optimizer'", frames=(LINE, LOADS))
    )

    assert str(finding.at) == "train.py:4"
    assert finding.message == (
        "raises KeyError: 'optimizer' when it is started again with --resume last.pt"
    )
    assert [str(one) for one in finding.also] == ["train.py:9"]


def test_what_torch_load_refuses_is_named_without_its_advice() -> None:
    (finding,) = ask("script-resume", resumed(how="raised", error=REFUSED, frames=(LOADS,)))

    assert "weights_only refuses argparse.Namespace when" in finding.message
    assert "weights_only=False" in (finding.fix or "")


@pytest.mark.parametrize(("how", "code", "said"), [("stuck", None, "hangs"), ("exited", 3, "code")])
def test_one_that_does_not_come_to_its_first_step_is_told(
    how: str, code: int | None, said: str
) -> None:
    (finding,) = ask("script-resume", resumed(how=how, code=code))

    assert said in finding.message


def test_what_is_another_is_told_by_how_bad_it_is() -> None:
    facts = resumed(
        differences=(
            Difference(what="optimizer", text="goes on with an empty state of AdamW", at=LOADS),
            Difference(what="data", text="goes on with the first batch", is_fault=False),
        )
    )
    fault, lesser = ask("script-resume", facts)

    assert (fault.severity, lesser.severity) == (Severity.ERROR, Severity.WARNING)
    assert str(fault.at) == "train.py:4"
    assert str(lesser.at) == "train.py:9"
    assert fault.fingerprint != lesser.fingerprint
