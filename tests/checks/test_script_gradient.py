"""Parameters that are not trained, as facts tell of them."""

from __future__ import annotations

from preflight.facts import Frame, Idle, Steps, Uncleared
from preflight.findings.finding import Severity
from preflight.job import Job
from preflight.objects.facts import Definition
from preflight.testing import ask
from tests.questions import outcome_of

HEAD = Definition(file="train.py", line=12, line_text="self.head = nn.Linear(16, 2)")


def idle(fault: str = "without gradient", **more: object) -> Idle:
    some: dict[str, object] = {
        "model": "Net",
        "fault": fault,
        "names": ("head.weight", "head.bias"),
        "count": 2,
        "numbers": 34,
        "of": 4,
        "steps": 4,
        "defined": HEAD,
    }
    return Idle(**{**some, **more})  # type: ignore[arg-type]


def steps(*every: Idle, taken: int = 4) -> Steps:
    return Steps(name="train.py", steps=taken, backwards=4, idle=every)


def test_a_script_whose_parameters_are_all_trained_is_left_alone() -> None:
    assert ask("script-gradient", steps()) == []


def test_parameters_without_gradient_are_a_warning_at_the_line_that_keeps_them() -> None:
    (found,) = ask("script-gradient", steps(idle()))

    assert str(found.at) == "train.py:12, Net"
    assert found.severity is Severity.WARNING
    assert found.message == (
        "2 of 4 parameters of Net got no gradient in any of 4 steps: head.weight and head.bias"
    )


def test_parameters_of_no_model_are_told_as_the_optimizers() -> None:
    """As where a head was replaced once the optimizer was made."""
    (found,) = ask("script-gradient", steps(idle(model="Adam", in_model=False)))

    assert found.message.startswith("2 parameters that Adam has, and no model seen, got no")
    assert found.fix == "Make Adam once the model is as it is to be trained."


def test_of_one_step_it_is_said_that_there_was_no_other() -> None:
    (found,) = ask("script-gradient", steps(idle(steps=1)))

    assert "in the one step seen" in found.message


def test_under_distributed_data_parallel_it_is_an_error() -> None:
    (found,) = ask("script-gradient", steps(idle(replicated=True)))

    assert found.severity is Severity.ERROR
    assert "the next step raises" in (found.why or "")
    assert "find_unused_parameters=True" in (found.fix or "")


def test_reentrant_checkpointing_is_named_as_the_cause() -> None:
    at = Frame(file="train.py", line=31, function="forward", text="checkpoint(block, x)")
    (found,) = ask("script-gradient", steps(idle(detached=at)))

    assert "train.py:31 computes activations again" in (found.why or "")
    assert "use_reentrant=False" in (found.fix or "")


def test_parameters_that_no_optimizer_has_are_told_beside_those_without_gradient() -> None:
    both = ask("script-gradient", steps(idle(), idle("without optimizer")))

    assert [one.message.partition(": ")[0] for one in both] == [
        "2 of 4 parameters of Net got no gradient in any of 4 steps",
        "2 of 4 parameters of Net got gradients, and no optimizer has them",
    ]
    assert len({one.fingerprint for one in both}) == 2


def test_without_a_line_of_its_own_the_script_is_the_place() -> None:
    (found,) = ask("script-gradient", steps(idle(defined=Definition())))

    assert str(found.at) == "train.py, Net"


def test_a_script_that_took_no_step_does_not_pass() -> None:
    outcome = outcome_of("script-gradient", steps(taken=0), Job())

    assert outcome.outcome == "skipped"
    assert [one.reason for one in outcome.skipped] == ["no step of an optimizer was seen"]


def test_gradients_that_nobody_clears_are_a_warning_at_the_step() -> None:
    at = Frame(file="train.py", line=30, function="main", text="optimizer.step()")
    kept = Uncleared(optimizer="AdamW", steps=4, at=at)
    facts = Steps(name="train.py", steps=4, backwards=4, uncleared=(kept,))
    (found,) = ask("script-gradient", facts)

    assert str(found.at) == "train.py:30"
    assert found.severity is Severity.WARNING
    assert found.message == "AdamW took 4 steps, and its gradients were never cleared"
    assert found.fix == "Call optimizer.zero_grad() before loss.backward()."
