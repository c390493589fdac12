"""What a control group allows is found in every version of it, and whose word a limit is."""

from __future__ import annotations

import platform

import psutil
import pytest

from preflight.host.limits import (
    GroupLimits,
    MemoryLimits,
    group_limits,
    least,
    memory_limits,
    parse_bytes,
    parse_cpu_max,
    parse_groups,
    physical_memory,
    tightest,
    usable_cpus,
)

GIB = 2**30
ROOT = "/sys/fs/cgroup"


LIMITS: dict[str, tuple[dict[str, str], GroupLimits]] = {
    "no control groups": ({}, GroupLimits()),
    "the root group": ({"/proc/self/cgroup": "0::/\n"}, GroupLimits()),
    # The container sees its own group as the root; half of what is held are file caches.
    "version 2 in a container": (
        {
            "/proc/self/cgroup": "0::/\n",
            f"{ROOT}/memory.max": f"{8 * GIB}\n",
            f"{ROOT}/memory.current": f"{6 * GIB}\n",
            f"{ROOT}/memory.stat": f"anon {3 * GIB}\ninactive_file {3 * GIB}\n",
            f"{ROOT}/cpu.max": "150000 100000\n",
        },
        GroupLimits(memory=8 * GIB, memory_free=5 * GIB, cpus=1.5),
    ),
    "version 2 takes the tightest of all groups above": (
        {
            "/proc/self/cgroup": "0::/slurm/job_7/step_0\n",
            f"{ROOT}/slurm/job_7/step_0/memory.max": "max\n",
            f"{ROOT}/slurm/job_7/memory.max": f"{4 * GIB}\n",
            f"{ROOT}/slurm/job_7/memory.current": f"{GIB}\n",
            f"{ROOT}/slurm/memory.max": f"{64 * GIB}\n",
            f"{ROOT}/slurm/memory.current": f"{62 * GIB}\n",
            f"{ROOT}/slurm/job_7/step_0/cpu.max": "max 100000\n",
            f"{ROOT}/slurm/job_7/cpu.max": "400000 100000\n",
        },
        GroupLimits(memory=4 * GIB, memory_free=2 * GIB, cpus=4.0),
    ),
    "version 1": (
        {
            "/proc/self/cgroup": (
                "9:memory:/docker/abc\n4:cpu,cpuacct:/docker/abc\n1:name=systemd:/\n"
            ),
            f"{ROOT}/memory/docker/abc/memory.limit_in_bytes": f"{2 * GIB}\n",
            f"{ROOT}/memory/docker/abc/memory.usage_in_bytes": f"{GIB}\n",
            f"{ROOT}/memory/docker/abc/memory.stat": f"cache 1\ntotal_inactive_file {GIB // 2}\n",
            f"{ROOT}/memory/memory.limit_in_bytes": "9223372036854771712\n",
            f"{ROOT}/cpu,cpuacct/docker/abc/cpu.cfs_quota_us": "50000\n",
            f"{ROOT}/cpu,cpuacct/docker/abc/cpu.cfs_period_us": "100000\n",
        },
        GroupLimits(memory=2 * GIB, memory_free=3 * GIB // 2, cpus=0.5),
    ),
    # Only the mount itself is there.
    "version 1 in a container whose group has the host's name": (
        {
            "/proc/self/cgroup": "9:memory:/docker/abc\n",
            f"{ROOT}/memory/memory.limit_in_bytes": f"{GIB}\n",
        },
        GroupLimits(memory=GIB),
    ),
    "version 1 without limits": (
        {
            "/proc/self/cgroup": "9:memory:/\n4:cpu:/\n",
            f"{ROOT}/memory/memory.limit_in_bytes": "9223372036854771712\n",
            f"{ROOT}/cpu/cpu.cfs_quota_us": "-1\n",
            f"{ROOT}/cpu/cpu.cfs_period_us": "100000\n",
        },
        GroupLimits(),
    ),
    "a group that is full has nothing free": (
        {
            "/proc/self/cgroup": "0::/\n",
            f"{ROOT}/memory.max": f"{GIB}\n",
            f"{ROOT}/memory.current": f"{GIB + 4096}\n",
        },
        GroupLimits(memory=GIB, memory_free=0),
    ),
}


@pytest.mark.parametrize(("files", "expected"), LIMITS.values(), ids=LIMITS)
def test_the_limits_are_those_of_the_tightest_group(
    files: dict[str, str], expected: GroupLimits
) -> None:
    assert group_limits(lambda path: files.get(path, "")) == expected


def test_a_group_outside_the_mount_is_not_followed() -> None:
    """In a namespace of its own a process can stand above its root: `0::/../other`."""
    asked: list[str] = []

    def read(path: str) -> str:
        asked.append(path)
        return "0::/../../etc\n" if path == "/proc/self/cgroup" else ""

    assert group_limits(read) == GroupLimits()
    assert all(path.startswith(ROOT) and ".." not in path for path in asked[1:])


@pytest.mark.parametrize(
    "text", ["", "max", "-1", "many", "1.5", "9" * 5000, "٣"], ids=lambda text: text[:8]
)
def test_what_is_no_amount_is_no_limit(text: str) -> None:
    assert parse_bytes(text) is None


@pytest.mark.parametrize("text", ["", "max 100000", "100000", "100000 0", "0 100000"])
def test_what_is_no_quota_is_no_limit(text: str) -> None:
    assert parse_cpu_max(text) == []


def test_names_of_controllers_are_read_apart() -> None:
    assert parse_groups("4:cpu,cpuacct:/a:b\n0::/c\nnoise\n") == {
        "cpu": "/a:b",
        "cpuacct": "/a:b",
        "": "/c",
    }


@pytest.mark.parametrize(
    ("affinity", "quota", "usable"), [(64, None, 64), (64, 7.2, 8), (2, 16.0, 2), (8, 0.1, 1)]
)
def test_a_quota_holds_where_it_is_less_than_the_processors(
    affinity: int, quota: float | None, usable: int
) -> None:
    assert usable_cpus(affinity, quota) == usable


# --- memory ---------------------------------------------------------------------------------------

GB = 10**9


@pytest.mark.parametrize(
    ("group", "expected"),
    [
        (GroupLimits(), (64 * GB, "machine", 50 * GB)),
        (GroupLimits(memory=8 * GB, memory_free=6 * GB), (8 * GB, "cgroup", 6 * GB)),
        (GroupLimits(memory=60 * GB, memory_free=55 * GB), (60 * GB, "cgroup", 50 * GB)),
        (GroupLimits(memory=100 * GB, memory_free=99 * GB), (64 * GB, "machine", 50 * GB)),
        (GroupLimits(memory=8 * GB), (8 * GB, "cgroup", 50 * GB)),
    ],
    ids=["no group", "a group", "a group on a busy machine", "a generous group", "use not told"],
)
def test_the_limit_that_is_met_first_counts(
    group: GroupLimits, expected: tuple[int, str, int]
) -> None:
    """A container is killed at its own limit, however much the machine has."""
    assert tightest(group, 64 * GB, 50 * GB) == expected


def test_without_psutil_a_control_group_still_says_its_part() -> None:
    """The job's own interpreter need not have it."""
    assert tightest(GroupLimits(memory=8, memory_free=4), None, None) == (8, "cgroup", 4)


def test_where_nobody_says_nothing_is_said() -> None:
    """Then nothing can be compared with it."""
    assert tightest(GroupLimits(), None, None) == MemoryLimits(None, None, None)
    assert least(None, None) is None


def test_this_machine_has_no_more_than_it_has() -> None:
    """Whoever limits it."""
    limit, by, available = memory_limits()

    assert limit is not None and available is not None
    assert available > 0
    if platform.system() == "Windows":
        assert by == "commit limit" and available <= limit
    else:
        assert by in ("cgroup", "machine")
        assert limit <= psutil.virtual_memory().total
    assert physical_memory()[0] == psutil.virtual_memory().total
