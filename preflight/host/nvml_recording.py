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

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any, TypeAlias

Handle: TypeAlias = Mapping[str, Any]
"""What the recording says of one GPU, or of one MIG instance."""

# nvml.h, enum nvmlReturn_enum, with nvmlErrorString's words.
ERRORS: Mapping[str, tuple[int, str]] = {
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

_NOT_SUPPORTED = {"error": "NOT_SUPPORTED"}


class RecordedError(Exception):
    """What NVML raised when it was recorded; `value` is its number."""

    def __init__(self, name: str) -> None:
        self.value, words = ERRORS.get(name, ERRORS["UNKNOWN"])
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
        return str(_answer(names, str(pid), {"error": "NOT_FOUND"}))

    def nvmlDeviceGetCount(self) -> int:
        return len(_answer(self._recording, "devices", []))

    def nvmlDeviceGetHandleByIndex(self, index: int) -> Any:
        return _whole(self._recording["devices"][index])

    def nvmlDeviceGetName(self, handle: Handle) -> str:
        return str(_answer(handle, "name"))

    def nvmlDeviceGetUUID(self, handle: Handle) -> str:
        return str(_answer(handle, "uuid"))

    def nvmlDeviceGetMemoryInfo(self, handle: Handle) -> SimpleNamespace:
        return SimpleNamespace(**_answer(handle, "memory"))

    def nvmlDeviceGetComputeRunningProcesses(self, handle: Handle) -> list[SimpleNamespace]:
        return _processes(_answer(handle, "compute"))

    def nvmlDeviceGetGraphicsRunningProcesses(self, handle: Handle) -> list[SimpleNamespace]:
        return _processes(_answer(handle, "graphics"))

    def nvmlDeviceGetMigMode(self, handle: Handle) -> list[int]:
        return list(_answer(handle, "mig"))

    def nvmlDeviceGetMaxMigDeviceCount(self, handle: Handle) -> int:
        return len(_answer(handle, "instances"))

    def nvmlDeviceGetMigDeviceHandleByIndex(self, handle: Handle, index: int) -> Any:
        instance = _answer(handle, "instances")[index]
        return _whole({"error": "NOT_FOUND"} if instance is None else instance)


def _answer(recorded: Handle, key: str, default: Any = _NOT_SUPPORTED) -> Any:
    return _whole(recorded.get(key, default))


def _whole(answer: Any) -> Any:
    if isinstance(answer, Mapping) and set(answer) == {"error"}:
        raise RecordedError(str(answer["error"]))
    return answer


def _processes(recorded: Sequence[Mapping[str, Any]]) -> list[SimpleNamespace]:
    return [SimpleNamespace(pid=one["pid"], usedGpuMemory=one.get("used")) for one in recorded]
