"""Which processes a test has started, whatever becomes of them while one looks."""

from __future__ import annotations

from collections.abc import Iterator

import psutil


def command_of(process: psutil.Process) -> list[str]:
    """Give the words that a process was started with; none of one that has ended."""
    try:
        return process.cmdline()
    except (psutil.NoSuchProcess, psutil.ZombieProcess):
        return []


def opened_by(process: psutil.Process) -> set[str]:
    """Give the paths that a process has open; none of one that has ended."""
    try:
        return {one.path for one in process.open_files()}
    except (psutil.NoSuchProcess, psutil.ZombieProcess):
        return set()


def readers() -> Iterator[psutil.Process]:
    """Give the living processes of ours that look at something for preflight."""
    for process in psutil.Process().children():
        if any("preflight.processes.child" in word for word in command_of(process)):
            yield process
