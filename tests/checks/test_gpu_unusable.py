"""gpu-unusable tells what is made on a GPU that this machine does not have."""

from __future__ import annotations

from dataclasses import replace

import pytest

from preflight.finding import Location, Scope
from preflight.findings.registry import built_in
from preflight.job import Job, Launch
from preflight.testing import ask
from preflight.users_code.facts import Frame, Lack, Unbuilt

FRAME = Frame(file="model.py", line=8, function="make", text='return net.to("cuda")')
FACTS = Unbuilt(
    name="model:make",
    step="call",
    error="AssertionError: Torch not compiled with CUDA enabled",
    frames=(FRAME,),
    lacks=Lack(kind="gpu", name="CUDA"),
)


def test_the_line_that_asks_for_it_is_the_place() -> None:
    (finding,) = ask("gpu-unusable", FACTS)

    assert finding.at == Location(file="model.py", line=8, name="model:make")
    assert finding.message.startswith("needs CUDA, which this machine does not have: Assert")
    assert 'net.to("cuda")' in (finding.why or "")
    assert "--elsewhere" in (finding.workaround or "")


def test_what_torch_advises_does_not_stand_beside_our_own_advice() -> None:
    error = "RuntimeError: Found no NVIDIA driver on your system. Please check that you have one."

    (finding,) = ask("gpu-unusable", replace(FACTS, error=error))

    assert finding.message.endswith(": RuntimeError: Found no NVIDIA driver on your system")


def test_it_is_the_machine_that_is_at_fault() -> None:
    assert built_in()["gpu-unusable"].scope is Scope.MACHINE


def test_nobody_else_tells_it_again() -> None:
    assert ask("target-unbuildable", FACTS) == []


def test_of_another_machine_nothing_is_known() -> None:
    assert ask("gpu-unusable", FACTS, Job(launch=Launch(elsewhere=True))) == []


@pytest.mark.parametrize("lacks", [None, Lack(kind="package", name="timm")])
def test_what_was_raised_for_another_reason_is_left_alone(lacks: Lack | None) -> None:
    facts = Unbuilt(name="model:make", step="call", error="ValueError: cuda", lacks=lacks)

    assert ask("gpu-unusable", facts) == []
