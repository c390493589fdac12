"""The processes that this one has started, and those that they have.

psutil is imported before the user's folder is searched for modules. Where theirs has its name there
is none: psutil finds itself by it.
"""

from __future__ import annotations

import contextlib
import functools
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any


@functools.cache
def import_psutil() -> Any:
    """Give psutil as it is found at the first call; the job's interpreter may have none."""
    try:
        import psutil
    except ImportError:
        return None
    return psutil


class Descendant:
    """A process that was started by this one, or by another one of them."""

    def __init__(self, process: Any, gone: type[Exception]) -> None:
        self.pid: int = process.pid
        self._process = process
        self._gone = gone

    @property
    def created(self) -> float:
        """When it was started, in seconds since the epoch; 0 where it is gone."""
        with contextlib.suppress(self._gone, OSError):
            return float(self._process.create_time())
        return 0.0

    @property
    def parent(self) -> int:
        """The process that started it, or 1 for an orphan; 0 where it is gone."""
        with contextlib.suppress(self._gone, OSError):
            return int(self._process.ppid())
        return 0

    @property
    def words(self) -> str:
        """Its command line; empty where it is gone."""
        with contextlib.suppress(self._gone, OSError):
            return " ".join(self._process.cmdline())
        return ""

    def is_running(self) -> bool:
        """Whether it has not ended."""
        with contextlib.suppress(self._gone, OSError):
            return bool(self._process.is_running() and self._process.status() != "zombie")
        return False

    @property
    def exit_status(self) -> int | None:
        """How it ended, where nobody has asked that yet; negative: the signal that killed it.

        None where it runs, or nobody can tell: Linux alone says so of what others have started
        (man 5 proc: the last field of `stat`).
        """
        with contextlib.suppress(self._gone, OSError, ValueError, IndexError):
            if self._process.status() == "zombie":
                said = Path(f"/proc/{self.pid}/stat").read_text(encoding="ascii", errors="replace")
                return os.waitstatus_to_exitcode(int(said.split()[-1]))
        return None

    def kill(self) -> None:
        """End it at once."""
        with contextlib.suppress(self._gone, OSError):
            self._process.kill()


def descendants() -> list[Descendant]:
    """Give all that run, the oldest first; none where there is no psutil."""
    psutil: Any = import_psutil()
    if psutil is None or sys.modules.get("psutil") != psutil:
        return []
    with contextlib.suppress(psutil.Error, OSError):
        below = psutil.Process(os.getpid()).children(recursive=True)
        found = (Descendant(one, psutil.Error) for one in below)
        return sorted(found, key=lambda one: (one.created, one.pid))
    return []


def computed(pids: Iterable[int]) -> float | None:
    """Give the seconds that processes have computed so far; None where nobody can tell."""
    psutil: Any = import_psutil()
    if psutil is None:
        return None
    total = 0.0
    for pid in pids:
        with contextlib.suppress(psutil.Error):
            times = psutil.Process(pid).cpu_times()
            total += times.user + times.system
    return total
