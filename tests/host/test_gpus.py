"""Every way in which NVML can answer, or not answer, becomes a clear value and never a crash."""

# ruff: noqa: N802  stand-ins have pynvml's own names

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from preflight.host.facts import Gpu, GpuProcess
from preflight.host.gpus import NvmlAnswers, ask
from preflight.host.nvml_recording import RecordedError, Replay
from tests.conftest import said_by

RECORDINGS = Path(__file__).parents[1] / "recordings"

H100_MEMORY = 85_520_809_984
A100_MEMORY = 85_899_345_920


def nvml_of(name: str) -> dict[str, Any]:
    """Give the recorded NVML answers of one machine."""
    recorded: dict[str, Any] = json.loads((RECORDINGS / f"{name}.json").read_text("utf-8"))["nvml"]
    return recorded


def ask_replay(recording: dict[str, Any], replay: type[Replay] = Replay) -> NvmlAnswers:
    """Ask a recorded machine, which is shut down after the last question."""
    nvml = replay(recording)
    answer = ask(nvml)
    assert nvml.open == 0
    return answer


def one_gpu(**answers: Any) -> dict[str, Any]:
    """Make a machine of one H100 that answers some questions otherwise."""
    device = nvml_of("eight-h100")["devices"][0] | answers
    return {"driver": "550.54.15", "devices": [device], "processes": {}}


def test_eight_free_gpus_are_told_as_they_are() -> None:
    answer = ask_replay(nvml_of("eight-h100"))

    assert (answer.state, answer.driver) == ("ok", "550.54.15")
    assert [device.index for device in answer.devices] == list(range(8))
    assert {device.name for device in answer.devices} == {"NVIDIA H100 80GB HBM3"}
    assert {device.total for device in answer.devices} == {H100_MEMORY}
    assert len({device.uuid for device in answer.devices}) == 8
    assert all(device.error is None for device in answer.devices)


def test_a_process_is_named_with_what_it_holds() -> None:
    """The one whose program cannot be seen has no name."""
    (device,) = ask_replay(nvml_of("busy-a100")).devices

    assert device.total == A100_MEMORY
    assert device.free == A100_MEMORY - 74_201_432_064
    assert device.processes == (
        GpuProcess(pid=41223, name="python", used=73_612_132_352),
        GpuProcess(pid=41877, name=None, used=0),
    )


def test_a_process_that_computes_and_draws_is_named_once() -> None:
    recording = one_gpu(
        compute=[{"pid": 7, "used": None}],
        graphics=[{"pid": 7, "used": 5 << 20}, {"pid": 8, "used": 2**64 - 1}],
    )

    (device,) = ask_replay(recording).devices

    assert device.processes == (
        GpuProcess(pid=7, name=None, used=5 << 20),
        GpuProcess(pid=8, name=None, used=None),
    )


def test_one_lost_gpu_hides_no_other() -> None:
    answer = ask_replay(nvml_of("lost-gpu"))

    assert answer.state == "ok"
    assert [device.error for device in answer.devices] == [
        "GPU is lost" if index == 3 else None for index in range(8)
    ]
    assert answer.devices[3] == Gpu(index=3, error="GPU is lost")


@pytest.mark.parametrize(
    ("error", "words"),
    [
        ("GPU_IS_LOST", "GPU is lost"),
        ("RESET_REQUIRED", "GPU requires restart"),
        ("UNKNOWN", "Unknown Error"),
    ],
)
def test_a_gpu_that_is_lost_after_its_handle_was_given_is_lost_all_the_same(
    error: str, words: str
) -> None:
    (device,) = ask_replay(one_gpu(memory={"error": error})).devices

    assert (device.total, device.error) == (None, words)


@pytest.mark.parametrize("question", ["memory", "compute", "graphics", "name", "uuid", "mig"])
def test_a_question_that_is_not_supported_leaves_the_gpu_usable(question: str) -> None:
    """Integrated GPUs and virtual ones answer only some."""
    answer = ask_replay(one_gpu(**{question: {"error": "NOT_SUPPORTED"}}))

    assert answer.state == "ok"
    assert answer.devices[0].error is None


@pytest.mark.parametrize(
    ("question", "error", "state", "detail"),
    [
        ("init", "LIBRARY_NOT_FOUND", "no-driver", "NVML Shared Library Not Found"),
        ("init", "DRIVER_NOT_LOADED", "no-driver", "Driver Not Loaded"),
        (
            "init",
            "LIB_RM_VERSION_MISMATCH",
            "failed",
            "RM has detected an NVML/RM version mismatch.",
        ),
        ("init", "NO_PERMISSION", "failed", "Insufficient Permissions"),
        ("init", "UNKNOWN", "failed", "Unknown Error"),
        ("devices", "UNKNOWN", "failed", "Unknown Error"),  # and it is shut down
    ],
)
def test_a_driver_that_does_not_start_or_count_is_told_apart_from_none(
    question: str, error: str, state: str, detail: str
) -> None:
    answer = ask_replay({question: {"error": error}})

    assert answer == NvmlAnswers(state=state, detail=detail)


def test_the_instances_of_a_gpu_stand_in_its_place() -> None:
    """The GPU as a whole, which a container may not ask, can be used by nobody."""
    answer = ask_replay(nvml_of("mig-a100"))

    assert [(device.index, device.instance) for device in answer.devices] == [(0, 0), (0, 1)]
    assert {device.total for device in answer.devices} == {20_937_965_568}
    assert all((device.uuid or "").startswith("MIG-") for device in answer.devices)
    assert answer.cut == {0: nvml_of("mig-a100")["devices"][0]["uuid"]}


def test_a_gpu_in_mig_mode_without_instances_cannot_be_used() -> None:
    (device,) = ask_replay(one_gpu(mig=[1, 1], instances=[None] * 7)).devices

    assert device.error == "MIG mode is on and the GPU has no instances"


def test_a_driver_older_than_a_question_leaves_the_answer_out() -> None:
    """There is an exception in pynvml for it that is no NVMLError."""

    class OldDriver(Replay):
        class NVMLLibraryMismatchError(Exception):
            pass

        def nvmlDeviceGetComputeRunningProcesses(self, handle: Any) -> Any:
            raise self.NVMLLibraryMismatchError

    (device,) = ask_replay(one_gpu(), OldDriver).devices

    assert (device.processes, device.error) == ((), None)


def test_bytes_are_read_as_text() -> None:
    """Before version 11.5, pynvml gave bytes."""

    class Bytes(Replay):
        def nvmlDeviceGetName(self, handle: Any) -> Any:
            return b"Tesla V100-SXM2-16GB"

        def nvmlSystemGetDriverVersion(self) -> Any:
            return b"418.87"

    answer = ask_replay(one_gpu(), Bytes)

    assert (answer.driver, answer.devices[0].name) == ("418.87", "Tesla V100-SXM2-16GB")


def test_a_name_of_a_process_that_is_no_utf_8_is_left_out() -> None:
    """Names are decoded strictly by pynvml."""

    class Foreign(Replay):
        def nvmlSystemGetProcessName(self, pid: int) -> str:
            return b"tr\xe4ning".decode()

    (device,) = ask_replay(one_gpu(compute=[{"pid": 9, "used": 1}]), Foreign).devices

    assert device.processes == (GpuProcess(pid=9, name=None, used=1),)


def test_a_program_is_named_without_its_folder() -> None:
    for path in ("/usr/bin/python3", "C:\\Python\\python3", "python3"):
        recording = one_gpu(compute=[{"pid": 9, "used": 1}]) | {"processes": {"9": path}}

        assert ask_replay(recording).devices[0].processes[0].name == "python3"


def test_an_exception_that_is_not_nvmls_goes_up() -> None:
    """A bug of ours must not look like an absent driver."""

    class Broken(Replay):
        def nvmlDeviceGetName(self, handle: Any) -> str:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        ask(Broken(one_gpu()))


def test_the_recorded_errors_are_those_of_pynvml() -> None:
    """By number and by words, so that a replay takes the same ways as a machine."""
    import pynvml

    for name in ("LIBRARY_NOT_FOUND", "DRIVER_NOT_LOADED", "GPU_IS_LOST", "NOT_SUPPORTED"):
        recorded = RecordedError(name)

        assert recorded.value == getattr(pynvml, f"NVML_ERROR_{name}")
        assert str(recorded) == str(pynvml.NVMLError(recorded.value))


def test_asking_imports_neither_torch_nor_cuda() -> None:
    code = (
        "from preflight.host.gpus import ask_this_machine; ask_this_machine();"
        "print(sorted({'torch', 'numpy'} & set(sys.modules)))"
    )

    assert said_by(code) == "[]"
