"""A loader is not given up for what the machine keeps from it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator

import psutil
import pytest

from preflight.users_code.fresh.anew import Anew
from preflight.users_code.fresh.descendants import Descendant
from preflight.users_code.fresh.silence import Silence, has_run

TIMEOUT = 0.8

pytestmark = pytest.mark.skipif(
    has_run(os.getpid()) is None, reason="only Linux says how long a process waits"
)


class Alone(Anew):
    """One process, that nobody has made."""

    def __init__(self, pid: int, *workers: int) -> None:
        self.pid, self.pids = pid, workers

    def processes(self) -> list[Descendant]:
        """Give those that are its own."""
        return [Descendant(psutil.Process(one), psutil.NoSuchProcess) for one in self.pids]


def run_beside(code: str, others: int, *, are_own: bool = False) -> Iterator[Alone]:
    """Run code on one processor, beside others that leave it little."""
    processor = min(os.sched_getaffinity(0))
    # By their own clock, so that they end when nobody ends them.
    busy = "import time\nend = time.monotonic() + 10\nwhile time.monotonic() < end: pass"
    begun = [
        subprocess.Popen([sys.executable, "-S", "-c", one]) for one in [code, *[busy] * others]
    ]
    for one in begun:
        os.sched_setaffinity(one.pid, {processor})
    os.setpriority(os.PRIO_PROCESS, begun[0].pid, 10)
    try:
        yield Alone(*(one.pid for one in (begun if are_own else begun[:1])))
    finally:
        for one in begun:
            one.kill()
            one.wait()


def lasts(process: Alone, until: float) -> float:
    """Say for how long a silence is borne, or until when it was."""
    silence = Silence(process, TIMEOUT)
    while not silence.is_too_long() and silence.seconds < until:
        time.sleep(0.02)
    return silence.seconds


def test_the_time_for_which_a_process_may_not_run_does_not_count() -> None:
    for process in run_beside("while True: pass", 1):
        assert lasts(process, 2 * TIMEOUT) > 2 * TIMEOUT


def test_a_process_that_waits_for_something_else_is_given_up_in_time() -> None:
    for process in run_beside("import time; time.sleep(100)", 0):
        time.sleep(0.3)  # until it sleeps

        assert TIMEOUT < lasts(process, 4 * TIMEOUT) < 3.9 * TIMEOUT


def test_what_workers_that_try_again_without_end_keep_from_each_other_counts() -> None:
    """Together they run for no longer than the timeout, whatever others take."""
    for process in run_beside("while True: pass", 3, are_own=True):
        every = (process.pid, *process.pids)
        before = sum(one.ran for pid in every if (one := has_run(pid)))
        lasts(process, 4 * TIMEOUT)
        ran = sum(one.ran for pid in every if (one := has_run(pid))) - before

        assert ran < 1.6 * TIMEOUT
