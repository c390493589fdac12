"""gpu-count speaks up when a job has fewer working GPUs than it asks for, and says why."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from preflight.findings.finding import Finding, Location, Severity
from preflight.host.facts import Gpu, Gpus
from preflight.settings.job import Job, Launch
from preflight.testing import ask
from tests.asking import reason
from tests.hosts import host

NO_GPUS = Gpus(state="no-driver", detail="NVML Shared Library Not Found")
MISMATCH = Gpus(state="failed", detail="RM has detected an NVML/RM version mismatch.")


def some(number: int, **setting: Any) -> Gpus:
    """Make this many free GPUs, all of them seen."""
    gpus = tuple(
        Gpu(index=index, name="NVIDIA H100 80GB HBM3", cuda=index) for index in range(number)
    )
    return Gpus(state="ok", gpus=gpus, **setting)


def changed(gpus: Gpus, *numbers: int, **change: Any) -> Gpus:
    """Make the same GPUs, some of them otherwise."""
    return replace(
        gpus,
        gpus=tuple(replace(one, **change) if one.index in numbers else one for one in gpus.gpus),
    )


def asking(gpus: int | None, **origins: str) -> Job:
    """Make a job that asks for this many."""
    origin = {"launch.gpus": origins["at"]} if origins else {}
    return Job(launch=Launch(gpus=gpus), origins=origin)


def findings(gpus: Gpus, job: Job) -> list[Finding]:
    """Ask the check."""
    return ask("gpu-count", host(gpus), job)


@pytest.mark.parametrize("asked", [1, 7, 8])
def test_enough_gpus_are_enough(asked: int) -> None:
    assert findings(some(8), asking(asked)) == []
    assert reason("gpu-count", host(some(8)), asking(asked)) is None


def test_a_lost_or_hidden_gpu_that_nobody_needs_is_nobodys_business() -> None:
    gpus = changed(changed(some(8), 3, error="GPU is lost"), 7, visible=False, cuda=None)

    assert findings(gpus, asking(6)) == []


@pytest.mark.parametrize("gpus", [NO_GPUS, some(0), some(8)], ids=["no driver", "none", "eight"])
def test_where_no_number_is_asked_for_there_is_nothing_to_compare(gpus: Gpus) -> None:
    assert findings(gpus, asking(None)) == []
    assert reason("gpu-count", host(gpus), asking(None)) == "no number of GPUs is asked for"


def test_gpus_of_another_maker_are_not_judged() -> None:
    """A job for eight AMD GPUs is no failure of this machine."""
    amd = Gpus(state="other", detail="AMD (/dev/kfd)")

    assert findings(amd, asking(8)) == []
    assert "AMD" in (reason("gpu-count", host(amd), asking(8)) or "")


def test_a_job_that_runs_elsewhere_is_not_judged_here() -> None:
    job = Job(launch=Launch(gpus=8, elsewhere=True))

    assert findings(NO_GPUS, job) == []
    assert reason("gpu-count", host(NO_GPUS), job) == "the job will run on another machine"


def test_without_nvidia_ml_py_nobody_can_say() -> None:
    gpus = Gpus(state="no-package")

    assert findings(gpus, asking(8)) == []
    assert reason("gpu-count", host(gpus), asking(8)) == "nvidia-ml-py is not installed"


def test_a_machine_without_a_driver_is_found_where_the_number_is_set() -> None:
    (finding,) = findings(NO_GPUS, asking(64, at="preflight.toml:4"))

    assert finding.at == Location(file="preflight.toml", line=4)
    assert finding.severity is Severity.ERROR
    assert finding.message == (
        "the job asks for 64 GPUs; this machine has none "
        "(no NVIDIA driver: NVML Shared Library Not Found)"
    )
    assert "--elsewhere" in (finding.workaround or "")
    assert finding.evidence == {"asked": 64, "here": 0, "usable": 0}


def test_a_number_from_a_flag_has_no_file() -> None:
    (finding,) = findings(some(2), asking(3, at="--gpus"))

    assert finding.at == Location(name="this machine")
    assert finding.message == "the job asks for 3 GPUs; this machine has 2 GPUs"
    assert "start the job where there are enough" in (finding.fix or "")


def test_a_driver_with_no_gpus_has_none() -> None:
    (finding,) = findings(some(0), asking(1))

    assert finding.message == "the job asks for 1 GPU; this machine has none"


def test_a_lost_gpu_is_named() -> None:
    (finding,) = findings(changed(some(8), 3, error="GPU is lost"), asking(8))

    assert finding.message == (
        "the job asks for 8 GPUs; it can use 7 of the 8 GPUs here: "
        "GPU 3 cannot be used (GPU is lost)"
    )
    assert "reset or replaced" in (finding.fix or "")


def test_hidden_gpus_are_counted_with_the_setting_that_hides_them() -> None:
    gpus = changed(some(8, visible="0,1"), *range(2, 8), visible=False, cuda=None)

    (finding,) = findings(gpus, asking(4))

    assert finding.message == (
        "the job asks for 4 GPUs; it can use 2 of the 8 GPUs here: "
        "CUDA_VISIBLE_DEVICES=0,1 hides 6 GPUs"
    )
    assert "CUDA_VISIBLE_DEVICES" in (finding.fix or "")


def test_an_entry_that_names_no_gpu_is_told() -> None:
    hidden = changed(some(2, visible="0,5,1", unmatched=("5",)), 1, visible=False, cuda=None)

    (finding,) = findings(hidden, asking(2))

    assert "no GPU is 5" in finding.message


def test_a_gpu_named_twice_is_told() -> None:
    hidden = changed(some(2, visible="1,1", repeated="1"), 0, 1, visible=False, cuda=None)

    (finding,) = findings(hidden, asking(1))

    assert "names 1 twice, which hides all" in finding.message
    assert "it can use none of the 2 GPUs here" in finding.message


def test_what_the_setting_holds_cannot_move_the_page() -> None:
    gpus = changed(some(1, visible="\x1b[2J"), 0, visible=False, cuda=None)

    (finding,) = findings(gpus, asking(1))

    assert "\x1b" not in finding.message


def test_only_one_mig_instance_is_taken_where_none_is_named() -> None:
    gpus = Gpus(
        state="ok",
        gpus=(
            Gpu(index=0, instance=0, cuda=0),
            Gpu(index=0, instance=1, visible=False),
        ),
    )

    assert findings(gpus, asking(1)) == []
    assert "takes one MIG instance" in findings(gpus, asking(2))[0].message


def test_a_driver_that_does_not_answer_is_an_error_where_gpus_are_asked_for() -> None:
    (finding,) = findings(MISMATCH, asking(1))

    assert finding.severity is Severity.ERROR
    assert "does not answer: RM has detected" in finding.message
    assert "Restart the machine" in (finding.fix or "")


def test_a_driver_that_does_not_answer_is_worth_a_warning_where_none_are() -> None:
    """PyTorch would fall back to the CPU without a word."""
    (finding,) = findings(MISMATCH, asking(None))

    assert finding.severity is Severity.WARNING
    assert finding.at == Location(name="this machine")
    assert reason("gpu-count", host(MISMATCH), asking(None)) is None


def test_the_fingerprint_does_not_depend_on_how_many_are_lacking() -> None:
    one, other = (findings(some(number), asking(8))[0] for number in (2, 5))

    assert one.fingerprint == other.fingerprint
