"""Looks at how much memory this process and those it starts may take, and who says so."""

from __future__ import annotations

import os
import sys
from typing import Any, NamedTuple, cast

from preflight.host.limits import GroupLimits, group_limits

# Files of control groups are a page at most; memory.stat is a few.
_MOST_TEXT = 1 << 16


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
    lines = (_read_text("/proc/meminfo") or "").splitlines()
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
    by = None
    if limit is not None:
        by = "machine" if limit == total else "cgroup"
    return MemoryLimits(limit, by, least(available, group.memory_free))


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


def _read_text(path: str) -> str | None:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(_MOST_TEXT)
    except OSError:
        return None


def _commit_limit() -> MemoryLimits:
    """Ask Windows, which promises no more memory than it and its page files have."""
    import ctypes

    # MEMORYSTATUSEX of sysinfoapi.h: two words of 32 bits, then seven numbers of 64.
    status = (ctypes.c_uint64 * 8)()
    status[0] = ctypes.sizeof(status)  # the length; the load behind it is written by Windows
    if not cast("Any", ctypes).windll.kernel32.GlobalMemoryStatusEx(ctypes.byref(status)):
        return tightest(GroupLimits(), None, None)
    return MemoryLimits(status[3], "commit limit", status[4])
