"""A loader is not given up for what the machine keeps from it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from preflight.users_code.anew import Anew
from preflight.users_code.descendants import Descendant
from preflight.users_code.silence import Silence, waited_to_run

TIMEOUT = 0.8

pytestmark = pytest.mark.skipif(
    waited_to_run(os.getpid()) is None, reason="only Linux says how long a process waits"
)


class Alone(Anew):
    """One process, that nobody has made."""

    def __init__(self, pid: int) -> None:
        self.pid = pid

    def processes(self) -> list[Descendant]:
        """Give none."""
        return []


def run_beside(code: str, others: int) -> Iterator[Alone]:
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
        yield Alone(begun[0].pid)
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
