"""NVML answers of a machine as JSON, and their replay in place of the module `pynvml`.

A recording is an object of these keys; each may be left out:

`init`
    `{"error": "DRIVER_NOT_LOADED"}` where NVML itself could not be started.

`driver`
    The driver's version.

`processes`
    Process number to the name of its program; who is not in it cannot be seen.

`devices`
    A list, one entry a GPU: `{"error": "GPU_IS_LOST"}` where it gives no handle, otherwise an
    object of `name`, `uuid`, `memory` (`{"total": …, "free": …, "used": …}`, bytes), `compute` and
    `graphics` (lists of `{"pid": …, "used": …}`; null where the driver does not say how much),
    `mig` (`[now, after the next reset]`) and `instances` (a list of devices like this one, null for
    a free place).

Wherever an answer may stand, `{"error": NAME}` may stand instead: replay then raises what NVML
would, by its name in nvml.h without `NVML_ERROR_`. An answer that is not there is NOT_SUPPORTED.
"""

# ruff: noqa: D102, N802  replay answers under pynvml's own names, which pynvml documents

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

from preflight.host.gpus import Nvml

# nvml.h, enum nvmlReturn_enum, with nvmlErrorString's words.
_ERRORS: Mapping[str, tuple[int, str]] = {
    "UNINITIALIZED": (1, "Uninitialized"),
    "INVALID_ARGUMENT": (2, "Invalid Argument"),
    "NOT_SUPPORTED": (3, "Not Supported"),
    "NO_PERMISSION": (4, "Insufficient Permissions"),
    "NOT_FOUND": (6, "Not Found"),
    "INSUFFICIENT_POWER": (8, "Insufficient External Power"),
    "DRIVER_NOT_LOADED": (9, "Driver Not Loaded"),
    "TIMEOUT": (10, "Timeout"),
    "LIBRARY_NOT_FOUND": (12, "NVML Shared Library Not Found"),
    "FUNCTION_NOT_FOUND": (13, "Function Not Found"),
    "CORRUPTED_INFOROM": (14, "Corrupted infoROM"),
    "GPU_IS_LOST": (15, "GPU is lost"),
    "RESET_REQUIRED": (16, "GPU requires restart"),
    "OPERATING_SYSTEM": (17, "The operating system has blocked the request."),
    "LIB_RM_VERSION_MISMATCH": (18, "RM has detected an NVML/RM version mismatch."),
    "UNKNOWN": (999, "Unknown Error"),
}
_NAMES = {number: name for name, (number, _) in _ERRORS.items()}


class RecordedError(Exception):
    """What NVML raised when it was recorded; `value` is its number."""

    def __init__(self, name: str) -> None:
        self.value, words = _ERRORS.get(name, _ERRORS["UNKNOWN"])
        super().__init__(words)


class Replay:
    """Answers as the recorded machine did, under the names of the module `pynvml`."""

    NVMLError: type[Exception] = RecordedError

    def __init__(self, recording: Mapping[str, Any]) -> None:
        self._recording = recording
        self.open = 0
        """How often it was initialised and not shut down."""

    def nvmlInit(self) -> None:
        _answer(self._recording, "init", None)
        self.open += 1

    def nvmlShutdown(self) -> None:
        self.open -= 1

    def nvmlSystemGetDriverVersion(self) -> str:
        return str(_answer(self._recording, "driver"))

    def nvmlSystemGetProcessName(self, pid: int) -> str:
        names = _answer(self._recording, "processes", {})
        if str(pid) not in names:
            raise RecordedError("NOT_FOUND")
        return str(names[str(pid)])

    def nvmlDeviceGetCount(self) -> int:
        return len(_answer(self._recording, "devices", []))

    def nvmlDeviceGetHandleByIndex(self, index: int) -> Mapping[str, Any]:
        handle: Mapping[str, Any] = _whole(self._recording["devices"][index])
        return handle

    def nvmlDeviceGetName(self, handle: Mapping[str, Any]) -> str:
        return str(_answer(handle, "name"))

    def nvmlDeviceGetUUID(self, handle: Mapping[str, Any]) -> str:
        return str(_answer(handle, "uuid"))

    def nvmlDeviceGetMemoryInfo(self, handle: Mapping[str, Any]) -> SimpleNamespace:
        return SimpleNamespace(**_answer(handle, "memory"))

    def nvmlDeviceGetComputeRunningProcesses(
        self, handle: Mapping[str, Any]
    ) -> list[SimpleNamespace]:
        return _processes(_answer(handle, "compute"))

    def nvmlDeviceGetGraphicsRunningProcesses(
        self, handle: Mapping[str, Any]
    ) -> list[SimpleNamespace]:
        return _processes(_answer(handle, "graphics"))

    def nvmlDeviceGetMigMode(self, handle: Mapping[str, Any]) -> list[int]:
        return list(_answer(handle, "mig"))

    def nvmlDeviceGetMaxMigDeviceCount(self, handle: Mapping[str, Any]) -> int:
        return len(_answer(handle, "instances"))

    def nvmlDeviceGetMigDeviceHandleByIndex(
        self, handle: Mapping[str, Any], index: int
    ) -> Mapping[str, Any]:
        instance = _answer(handle, "instances")[index]
        if instance is None:
            raise RecordedError("NOT_FOUND")
        part: Mapping[str, Any] = _whole(instance)
        return part


_MISSING = object()


def _answer(recorded: Mapping[str, Any], key: str, default: Any = _MISSING) -> Any:
    if key not in recorded:
        if default is _MISSING:
            raise RecordedError("NOT_SUPPORTED")
        return default
    return _whole(recorded[key])


def _whole(answer: Any) -> Any:
    if isinstance(answer, Mapping) and set(answer) == {"error"}:
        raise RecordedError(str(answer["error"]))
    return answer


def _processes(recorded: Sequence[Mapping[str, Any]]) -> list[SimpleNamespace]:
    return [SimpleNamespace(pid=one["pid"], usedGpuMemory=one.get("used")) for one in recorded]


def record(nvml: Nvml) -> dict[str, Any]:
    """Ask a machine everything that a recording holds, and give it as JSON values."""
    started = _asked(nvml, nvml.nvmlInit)
    if _is_error(started):
        return {"init": started}
    try:
        devices = [_record_device(nvml, index) for index in range(nvml.nvmlDeviceGetCount())]
        seen = {process["pid"] for device in devices for process in _all_processes(device)}
        names = {str(pid): _asked(nvml, nvml.nvmlSystemGetProcessName, pid) for pid in sorted(seen)}
        return {
            "driver": _asked(nvml, nvml.nvmlSystemGetDriverVersion),
            "devices": devices,
            "processes": {pid: name for pid, name in names.items() if not _is_error(name)},
        }
    finally:
        nvml.nvmlShutdown()


def _record_device(nvml: Nvml, index: int) -> dict[str, Any]:
    try:
        handle = nvml.nvmlDeviceGetHandleByIndex(index)
    except nvml.NVMLError as error:
        return _error(error)
    recorded = _record_handle(nvml, handle)
    mode = _asked(nvml, nvml.nvmlDeviceGetMigMode, handle)
    recorded["mig"] = mode if _is_error(mode) else list(mode)
    if not _is_error(mode) and mode[0]:
        parts = [
            _asked(nvml, nvml.nvmlDeviceGetMigDeviceHandleByIndex, handle, place)
            for place in range(nvml.nvmlDeviceGetMaxMigDeviceCount(handle))
        ]
        recorded["instances"] = [
            None if _is_error(part) else _record_handle(nvml, part) for part in parts
        ]
    return recorded


def _record_handle(nvml: Nvml, handle: Any) -> dict[str, Any]:
    memory = _asked(nvml, nvml.nvmlDeviceGetMemoryInfo, handle)
    amounts = ("total", "free", "used")
    return {
        "name": _asked(nvml, nvml.nvmlDeviceGetName, handle),
        "uuid": _asked(nvml, nvml.nvmlDeviceGetUUID, handle),
        "memory": memory
        if _is_error(memory)
        else {key: int(getattr(memory, key)) for key in amounts},
        "compute": _record_processes(nvml, nvml.nvmlDeviceGetComputeRunningProcesses, handle),
        "graphics": _record_processes(nvml, nvml.nvmlDeviceGetGraphicsRunningProcesses, handle),
    }


def _record_processes(nvml: Nvml, question: Callable[..., Any], handle: Any) -> Any:
    answer = _asked(nvml, question, handle)
    if _is_error(answer):
        return answer
    return [{"pid": int(one.pid), "used": one.usedGpuMemory} for one in answer]


def _all_processes(device: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    parts = [device, *(one for one in device.get("instances", ()) if one is not None)]
    lists = [part.get(key) for part in parts for key in ("compute", "graphics")]
    return [process for one in lists if isinstance(one, list) for process in one]


def _asked(nvml: Nvml, question: Callable[..., Any], *args: Any) -> Any:
    try:
        answer = question(*args)
    except nvml.NVMLError as error:
        return _error(error)
    return answer.decode("utf-8", "replace") if isinstance(answer, bytes) else answer


def _error(error: Exception) -> dict[str, str]:
    return {"error": _NAMES.get(getattr(error, "value", 999), "UNKNOWN")}


def _is_error(answer: Any) -> bool:
    return isinstance(answer, dict) and set(answer) == {"error"}
