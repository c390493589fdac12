"""Records what the NVML of a machine answers, as `preflight.host.nvml_recording` replays it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from preflight.host.gpus import Nvml
from preflight.host.nvml_recording import ERRORS

NAMES = {number: name for name, (number, _) in ERRORS.items()}


def record(nvml: Nvml) -> dict[str, Any]:
    """Ask a machine everything that a recording holds, and give it as JSON values."""

    def asked(make: Callable[[Any], Any], question: Callable[..., Any], *args: Any) -> Any:
        try:
            return make(question(*args))
        except nvml.NVMLError as error:
            return {"error": NAMES.get(error.value, "UNKNOWN")}

    def processes(each: Sequence[Any]) -> list[dict[str, Any]]:
        seen.update(int(one.pid) for one in each)
        return [{"pid": int(one.pid), "used": one.usedGpuMemory} for one in each]

    def device(handle: Any) -> dict[str, Any]:
        return {
            "name": asked(str, nvml.nvmlDeviceGetName, handle),
            "uuid": asked(str, nvml.nvmlDeviceGetUUID, handle),
            "memory": asked(amounts, nvml.nvmlDeviceGetMemoryInfo, handle),
            "compute": asked(processes, nvml.nvmlDeviceGetComputeRunningProcesses, handle),
            "graphics": asked(processes, nvml.nvmlDeviceGetGraphicsRunningProcesses, handle),
        }

    def whole(handle: Any) -> dict[str, Any]:
        recorded = device(handle) | {"mig": asked(list, nvml.nvmlDeviceGetMigMode, handle)}
        if "error" not in recorded["mig"] and recorded["mig"][0]:
            places = range(nvml.nvmlDeviceGetMaxMigDeviceCount(handle))
            of_place = nvml.nvmlDeviceGetMigDeviceHandleByIndex
            parts = [asked(device, of_place, handle, place) for place in places]
            recorded["instances"] = [None if "error" in part else part for part in parts]
        return recorded

    seen: set[int] = set()
    started = asked(lambda _: None, nvml.nvmlInit)
    if started is not None:
        return {"init": started}
    try:
        devices = [
            asked(whole, nvml.nvmlDeviceGetHandleByIndex, index)
            for index in range(nvml.nvmlDeviceGetCount())
        ]
        names = {str(pid): asked(str, nvml.nvmlSystemGetProcessName, pid) for pid in sorted(seen)}
        return {
            "driver": asked(str, nvml.nvmlSystemGetDriverVersion),
            "devices": devices,
            "processes": {pid: name for pid, name in names.items() if isinstance(name, str)},
        }
    finally:
        nvml.nvmlShutdown()


def amounts(memory: Any) -> dict[str, int]:
    return {key: int(getattr(memory, key)) for key in ("total", "free", "used")}
