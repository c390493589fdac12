"""How long a process has said nothing, without the time for which the machine did not let it run.

Where others use all processors, a loader is late, and waits for nothing. Linux says for how long a
process was ready to run and did not; elsewhere, all time counts.
"""

from __future__ import annotations

import time

from preflight.users_code.anew import Anew

# So long nothing is measured: most of the time, what is waited for comes sooner.
_AT_ONCE = 1.0

# Who waits just now is told of only when it runs again: it is looked twice, with such a part of the
# timeout between.
_LOOKS, _AGAIN = 2, 0.1

# A process that is let run less than this part of the time is given up all the same.
_MOST = 4.0


class Silence:
    """That of a process and of all that it has started."""

    def __init__(self, anew: Anew, timeout: float) -> None:
        self._anew, self._timeout = anew, timeout
        self.broken()

    def broken(self) -> None:
        """Begin anew, since it has said something."""
        self._since = time.monotonic()
        self._before: dict[int, float] | None = None
        self._until, self._looks = self._timeout, 0

    @property
    def seconds(self) -> float:
        """How long it lasts, by the clock."""
        return time.monotonic() - self._since

    def is_too_long(self) -> bool:
        """Whether it has lasted for the timeout, as far as its processes could have run."""
        lasted = self.seconds
        if self._before is None and lasted > min(_AT_ONCE, self._timeout / 2):
            self._before = self._kept_waiting()
        if self._until < lasted <= _MOST * self._timeout and self._looks < _LOOKS:
            until = self._timeout + self._kept_from_running()
            self._looks = 0 if until > lasted else self._looks + 1
            self._until = max(until, lasted + _AGAIN * self._timeout)
        return lasted > min(self._until, _MOST * self._timeout) or self._looks == _LOOKS

    def _kept_from_running(self) -> float:
        """Give the seconds of the process that was kept waiting for the longest."""
        before = self._before or {}
        now = self._kept_waiting()
        return max((seconds - before.get(pid, 0.0) for pid, seconds in now.items()), default=0.0)

    def _kept_waiting(self) -> dict[int, float]:
        """Say of each process how long it has waited for a processor since it was started."""
        pids = (self._anew.pid, *(one.pid for one in self._anew.processes()))
        return {pid: seconds for pid in pids if (seconds := waited_to_run(pid)) is not None}


def waited_to_run(pid: int) -> float | None:
    """Give the seconds for which a process was ready to run and did not; None: nobody knows."""
    try:
        with open(f"/proc/{pid}/schedstat", encoding="ascii") as file:
            return int(file.read().split()[1]) / 1e9
    except (OSError, ValueError, IndexError):
        return None
