"""Asks NVIDIA's management library (NVML) about the GPUs of a machine, and never touches CUDA.

CUDA would take memory of each GPU for itself, and cannot be used in a process that is forked later.
Recorded answers can stand in for a machine.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from preflight.host.facts import Gpu, GpuProcess

# nvml.h, enum nvmlReturn_enum.
DRIVER_NOT_LOADED = 9
LIBRARY_NOT_FOUND = 12
GPU_IS_LOST = 15
RESET_REQUIRED = 16
UNKNOWN = 999

_ILL = (GPU_IS_LOST, RESET_REQUIRED, UNKNOWN)

# As nvml.h has it: the memory of a process that the driver will not tell (on Windows, always).
_NOT_AVAILABLE = 2**64 - 1

# A GPU can be cut into seven MIG instances today; asked so far at most, whatever a driver claims.
_MOST_INSTANCES = 64


Nvml: TypeAlias = Any
"""The module `pynvml`, or what answers under its names; both give Python no types."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NvmlAnswers:
    """What NVML says of a machine."""

    state: str
    """`ok`, `no-driver`, `no-package` or `failed`."""

    detail: str = ""
    driver: str | None = None
    devices: tuple[Gpu, ...] = ()
    """GPUs, and MIG instances of those that are cut into several."""

    cut: Mapping[int, str | None] = field(default_factory=dict)
    """The uuids of the GPUs that are cut into MIG instances, by their index."""


def ask_this_machine() -> NvmlAnswers:
    """Ask the NVML of this machine. Says what is missing instead of raising."""
    try:
        import pynvml  # type: ignore[import-untyped, unused-ignore]
    except ImportError as error:
        return NvmlAnswers(state="no-package", detail=f"{type(error).__name__}: {error}")
    return ask(pynvml)


def ask(nvml: Nvml) -> NvmlAnswers:
    """Ask NVML all that is wanted, one question at a time, so that one lost GPU hides no other."""
    try:
        nvml.nvmlInit()
    except nvml.NVMLError as error:
        absent = getattr(error, "value", None) in (LIBRARY_NOT_FOUND, DRIVER_NOT_LOADED)
        return NvmlAnswers(state="no-driver" if absent else "failed", detail=str(error))
    try:
        return _ask_all(nvml)
    except nvml.NVMLError as error:
        return NvmlAnswers(state="failed", detail=str(error))
    finally:
        _or_none(nvml, nvml.nvmlShutdown)


def _ask_all(nvml: Nvml) -> NvmlAnswers:
    driver = _or_none(nvml, nvml.nvmlSystemGetDriverVersion)
    cut: dict[int, str | None] = {}
    count = nvml.nvmlDeviceGetCount()
    devices = [device for index in range(count) for device in _devices(nvml, index, cut)]
    return NvmlAnswers(state="ok", driver=driver, devices=tuple(devices), cut=cut)


def _devices(nvml: Nvml, index: int, cut: dict[int, str | None]) -> list[Gpu]:
    """Give a GPU, or its MIG instances where it is cut into some."""
    try:
        handle = nvml.nvmlDeviceGetHandleByIndex(index)
    except nvml.NVMLError as error:
        return [Gpu(index=index, error=str(error))]
    whole = _device(nvml, handle, index)
    mode = _or_none(nvml, nvml.nvmlDeviceGetMigMode, handle)
    if not mode or not mode[0]:
        return [whole]

    found: list[Gpu] = []
    most = _or_none(nvml, nvml.nvmlDeviceGetMaxMigDeviceCount, handle) or 0
    for place in range(min(most, _MOST_INSTANCES)):
        part = _or_none(nvml, nvml.nvmlDeviceGetMigDeviceHandleByIndex, handle, place)
        if part is not None:
            one = _device(nvml, part, index)
            found.append(replace(one, instance=place, name=one.name or whole.name))
            cut[index] = whole.uuid
    lacking = "MIG mode is on and the GPU has no instances"
    return found or [Gpu(index=index, uuid=whole.uuid, name=whole.name, error=lacking)]


def _device(nvml: Nvml, handle: Any, index: int) -> Gpu:
    try:
        memory = nvml.nvmlDeviceGetMemoryInfo(handle)
        problem = None
    except nvml.NVMLError as error:
        memory = None
        # Integrated GPUs do not support the question, and a container may not ask it of a GPU whose
        # instances it was given; any other answer means that the GPU itself is ill.
        problem = str(error) if getattr(error, "value", None) in _ILL else None
    return Gpu(
        index=index,
        uuid=_or_none(nvml, nvml.nvmlDeviceGetUUID, handle),
        name=_or_none(nvml, nvml.nvmlDeviceGetName, handle),
        total=None if memory is None else int(memory.total),
        free=None if memory is None else int(memory.free),
        processes=_processes(nvml, handle),
        error=problem,
    )


def _processes(nvml: Nvml, handle: Any) -> tuple[GpuProcess, ...]:
    """Give each process once, the one that holds most first."""
    questions = (
        nvml.nvmlDeviceGetComputeRunningProcesses,
        nvml.nvmlDeviceGetGraphicsRunningProcesses,
    )
    used: dict[int, int | None] = {}
    for question in questions:
        for process in _or_none(nvml, question, handle) or ():
            amount = process.usedGpuMemory
            known = amount is not None and amount != _NOT_AVAILABLE
            used[int(process.pid)] = int(amount) if known else used.get(int(process.pid))
    most_first = sorted(used.items(), key=lambda one: (-(one[1] or 0), one[0]))
    return tuple(
        GpuProcess(pid=pid, name=_program(nvml, pid), used=amount) for pid, amount in most_first
    )


def _program(nvml: Nvml, pid: int) -> str | None:
    # Never looked up by our own process table: in a container, that number is another process.
    name = _or_none(nvml, nvml.nvmlSystemGetProcessName, pid)
    return None if name is None else name.replace("\\", "/").rpartition("/")[2] or None


def _or_none(nvml: Nvml, question: Callable[..., Any], *args: Any) -> Any:
    """Ask one question whose answer can be done without."""
    # Not an NVMLError: pynvml's word for a driver that is older than the question.
    too_old = getattr(nvml, "NVMLLibraryMismatchError", nvml.NVMLError)
    try:
        answer = question(*args)
    except (nvml.NVMLError, too_old, UnicodeDecodeError):  # pynvml decodes all names as UTF-8
        return None
    # Before 11.5, pynvml gave texts as bytes.
    return answer.decode("utf-8", "replace") if isinstance(answer, bytes) else answer
