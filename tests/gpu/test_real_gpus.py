"""On real NVIDIA hardware: what is read of it is true, and reading it leaves CUDA alone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from preflight.host.gpus import NvmlAnswers, ask, ask_this_machine
from preflight.host.nvml_recording import Replay
from preflight.host.read import read_host
from preflight.targets.targets import Host
from tests.recording import record

pytestmark = pytest.mark.gpu

HELD = 1 << 30


@pytest.fixture(autouse=True)
def answer() -> NvmlAnswers:
    """Ask this machine, or skip."""
    found = ask_this_machine()
    if found.state != "ok" or not any(one.error is None for one in found.devices):
        pytest.skip(f"no NVIDIA GPU answers here: {found.state} {found.detail}")
    return found


def cuda_device() -> tuple[str, int]:
    """Ask torch, in a process of its own, for the uuid and the memory of cuda:0, or skip."""
    code = "import torch; p = torch.cuda.get_device_properties(0); print(p.uuid, p.total_memory)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"torch sees no GPU here: {done.stderr.strip().splitlines()[-1]}")
    uuid, total = done.stdout.split()
    return uuid, int(total)


def test_each_gpu_says_what_it_is(answer: NvmlAnswers) -> None:
    for device in answer.devices:
        assert device.error is None
        assert device.name
        assert (device.uuid or "").startswith(("GPU-", "MIG-"))
        assert (device.total or 0) >= (device.free or 0) > 0


def test_a_recording_of_this_machine_answers_as_it_does(answer: NvmlAnswers) -> None:
    """But for the amounts, which may change from one question to the next."""
    import pynvml

    recording = json.loads(json.dumps(record(pynvml)))
    replayed = ask(Replay(recording))

    def lasting(one: NvmlAnswers) -> list[object]:
        return [(d.index, d.uuid, d.name, d.total, d.error) for d in one.devices]

    assert (replayed.state, replayed.driver) == (answer.state, answer.driver)
    assert lasting(replayed) == lasting(answer)


def test_a_recording_serves_as_a_host(tmp_path: Path, answer: NvmlAnswers) -> None:
    import pynvml

    recording = {"nvml": record(pynvml), "environment": {"CUDA_VISIBLE_DEVICES": ""}}
    (tmp_path / "host.json").write_text(json.dumps(recording), "utf-8")

    gpus = read_host(Host(recording="host.json"), str(tmp_path)).gpus

    assert len(gpus.gpus) == len(answer.devices)
    assert not any(gpu.visible for gpu in gpus.gpus)


def test_the_first_gpu_that_is_seen_is_cudas_first(tmp_path: Path) -> None:
    uuid, total = cuda_device()

    first = next(gpu for gpu in read_host(Host(), str(tmp_path)).gpus.gpus if gpu.cuda == 0)

    assert (first.uuid or "").endswith(uuid)
    # What the driver keeps for itself is counted by NVML and not by CUDA.
    assert total <= (first.total or 0) <= total * 1.1


def test_a_gpu_that_is_hidden_is_hidden(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: NvmlAnswers
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", answer.devices[0].uuid or "0")
    assert read_host(Host(), str(tmp_path)).gpus.gpus[0].cuda == 0

    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "-1")
    assert not any(gpu.visible for gpu in read_host(Host(), str(tmp_path)).gpus.gpus)


def test_looking_at_the_host_leaves_cuda_alone(tmp_path: Path) -> None:
    """Neither is the driver's library loaded, nor does the process hold memory of a GPU."""
    code = (
        "import os, sys; from preflight.host.read import read_host;"
        "from preflight.targets.targets import Host; read_host(Host(), '.');"
        "maps = open('/proc/self/maps').read() if os.path.exists('/proc/self/maps') else '';"
        "print('torch' in sys.modules, 'libcuda.so' in maps)"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.split() == ["False", "False"]


def test_memory_that_a_tensor_holds_is_told_with_its_process(tmp_path: Path) -> None:
    cuda_device()
    before = next(gpu for gpu in read_host(Host(), str(tmp_path)).gpus.gpus if gpu.cuda == 0)
    code = (
        f"import torch, sys; t = torch.ones({HELD}, dtype=torch.uint8, device='cuda:0');"
        "torch.cuda.synchronize(); print('held', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        during = next(gpu for gpu in read_host(Host(), str(tmp_path)).gpus.gpus if gpu.cuda == 0)
        holder.communicate("")

    assert (before.free or 0) - (during.free or 0) >= HELD
    holders = {process.pid: process for process in during.processes}
    if holder.pid not in holders:
        seen = "nobody" if not holders else "other numbers"
        pytest.skip(f"the driver tells {seen}: this is a container (pid here: {os.getpid()})")
    assert holders[holder.pid].used is None or (holders[holder.pid].used or 0) >= HELD
