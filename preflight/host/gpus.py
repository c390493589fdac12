"""Asks NVIDIA's management library (NVML) about the GPUs of a machine, and never touches CUDA.

CUDA would take memory of each GPU for itself, and cannot be used in a process that is forked later.
NVML is asked through a small protocol, so that recorded answers can stand in for a machine.
"""

# ruff: noqa: D102, N802  the protocol has pynvml's own names, which pynvml documents

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ParamSpec, Protocol, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

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


class Nvml(Protocol):
    """What is asked of the module `pynvml`, under its own names."""

    @property
    def NVMLError(self) -> type[Exception]:
        """What every question may raise; its `value` is NVML's own number."""

    def nvmlInit(self) -> object: ...
    def nvmlShutdown(self) -> object: ...
    def nvmlSystemGetDriverVersion(self) -> str | bytes: ...
    def nvmlSystemGetProcessName(self, pid: int, /) -> str | bytes: ...
    def nvmlDeviceGetCount(self) -> int: ...
    def nvmlDeviceGetHandleByIndex(self, index: int, /) -> Any: ...
    def nvmlDeviceGetName(self, handle: Any, /) -> str | bytes: ...
    def nvmlDeviceGetUUID(self, handle: Any, /) -> str | bytes: ...
    def nvmlDeviceGetMemoryInfo(self, handle: Any, /) -> Any: ...
    def nvmlDeviceGetComputeRunningProcesses(self, handle: Any, /) -> Sequence[Any]: ...
    def nvmlDeviceGetGraphicsRunningProcesses(self, handle: Any, /) -> Sequence[Any]: ...
    def nvmlDeviceGetMigMode(self, handle: Any, /) -> Sequence[int]: ...
    def nvmlDeviceGetMaxMigDeviceCount(self, handle: Any, /) -> int: ...
    def nvmlDeviceGetMigDeviceHandleByIndex(self, handle: Any, index: int, /) -> Any: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """A process that holds memory of a GPU."""

    pid: int
    """In a container, the machine's own number for it, not the container's."""

    name: str | None = None
    """Of its program; None where the driver does not say."""

    used: int | None = None
    """Bytes of GPU memory; None where the driver does not say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """A GPU, or one MIG instance of a GPU that is cut into several."""

    index: int
    """Of the GPU, in NVML's order, which is the order of the PCI bus."""

    uuid: str | None = None
    name: str | None = None
    total: int | None = None
    """Bytes of memory."""

    free: int | None = None
    """Bytes of memory that nobody holds."""

    holders: tuple[Holder, ...] = ()
    instance: int | None = None
    """Which MIG instance of the GPU this is, counted from 0; None for a whole GPU."""

    parent: str | None = None
    """The uuid of the GPU that a MIG instance is part of."""

    error: str | None = None
    """Why it cannot be asked, in NVML's words; then the numbers are None."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What NVML says of a machine."""

    state: str
    """`ok`, `no-driver`, `no-package` or `failed`."""

    detail: str = ""
    driver: str | None = None
    devices: tuple[Device, ...] = ()


def ask_this_machine() -> Answer:
    """Ask the NVML of this machine. Says what is missing instead of raising."""
    try:
        import pynvml  # type: ignore[import-untyped, unused-ignore]
    except ImportError as error:
        return Answer(state="no-package", detail=f"{type(error).__name__}: {error}")
    return ask(pynvml)


def ask(nvml: Nvml) -> Answer:
    """Ask NVML all that is wanted, one question at a time, so that one lost GPU hides no other."""
    try:
        nvml.nvmlInit()
    except nvml.NVMLError as error:
        absent = _number(error) in (LIBRARY_NOT_FOUND, DRIVER_NOT_LOADED)
        return Answer(state="no-driver" if absent else "failed", detail=str(error))
    try:
        return _ask_all(nvml)
    except nvml.NVMLError as error:
        return Answer(state="failed", detail=str(error))
    finally:
        _or_none(nvml, nvml.nvmlShutdown)


def _ask_all(nvml: Nvml) -> Answer:
    driver = _or_none(nvml, nvml.nvmlSystemGetDriverVersion)
    devices = [
        device for index in range(nvml.nvmlDeviceGetCount()) for device in _devices(nvml, index)
    ]
    return Answer(
        state="ok", driver=None if driver is None else _text(driver), devices=tuple(devices)
    )


def _devices(nvml: Nvml, index: int) -> list[Device]:
    """Give a GPU, or its MIG instances where it is cut into some."""
    try:
        handle = nvml.nvmlDeviceGetHandleByIndex(index)
    except nvml.NVMLError as error:
        return [Device(index=index, error=str(error))]
    whole = _device(nvml, handle, index)
    mode = _or_none(nvml, nvml.nvmlDeviceGetMigMode, handle)
    if not mode or not mode[0]:
        return [whole]

    found: list[Device] = []
    most = _or_none(nvml, nvml.nvmlDeviceGetMaxMigDeviceCount, handle) or 0
    for place in range(min(most, _MOST_INSTANCES)):
        part = _or_none(nvml, nvml.nvmlDeviceGetMigDeviceHandleByIndex, handle, place)
        if part is not None:
            found.append(_device(nvml, part, index, instance=place, whole=whole))
    return found or [
        Device(
            index=index,
            uuid=whole.uuid,
            name=whole.name,
            error="MIG mode is on and the GPU has no instances",
        )
    ]


def _device(
    nvml: Nvml, handle: Any, index: int, *, instance: int | None = None, whole: Device | None = None
) -> Device:
    uuid = _or_none(nvml, nvml.nvmlDeviceGetUUID, handle)
    name = _or_none(nvml, nvml.nvmlDeviceGetName, handle)
    try:
        memory = nvml.nvmlDeviceGetMemoryInfo(handle)
        problem = None
    except nvml.NVMLError as error:
        memory = None
        # Integrated GPUs do not support the question, and a container may not ask it of a GPU whose
        # instances it was given; any other answer means that the GPU itself is ill.
        problem = str(error) if _number(error) in _ILL else None
    return Device(
        index=index,
        uuid=None if uuid is None else _text(uuid),
        name=_text(name) if name is not None else whole.name if whole else None,
        total=None if memory is None else int(memory.total),
        free=None if memory is None else int(memory.free),
        holders=_holders(nvml, handle),
        instance=instance,
        parent=whole.uuid if whole else None,
        error=problem,
    )


def _holders(nvml: Nvml, handle: Any) -> tuple[Holder, ...]:
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
        Holder(pid=pid, name=_program(nvml, pid), used=amount) for pid, amount in most_first
    )


def _program(nvml: Nvml, pid: int) -> str | None:
    # Never looked up by our own process table: in a container, that number is another process.
    name = _or_none(nvml, nvml.nvmlSystemGetProcessName, pid)
    if name is None:
        return None
    return _text(name).replace("\\", "/").rpartition("/")[2] or None


def _or_none(
    nvml: Nvml, question: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs
) -> T | None:
    """Ask one question whose answer can be done without."""
    # Not an NVMLError: pynvml's word for a driver that is older than the question.
    too_old = getattr(nvml, "NVMLLibraryMismatchError", nvml.NVMLError)
    try:
        return question(*args, **kwargs)
    except (nvml.NVMLError, too_old, UnicodeDecodeError):  # pynvml decodes all names as UTF-8
        return None


def _number(error: Exception) -> int | None:
    value = getattr(error, "value", None)
    return value if isinstance(value, int) else None


def _text(value: str | bytes) -> str:
    """Decode what pynvml before 11.5 gave as bytes."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value
