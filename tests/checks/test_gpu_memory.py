"""gpu-memory names the GPUs that are too small or too full for the job, and who fills them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from preflight.findings.finding import Finding, Location, Severity
from preflight.host.facts import Gpu, GpuProcess, Gpus, HostFacts
from preflight.settings.job import Job, Launch
from preflight.testing import ask
from tests.asking import reason
from tests.hosts import host

GB = 10**9
H100 = 85_520_809_984
RESERVED = 569_114_624


def gpu(index: int, *, used: int = RESERVED, **change: Any) -> Gpu:
    """Make an H100 of which so much is used."""
    free = Gpu(index=index, name="NVIDIA H100 80GB HBM3", total=H100, free=H100 - used, cuda=index)
    return replace(free, **change)


def machine(*gpus: Gpu, state: str = "ok", **setting: Any) -> HostFacts:
    """Make a machine of these GPUs."""
    return host(Gpus(state=state, gpus=gpus, **setting))


def needing(vram: int | None, gpus: int | None = None) -> Job:
    """Make a job that needs so much on each of so many."""
    return Job(launch=Launch(vram=vram, gpus=gpus))


def findings(facts: HostFacts, job: Job) -> list[Finding]:
    """Ask the check."""
    return ask("gpu-memory", facts, job)


def test_free_gpus_are_free_enough() -> None:
    eight = machine(*(gpu(index) for index in range(8)))

    assert findings(eight, needing(80 * GB, gpus=8)) == []
    assert reason("gpu-memory", eight, needing(80 * GB, gpus=8)) is None


def test_exactly_enough_is_enough() -> None:
    assert findings(machine(gpu(0)), needing(H100 - RESERVED)) == []


def test_a_busy_gpu_that_the_job_does_not_take_is_left_alone() -> None:
    """A job of one GPU takes the first that it sees."""
    busy = (gpu(0), gpu(1, used=80 * GB))

    assert findings(machine(*busy), needing(60 * GB, gpus=1)) == []


def test_a_busy_gpu_that_is_hidden_is_left_alone() -> None:
    busy = (gpu(0, used=80 * GB, visible=False, cuda=None), gpu(1, cuda=0))

    assert findings(machine(*busy, visible="1"), needing(60 * GB, gpus=1)) == []


def test_which_gpus_are_the_first_is_said_by_cuda_visible_devices() -> None:
    gpus = (gpu(0, used=80 * GB, cuda=1), gpu(1, cuda=0))

    assert findings(machine(*gpus, visible="1,0"), needing(60 * GB, gpus=1)) == []
    assert len(findings(machine(*gpus, visible="1,0"), needing(60 * GB, gpus=2))) == 1


def test_a_gpu_whose_memory_is_not_told_is_not_judged() -> None:
    """Integrated GPUs share the machine's."""
    unknown = machine(gpu(0, total=None, free=None))

    assert findings(unknown, needing(60 * GB)) == []
    assert "does not say" in (reason("gpu-memory", unknown, needing(60 * GB)) or "")


@pytest.mark.parametrize(
    "facts",
    [machine(), machine(state="no-driver"), machine(gpu(0, error="GPU is lost", free=None))],
    ids=["no GPU", "no driver", "lost"],
)
def test_memory_that_no_gpu_has_is_found(facts: HostFacts) -> None:
    """Where no number of GPUs is asked for, nobody else says it."""
    (finding,) = findings(facts, needing(40 * GB))

    assert "needs 40.0 GB of GPU memory; this machine has no GPU" in finding.message


@pytest.mark.parametrize(
    ("facts", "job", "why"),
    [
        (machine(gpu(0)), needing(None, gpus=1), "no amount of GPU memory is asked for"),
        (machine(), needing(GB, gpus=1), "no GPU here"),
        (machine(state="no-driver"), needing(GB, gpus=8), "no GPU here"),
        (machine(gpu(0, error="GPU is lost", free=None)), needing(GB, gpus=1), "no GPU here"),
        (machine(state="no-package"), needing(GB), "nvidia-ml-py is not installed"),
        (
            machine(gpu(0, used=H100)),
            Job(launch=Launch(vram=GB, elsewhere=True)),
            "the job will run on another machine",
        ),
    ],
    ids=["nothing asked", "no GPU", "no driver", "lost", "no package", "elsewhere"],
)
def test_where_there_is_nothing_to_compare_the_reason_is_said(
    facts: HostFacts, job: Job, why: str
) -> None:
    assert findings(facts, job) == []
    assert reason("gpu-memory", facts, job) == why


def test_who_holds_the_memory_is_named() -> None:
    holder = GpuProcess(pid=41223, name="python", used=73_612_132_352)
    idle = GpuProcess(pid=41877, name=None, used=0)
    busy = gpu(0, used=74 * GB, processes=(holder, idle))

    (finding,) = findings(machine(busy), needing(60 * GB, gpus=1))

    assert finding.message == (
        "has 11.5 GB of GPU memory free, and the job needs 60.0 GB: "
        "process 41223 (python) with 73.6 GB holds the rest"
    )
    assert finding.at == Location(name="GPU 0 (NVIDIA H100 80GB HBM3)")
    assert finding.severity is Severity.ERROR
    assert "cuda:0" in (finding.why or "")


def test_of_many_processes_a_few_are_named() -> None:
    crowd = tuple(GpuProcess(pid=pid, name=None, used=None) for pid in range(100, 110))

    (finding,) = findings(machine(gpu(0, used=80 * GB, processes=crowd)), needing(60 * GB))

    assert "process 103 and 6 others hold the rest" in finding.message


def test_memory_that_nobody_seems_to_hold_is_said_to_be_held_by_somebody() -> None:
    """A container does not see the processes of others."""
    (finding,) = findings(machine(gpu(0, used=80 * GB)), needing(60 * GB))

    assert "held by processes that cannot be seen from here" in finding.message


def test_a_gpu_that_is_too_small_is_told_apart_from_a_busy_one() -> None:
    (finding,) = findings(machine(gpu(0)), needing(100 * GB))

    assert "it has 85.5 GB in all" in finding.message
    assert "larger GPUs" in (finding.fix or "")


def test_sizes_that_look_alike_are_said_to_the_byte() -> None:
    (finding,) = findings(machine(gpu(0)), needing(H100 - RESERVED + 1))

    assert "has 84,951,695,360 bytes of GPU memory free" in finding.message


def test_the_first_gpu_is_taken_though_another_of_its_model_is_free() -> None:
    (finding,) = findings(machine(gpu(0, used=80 * GB), gpu(1)), needing(60 * GB, gpus=1))

    assert finding.severity is Severity.ERROR


def test_each_gpu_is_a_finding_of_its_own() -> None:
    facts = machine(*(gpu(index, used=80 * GB) for index in range(3)))

    found = findings(facts, needing(60 * GB))

    assert [one.at.name for one in found] == [
        f"GPU {index} (NVIDIA H100 80GB HBM3)" for index in range(3)
    ]
    assert len({one.fingerprint for one in found}) == 3


def test_among_several_models_it_may_be_another_gpu_that_is_taken() -> None:
    """CUDA counts the fastest first, and which that is cannot be seen from here."""
    small = gpu(0, name="Quadro P400", total=2 * GB, free=2 * GB)
    facts = machine(small, gpu(1))

    (finding,) = findings(facts, needing(60 * GB, gpus=1))

    assert finding.severity is Severity.WARNING
    assert "fastest first" in (finding.why or "")


@pytest.mark.parametrize(
    ("gpus", "setting"),
    [(1, {"device_order": "PCI_BUS_ID"}), (2, {}), (1, {"visible": "GPU-1,GPU-2"})],
    ids=["counted by the bus", "both are needed", "named by uuid"],
)
def test_among_several_models_it_is_certain_where(gpus: int, setting: dict[str, str]) -> None:
    small = gpu(0, name="Quadro P400", total=2 * GB, free=2 * GB)

    (finding,) = findings(machine(small, gpu(1), **setting), needing(60 * GB, gpus=gpus))

    assert finding.severity is Severity.ERROR


def test_names_cannot_move_the_page() -> None:
    holder = GpuProcess(pid=1, name="\x1b[2Jpython", used=GB)
    facts = machine(gpu(0, used=80 * GB, processes=(holder,)))

    (finding,) = findings(facts, needing(60 * GB))

    assert "\x1b" not in finding.message


def test_an_instance_is_named() -> None:
    part = gpu(0, name="A100 MIG 3g.20gb", total=20 * GB, free=20 * GB, instance=1)

    (finding,) = findings(machine(part), needing(60 * GB))

    assert finding.at.name == "GPU 0 instance 1 (A100 MIG 3g.20gb)"
