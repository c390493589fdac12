"""Which processes a test has started, whatever becomes of them while one looks."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

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


def readers() -> Iterator[psutil.Process]:
    """Give the living processes of ours that look at something for preflight."""
    for process in psutil.Process().children():
        with contextlib.suppress(psutil.NoSuchProcess, psutil.ZombieProcess, psutil.AccessDenied):
            if MARK in process.environ():
                yield process
