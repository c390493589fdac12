"""Looks at the machine: its GPUs, its memory and processors, its disk, and what a launcher set."""

from __future__ import annotations

import contextlib
import json
import os
import platform
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from preflight.host.environment import launcher_variables
from preflight.host.facts import Gpus, HostFacts
from preflight.host.gpus import NvmlAnswers, ask, ask_this_machine
from preflight.host.launch_scripts import launch_commands
from preflight.host.limits import control_group_limits, least, physical_memory, usable_cpus
from preflight.host.nvml_recording import Replay
from preflight.host.process_counts import accelerate_config, of_trainer
from preflight.host.room import open_files, shared_memory
from preflight.host.visible_gpus import visible_devices
from preflight.kinds.asked import Asked, MistypedError
from preflight.targets.targets import Host
from preflight.values.listing import upward
from preflight.values.names import name_of
from preflight.values.small_files import read_small
from preflight.values.this_process import processors
from preflight.values.wire import from_wire

# What most failures at start-up have to do with.
_PACKAGES = ("torch", "webdataset", "numpy", "pillow", "safetensors", "nvidia-ml-py")

# What a file raises that is no recording: where it is read, or where its answers are used.
_NO_RECORDING = (
    ValueError,
    TypeError,
    LookupError,
    AttributeError,
    ArithmeticError,
    RecursionError,
)


def look(asked: Asked) -> Iterator[HostFacts]:
    """Look at the machine that is asked about.

    Raises:
        MistypedError: what should be a recording is none.
    """
    host = from_wire(Host, asked.wire)
    try:
        if host.recording is not None:
            read_small(os.path.join(asked.root, host.recording))
        yield read_host(host, asked.root)
    except _NO_RECORDING as error:
        if host.recording is None:
            raise
        name = name_of(host.recording, asked.root)
        text = f"host={name}: this file is no recording of a machine ({error})"
        raise MistypedError(text) from error


def read_host(host: Host, root: str) -> HostFacts:
    """Look at this machine, or at the recorded one.

    A recording is a JSON file of two objects: `nvml`, as preflight.host.nvml_recording has it,
    and `environment`, name to value; without them the machine has no driver, or nothing is set.
    It may have a third one, `room`: `shm_size`, `shm_free` and `open_files`; and `ranks`, what
    others have seen, by their numbers (preflight.launched.facts.RankSeen).

    Raises:
        OSError: the recording cannot be read.
        ValueError: it is no recording.
    """
    recording: Mapping[str, Any] | None = None
    if host.recording is None:
        environment: Mapping[str, str] = os.environ
        answer = _other_maker(ask_this_machine())
    else:
        recording = _read_recording(os.path.join(root, host.recording))
        environment = recording["environment"]
        answer = ask(Replay(recording["nvml"]))
    limits = control_group_limits()
    total, available = physical_memory()
    return HostFacts(
        system=platform.system(),
        python=platform.python_version(),
        cpus=usable_cpus(processors(), limits.cpus),
        memory=least(total, limits.memory),
        available=least(available, limits.memory_free),
        disk_free=free_bytes(root),
        gpus=_gpus(answer, environment),
        environment=launcher_variables(environment),
        recorded=host.recording is not None,
        packages=_installed(),
        accelerate=accelerate_config(environment, root, home=host.recording is None),
        trainer=of_trainer(environment, root),
        commands=tuple(launch_commands(root, environment)),
        **_room(recording),
    )


def _read_recording(path: str) -> dict[str, Any]:
    with open(path, encoding="utf-8") as file:
        recording = json.load(file)
    known = {
        "nvml": {"init": {"error": "LIBRARY_NOT_FOUND"}},
        "environment": {},
        "room": {},
        "ranks": {},
    }
    if not isinstance(recording, dict) or not set(recording) <= set(known):
        raise ValueError("it would be an object of `nvml`, `environment` and `room`")
    if not all(isinstance(value, dict) for value in recording.values()):
        raise ValueError("its `nvml`, `environment` and `room` would be objects")
    return {**known, **recording}


def _room(recording: Mapping[str, Any] | None) -> dict[str, int | None]:
    """Say how much room there is for batches on their way from workers."""
    if recording is not None:
        return {
            name: recording["room"].get(name) for name in ("shm_size", "shm_free", "open_files")
        }
    size, free = shared_memory()
    return {"shm_size": size, "shm_free": free, "open_files": open_files()}


def _gpus(answer: NvmlAnswers, environment: Mapping[str, str]) -> Gpus:
    setting = environment.get("CUDA_VISIBLE_DEVICES")
    seen = visible_devices(answer.devices, setting, answer.cut)
    numbers = {place: cuda for cuda, place in enumerate(seen.places)}
    return Gpus(
        state=answer.state,
        detail=answer.detail,
        driver=answer.driver,
        gpus=tuple(
            replace(gpu, visible=place in numbers, cuda=numbers.get(place))
            for place, gpu in enumerate(answer.devices)
        ),
        visible=setting,
        unmatched=seen.unmatched if answer.devices else (),
        repeated=seen.repeated,
        device_order=environment.get("CUDA_DEVICE_ORDER"),
    )


def _other_maker(answer: NvmlAnswers) -> NvmlAnswers:
    """Tell a machine without a GPU from one whose GPU is not NVIDIA's."""
    if answer.state != "no-driver":
        return answer
    if os.path.exists("/dev/kfd"):  # the kernel's driver for AMD's compute GPUs
        return NvmlAnswers(state="other", detail="AMD (/dev/kfd)")
    if platform.system() == "Darwin" and platform.machine() == "arm64":
        return NvmlAnswers(state="other", detail="Apple (MPS)")
    return answer


def _installed() -> dict[str, str]:
    found = {}
    for name in _PACKAGES:
        with contextlib.suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


def free_bytes(path: str) -> int | None:
    """Give the bytes that this user may still write at a path; None where nobody can say.

    Of a path that is not there yet, the nearest folder above it is asked.
    """
    place = os.path.abspath(path)
    try:
        return shutil.disk_usage(next(filter(os.path.isdir, upward(place)), place)).free
    except OSError:
        return None
