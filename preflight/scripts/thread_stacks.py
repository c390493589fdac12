"""Has the stacks of a script's threads and processes written, and reads them."""

from __future__ import annotations

import contextlib
import faulthandler
import os
import signal
import sys
import time
from collections.abc import Iterable, Iterator

from preflight.scripts.facts import Waiting
from preflight.users_code.own import OwnFiles
from preflight.users_code.written_stacks import Call, threads_of

STACKS = "stacks.txt"
"""In the scratch folder."""

# How long a process is given to write its stacks, in seconds.
_WRITING = 0.3

_MOST = 16
"""Processes that are asked."""


def asking() -> int | None:
    """Give the signal that asks for stacks, and that no script uses; None where there is none."""
    if not hasattr(faulthandler, "register"):
        return None
    least = getattr(signal, "SIGRTMIN", None)
    return int(signal.SIGUSR2) if least is None else int(least) + 7


def write_when_asked(scratch: str) -> None:
    """Have this process, and those that it forks, write their stacks at the signal."""
    number = asking()
    if number is not None:
        file = open(os.path.join(scratch, STACKS), "ab", buffering=0)  # noqa: SIM115  for good
        faulthandler.register(number, file=file, all_threads=True, chain=False)


def stacks_of(script: int, below: Iterable[int], scratch: str, own: OwnFiles) -> list[Waiting]:
    """Ask the script, and what it has started, where their threads are."""
    found: list[Waiting] = []
    number = asking()
    for pid in () if number is None else (script, *list(below)[:_MOST]):
        before = _written(scratch)
        with contextlib.suppress(OSError):
            assert number is not None  # noqa: S101  for the type checker
            os.kill(pid, number)
            time.sleep(_WRITING)
            name = "script" if pid == script else f"process {pid}"
            found += _threads(name, _written(scratch)[len(before) :], own)
    return found


def _written(scratch: str) -> str:
    try:
        with open(os.path.join(scratch, STACKS), encoding="utf-8", errors="replace") as file:
            return file.read()
    except FileNotFoundError:
        return ""


def _threads(process: str, text: str, own: OwnFiles) -> Iterator[Waiting]:
    """Give each thread; the main one comes last of those that are written, and first here."""
    for number, calls in enumerate(filter(None, reversed(threads_of(text))), 1):
        yield Waiting(
            process=process,
            thread=number,
            frames=tuple(own.frame(*one) for one in reversed(calls) if own.has(one[0])),
            within=_within(calls[0], own),
        )


def _within(call: Call, own: OwnFiles) -> str:
    file, line, name = call
    return "" if own.has(file) else f"{os.path.basename(file)}:{line} in {name}"


def below(pid: int) -> list[int]:
    """Give what a process has started and is still there."""
    if sys.platform == "linux":
        from preflight.processes.orphans import descendants

        return descendants(pid)
    try:
        import psutil

        return [one.pid for one in psutil.Process(pid).children(recursive=True)]
    except (ImportError, OSError, RuntimeError):
        return []
