"""Which processes a test has started, whatever becomes of them while one looks."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator

import psutil

from preflight.processes.spawn import MARK

HEED_INTERRUPTS = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
"""What begins the code of a process, as Python itself does where interrupts are not ignored.

Whoever runs the tests in the background, or under nohup, has them ignored.
"""


def opened_by(process: psutil.Process) -> set[str]:
    """Give the paths that a process has open; none of one that has ended."""
    try:
        return {one.path for one in process.open_files()}
    except (psutil.NoSuchProcess, psutil.ZombieProcess):
        return set()


def slow_down(path: str, until: Callable[[], object]) -> psutil.Process:
    """Have the child that comes to a file be slow with it up to then, and not busy; give it."""
    while True:
        for one in psutil.Process().children():
            if path in opened_by(one):
                with contextlib.suppress(psutil.NoSuchProcess):
                    for _ in range(20):
                        if until():
                            break
                        one.suspend()
                        time.sleep(1.1)  # after which work is to show life
                        one.resume()
                        time.sleep(0.05)
                return one
        time.sleep(0.01)


def readers() -> Iterator[psutil.Process]:
    """Give the living processes of ours that look at something for preflight."""
    for process in psutil.Process().children():
        with contextlib.suppress(psutil.NoSuchProcess, psutil.ZombieProcess, psutil.AccessDenied):
            if MARK in process.environ():
                yield process
