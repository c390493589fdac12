"""The processes that this one has started, and those that they have.

psutil is imported with this file, before the user's folder is searched for modules. Where theirs
has its name there is none: psutil finds itself by it.
"""

from __future__ import annotations

import contextlib
import os
import sys
from typing import Any

try:
    import psutil
except ImportError:  # the job's interpreter may have none
    psutil = None  # type: ignore[assignment]

_GONE: tuple[type[Exception], ...] = () if psutil is None else (psutil.Error, OSError)


class Descendant:
    """A process that was started by this one, or by another one of them."""

    def __init__(self, process: Any) -> None:
        self.pid: int = process.pid
        self._process = process

    @property
    def created(self) -> float:
        """When it was started, in seconds since the epoch; 0 where it is gone."""
        with contextlib.suppress(*_GONE):
            return float(self._process.create_time())
        return 0.0

    @property
    def parent(self) -> int:
        """The process that started it, or 1 for an orphan; 0 where it is gone."""
        with contextlib.suppress(*_GONE):
            return int(self._process.ppid())
        return 0

    @property
    def words(self) -> str:
        """Its command line; empty where it is gone."""
        with contextlib.suppress(*_GONE):
            return " ".join(self._process.cmdline())
        return ""

    def is_running(self) -> bool:
        """Whether it has not ended."""
        with contextlib.suppress(*_GONE):
            return bool(self._process.is_running()) and bool(
                self._process.status() != psutil.STATUS_ZOMBIE
            )
        return False

    def kill(self) -> None:
        """End it at once."""
        with contextlib.suppress(*_GONE):
            self._process.kill()


def descendants() -> list[Descendant]:
    """Give all that run, the oldest first; none where there is no psutil."""
    if psutil is None or sys.modules.get("psutil") is not psutil:
        return []
    with contextlib.suppress(*_GONE):
        below = map(Descendant, psutil.Process(os.getpid()).children(recursive=True))
        return sorted(below, key=lambda one: (one.created, one.pid))
    return []
