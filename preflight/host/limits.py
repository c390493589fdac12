"""What this process may use of its machine: processors and memory, where a control group says less.

The texts are those of the Linux kernel: /proc/self/cgroup, and the files of control groups, version
1 and 2.
"""

from __future__ import annotations

import math
import os
import posixpath
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

MOUNT = "/sys/fs/cgroup"
"""Where Linux systems mount control groups."""

Read = Callable[[str], str]
"""Gives the text of a file; nothing where it is not there or may not be read."""

# "No limit" of version 1 is the largest number of whole pages; no machine has a quarter of it.
_UNLIMITED = 2**61

# Files of control groups are a page at most; memory.stat is a few.
_MOST_TEXT = 1 << 16

# The files of the limit and of what is used, and the field of memory.stat that gives way.
_V1 = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
_V2 = ("memory.max", "memory.current", "inactive_file")


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupLimits:
    """What the control groups of this process allow; None where they do not say."""

    memory: int | None = None
    """Bytes."""

    memory_free: int | None = None
    """Bytes until the limit, where one holds; file caches, which give way, count as free."""

    cpus: float | None = None
    """Processors' worth of time."""


class MemoryLimits(NamedTuple):
    """How much memory there is for all processes of a job here, in bytes; None where unknown."""

    limit: int | None
    limited_by: str | None
    """`cgroup`, `machine` or `commit limit`."""

    available: int | None
    """What of it is free now; file caches, which give way, count as free."""


def memory_limits() -> MemoryLimits:
    """Find the limit that is met first: the control group's, the machine's, or Windows' own."""
    if sys.platform == "win32":
        return _commit_limit()
    return tightest(control_group_limits(), *_said_by_system())


def _said_by_system() -> tuple[int | None, int | None]:
    """Give the machine's memory, and what of it is free, without importing anything.

    It is asked where the user's folder is on the path, which may hold a psutil of the user's own.
    """
    lines = _read_text("/proc/meminfo").splitlines()
    amounts = {line.partition(":")[0]: line.split()[1:2] for line in lines}
    if amounts.get("MemTotal") and amounts.get("MemAvailable"):
        return int(amounts["MemTotal"][0]) * 1024, int(amounts["MemAvailable"][0]) * 1024
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"), None
    except (AttributeError, ValueError, OSError):  # not POSIX, or the number is kept from us
        return None, None


def tightest(group: GroupLimits, total: int | None, available: int | None) -> MemoryLimits:
    """Put a control group's limits beside the machine's memory."""
    limit = least(total, group.memory)
    by = "machine" if limit == total else "cgroup"
    return MemoryLimits(
        limit, by if limit is not None else None, least(available, group.memory_free)
    )


def control_group_limits() -> GroupLimits:
    """Give what the control groups of this process allow; nothing where there are none."""
    return group_limits(_read_text) if sys.platform == "linux" else GroupLimits()


def physical_memory() -> tuple[int | None, int | None]:
    """Give the machine's memory, and what of it is free, in bytes."""
    try:
        import psutil
    except ImportError:
        return None, None
    memory = psutil.virtual_memory()
    return int(memory.total), int(memory.available)


def least(*amounts: int | None) -> int | None:
    """Give the smallest amount that is known."""
    return min((amount for amount in amounts if amount is not None), default=None)


def _read_text(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(_MOST_TEXT)
    except OSError:
        return ""


def _commit_limit() -> MemoryLimits:
    """Ask Windows, which promises no more memory than it and its page files have."""
    import ctypes

    # MEMORYSTATUSEX of sysinfoapi.h: two words of 32 bits, then seven numbers of 64.
    status = (ctypes.c_uint64 * 8)()
    status[0] = ctypes.sizeof(status)  # the length; the load behind it is written by Windows
    if not cast("Any", ctypes).windll.kernel32.GlobalMemoryStatusEx(ctypes.byref(status)):
        return tightest(GroupLimits(), None, None)
    return MemoryLimits(status[3], "commit limit", status[4])


# --- control groups -------------------------------------------------------------------------------


def group_limits(read: Read) -> GroupLimits:
    """Find the tightest limit of the groups that hold this process, and of all above them."""
    groups = parse_groups(read("/proc/self/cgroup"))
    memory: list[tuple[int, int | None]] = []
    cpus: list[float] = []
    for folder in _folders(groups.get("")):
        memory.extend(_memory(read, folder, *_V2))
        cpus.extend(parse_cpu_max(read(f"{folder}/cpu.max")))
    for folder in _folders(groups.get("memory"), "memory"):
        memory.extend(_memory(read, folder, *_V1))
    for controllers in ("cpu", "cpu,cpuacct"):
        for folder in _folders(groups.get("cpu"), controllers):
            quota, period = (read(f"{folder}/cpu.cfs_{one}_us") for one in ("quota", "period"))
            cpus.extend(parse_cpu_max(f"{quota.strip()} {period}"))
    free = [limit - used for limit, used in memory if used is not None]
    return GroupLimits(
        memory=min((limit for limit, _ in memory), default=None),
        memory_free=max(0, min(free)) if free else None,
        cpus=min(cpus, default=None),
    )


def parse_groups(text: str) -> dict[str, str]:
    """Read /proc/self/cgroup: controller to path; the one of version 2 has no name."""
    groups: dict[str, str] = {}
    for line in text.splitlines():
        _, _, rest = line.partition(":")
        controllers, colon, path = rest.partition(":")
        if colon:
            groups.update(dict.fromkeys(controllers.split(","), path))
    return groups


def parse_bytes(text: str) -> int | None:
    """Read one number; None for `max`, for -1, for version 1's word for no limit, and for noise."""
    word = text.strip()
    if not (word.isascii() and word.isdigit() and len(word) <= 20):
        return None
    number = int(word)
    return number if number < _UNLIMITED else None


def parse_cpu_max(text: str) -> list[float]:
    """Read cpu.max of version 2: `200000 100000` is two processors; empty where there is none."""
    quota, _, period = text.strip().partition(" ")
    amounts = parse_bytes(quota), parse_bytes(period)
    return [amounts[0] / amounts[1]] if amounts[0] and amounts[1] else []


def parse_field(text: str, name: str) -> int:
    """Read one number of memory.stat, in bytes; 0 where it is not there."""
    for line in text.splitlines():
        key, _, value = line.partition(" ")
        if key == name:
            return parse_bytes(value) or 0
    return 0


def usable_cpus(affinity: int, quota: float | None) -> int:
    """Give the processors that are worth starting workers for, at least one."""
    return max(1, affinity if quota is None else min(affinity, math.ceil(quota)))


def _folders(path: str | None, controller: str = "") -> Iterator[str]:
    """Give the folder of a group and of each above it, up to the mount.

    In a container, the path is often the host's, and only the mount itself is there.
    """
    if path is None:
        return
    top = posixpath.join(MOUNT, controller) if controller else MOUNT
    inside = posixpath.normpath("/" + path).strip("/")
    while inside and not inside.startswith(".."):
        yield f"{top}/{inside}"
        inside = posixpath.dirname(inside)
    yield top


def _memory(
    read: Read, folder: str, limit_file: str, used_file: str, cached_field: str
) -> Iterator[tuple[int, int | None]]:
    limit = parse_bytes(read(f"{folder}/{limit_file}"))
    if limit is not None:
        used = parse_bytes(read(f"{folder}/{used_file}"))
        cached = parse_field(read(f"{folder}/memory.stat"), cached_field)
        yield limit, None if used is None else max(0, used - cached)
