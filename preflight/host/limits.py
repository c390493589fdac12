"""What this process may use of its machine: processors and memory, where a control group says less.

The texts are those of the Linux kernel: /proc/self/cgroup, and the files of control groups, version
1 and 2. Nothing is opened here; each text comes with the path that it has, below the mounts.
"""

from __future__ import annotations

import math
import posixpath
from collections.abc import Callable, Iterator
from dataclasses import dataclass

MOUNT = "/sys/fs/cgroup"
"""Where Linux systems mount control groups."""

Read = Callable[[str], str | None]
"""Gives the text of a file; None where it is not there or may not be read."""

# "No limit" of version 1 is the largest number of whole pages; no machine has a quarter of it.
_UNLIMITED = 2**61

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


def group_limits(read: Read) -> GroupLimits:
    """Find the tightest limit of the groups that hold this process, and of all above them."""
    groups = parse_groups(read("/proc/self/cgroup") or "")
    memory: list[tuple[int, int | None]] = []
    cpus: list[float] = []
    for folder in _folders(groups.get("")):
        memory.extend(_memory(read, folder, *_V2))
        cpus.extend(parse_cpu_max(read(f"{folder}/cpu.max") or ""))
    for folder in _folders(groups.get("memory"), "memory"):
        memory.extend(_memory(read, folder, *_V1))
    for folder in (
        *_folders(groups.get("cpu"), "cpu"),
        *_folders(groups.get("cpu"), "cpu,cpuacct"),
    ):
        quota, period = (
            parse_bytes(read(f"{folder}/cpu.cfs_{one}_us") or "") for one in ("quota", "period")
        )
        cpus.extend([quota / period] if quota and period else [])
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
    limit = parse_bytes(read(f"{folder}/{limit_file}") or "")
    if limit is not None:
        used = parse_bytes(read(f"{folder}/{used_file}") or "")
        cached = parse_field(read(f"{folder}/memory.stat") or "", cached_field)
        yield limit, None if used is None else max(0, used - cached)
