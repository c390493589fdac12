"""Leaves multiprocessing as it was before workers of ours were started."""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from multiprocessing import context, forkserver, process, resource_tracker, util
from typing import Any

_GOODBYE = 2.0  # seconds


@contextlib.contextmanager
def as_if_nothing_was_started(path: Sequence[str]) -> Iterator[None]:
    """Start with the path that the user's code has left, and leave multiprocessing as it was.

    Even explicit contexts settle what the default one is, and count the processes that they start.
    """
    default: Any = vars(context)["_default_context"]
    names: Any = vars(process)
    before = sys.path[:], default._actual_context, names["_process_counter"]  # noqa: SLF001
    sys.path[:], names["_process_counter"] = path, itertools.count(1)
    try:
        yield
    finally:
        sys.path[:], default._actual_context, names["_process_counter"] = before  # noqa: SLF001


@contextlib.contextmanager
def nothing_left_over() -> Iterator[None]:
    """End what multiprocessing starts beside its workers, unless it ran before."""
    server: Any = vars(forkserver).get("_forkserver")
    tracker: Any = vars(resource_tracker).get("_resource_tracker")
    config: Any = process.current_process()._config  # type: ignore[attr-defined]  # noqa: SLF001
    had_server = getattr(server, "_forkserver_pid", None) is not None
    had_tracker = getattr(tracker, "_fd", None) is not None
    had_folder = config.get("tempdir") is not None
    try:
        yield
    finally:
        if not had_server and getattr(server, "_forkserver_pid", None) is not None:
            _end(server, "_forkserver_alive_fd", "_forkserver_pid")
            server._forkserver_address = None  # noqa: SLF001
        if not had_tracker and getattr(tracker, "_fd", None) is not None:
            _end(tracker, "_fd", "_pid")
        if not had_folder and config.get("tempdir") is not None:
            _remove_folder()


def _remove_folder() -> None:
    """Remove multiprocessing's own temporary folder now, as it does itself at the end."""
    names: Any = vars(util)
    for last_thing in list(names["_finalizer_registry"].values()):
        if last_thing._callback is names.get("_remove_temp_dir"):  # noqa: SLF001
            last_thing()


def _end(helper: Any, alive: str, pid: str) -> None:
    """Let a process of multiprocessing end, as its own `_stop` does, and not wait for ever.

    It waits for the end of a pipe, which whatever a worker has left behind may hold open.
    """
    os.close(getattr(helper, alive))
    number = getattr(helper, pid)
    setattr(helper, alive, None)
    setattr(helper, pid, None)
    until = time.monotonic() + _GOODBYE
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(number, os.WNOHANG) == (0, 0):
            if time.monotonic() > until:
                os.kill(number, signal.SIGKILL)
                os.waitpid(number, 0)
                break
            time.sleep(0.01)
