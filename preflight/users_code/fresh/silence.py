"""How long a process has said nothing, without the time for which the machine did not let it run.

Where others use all processors, a loader is late, and waits for nothing. Linux says for how long a
process was ready to run and did not; elsewhere, all time counts. What its own processes keep from
each other, as workers do that try again without end, is no excuse: it would be so on any machine.
"""

from __future__ import annotations

import time
from typing import NamedTuple

from preflight.users_code.fresh.anew import Anew
from preflight.values.this_process import processors

# So long nothing is measured: most of the time, what is waited for comes sooner.
_AT_ONCE = 1.0

# Who waits just now is told of only when it runs again: it is looked twice, with such a part of the
# timeout between.
_LOOKS, _AGAIN = 2, 0.1

# A process that is let run less than this part of the time is given up all the same.
_MOST = 4.0


class ProcessTime(NamedTuple):
    """What Linux counts of a process, in seconds since its start."""

    ran: float
    waited: float
    """Ready to run, while others did."""


class Silence:
    """That of a process and of all that it has started."""

    def __init__(self, anew: Anew, timeout: float) -> None:
        self._anew, self._timeout = anew, timeout
        self.broken()

    def broken(self) -> None:
        """Begin anew, since it has said something."""
        self._since = time.monotonic()
        self._before: dict[int, ProcessTime] | None = None
        self._counted = self._since
        self._until, self._looks = self._timeout, 0

    @property
    def seconds(self) -> float:
        """How long it lasts, by the clock."""
        return time.monotonic() - self._since

    def is_too_long(self) -> bool:
        """Whether it has lasted for the timeout, as far as its processes could have run."""
        lasted = self.seconds
        if self._before is None and lasted > min(_AT_ONCE, self._timeout / 2):
            self._before, self._counted = self._count(), time.monotonic()
        if self._until < lasted <= _MOST * self._timeout and self._looks < _LOOKS:
            until = self._timeout + self._kept_from_running()
            self._looks = 0 if until > lasted else self._looks + 1
            self._until = max(until, lasted + _AGAIN * self._timeout)
        return lasted > min(self._until, _MOST * self._timeout) or self._looks == _LOOKS

    def _kept_from_running(self) -> float:
        """Give the seconds for which others kept the process from running that waited longest."""
        now, passed = self._count(), time.monotonic() - self._counted
        before = {pid: (self._before or {}).get(pid, ProcessTime(0.0, 0.0)) for pid in now}
        waited = max((one.waited - before[pid].waited for pid, one in now.items()), default=0.0)
        ran = sum(one.ran - before[pid].ran for pid, one in now.items())
        return min(waited, max(passed - ran / processors(self._anew.pid), 0.0))

    def _count(self) -> dict[int, ProcessTime]:
        pids = (self._anew.pid, *(one.pid for one in self._anew.processes()))
        return {pid: ran for pid in pids if (ran := has_run(pid)) is not None}


def has_run(pid: int) -> ProcessTime | None:
    """Say for how long a process has run, and waited for that; None: nobody knows."""
    try:
        with open(f"/proc/{pid}/schedstat", encoding="ascii") as file:
            ran, waited, *_ = file.read().split()
            return ProcessTime(int(ran) / 1e9, int(waited) / 1e9)
    except (OSError, ValueError):
        return None
