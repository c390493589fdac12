"""How much memory there is, and whose word that is."""

from __future__ import annotations

import platform

import psutil
import pytest

from preflight.host.limits import GroupLimits
from preflight.host.memory_limits import (
    MemoryLimits,
    least,
    memory_limits,
    physical_memory,
    tightest,
)

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
