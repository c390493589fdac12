"""Several processes that do the same at the same time, and what each of them says.

They are started one by one as plain interpreters, so that nothing is shared but files; they know
nothing of each other, as ranks do not. They belong to the process that asks, and end with it.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from preflight.values.own_files import HOME

# As our processes are started: our own folder is on the path only while we are imported.
_BOOT = (
    "import os, sys; sys.path[:1] == [''] and sys.path.pop(0); "
    "home = sys.argv.pop(1); sys.path[:0] = [os.path.dirname(os.__file__), home]; "
    "import {module}; sys.path.remove(home); {module}.main()"
)

# How often it is looked whether one has died, and said that work goes on, in seconds.
_POLL = 0.1

# How long one may take to end that was killed, in seconds.
_END = 5.0


class Crew:
    """Processes that take orders in lines of JSON, and answer each with one."""

    def __init__(
        self,
        module: str,
        told: Sequence[Mapping[str, Any]],
        alive: Callable[[], object],
        *,
        options: Sequence[str] = (),
        environments: Sequence[Mapping[str, str]] = (),
    ) -> None:
        """Start one for each that is told something.

        Raises:
            OSError: the interpreter cannot be started.
        """
        self._alive = alive
        self._said: list[queue.Queue[dict[str, Any]]] = []
        self._processes: list[subprocess.Popen[bytes]] = []
        for number, one in enumerate(told):
            own = environments[number] if environments else {}
            process = subprocess.Popen(
                [
                    *(sys.executable, *options, "-c", _BOOT.format(module=module)),
                    *(HOME, json.dumps(one)),
                ],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env={**os.environ, **own},
            )
            said: queue.Queue[dict[str, Any]] = queue.Queue()
            threading.Thread(target=_hear, args=(process, said), daemon=True).start()
            self._processes.append(process)
            self._said.append(said)

    def __enter__(self) -> Crew:  # noqa: PYI034  Self is of Python 3.11
        return self

    def __exit__(self, *_: object) -> None:
        self.end(range(len(self._processes)))

    def end(self, numbers: Iterable[int]) -> None:
        """End some of them, whatever they do."""
        for one in map(self._processes.__getitem__, numbers):
            one.kill()
            with contextlib.suppress(subprocess.TimeoutExpired):  # it hangs in the system itself
                one.wait(_END)
            if one.stdin is not None:
                with contextlib.suppress(OSError):
                    one.stdin.close()

    def order(self, what: str, **more: Any) -> None:
        """Give all of them the same order."""
        line = json.dumps({"order": what, **more}).encode() + b"\n"
        for one in self._processes:
            assert one.stdin is not None  # noqa: S101  for the type checker
            # It has died, which its silence will say, or was ended by us.
            with contextlib.suppress(OSError, ValueError):
                one.stdin.write(line)
                one.stdin.flush()

    def answers(self, seconds: float) -> list[dict[str, Any] | None]:
        """Hear one answer of each; None of those that died, or are silent for so long."""
        until = time.monotonic() + seconds
        return [self._answer(number, until) for number in range(len(self._processes))]

    def answer(self, number: int, seconds: float) -> dict[str, Any] | None:
        """Hear one answer of one of them."""
        return self._answer(number, time.monotonic() + seconds)

    def status(self, number: int) -> int | None:
        """Give the exit status of one; None: it runs."""
        return self._processes[number].poll()

    def _answer(self, number: int, until: float) -> dict[str, Any] | None:
        while True:
            self._alive()
            has_ended = self._processes[number].poll() is not None
            with contextlib.suppress(queue.Empty):
                return self._said[number].get(timeout=_POLL)
            if has_ended or time.monotonic() > until:
                return None


def _hear(process: subprocess.Popen[bytes], said: queue.Queue[dict[str, Any]]) -> None:
    assert process.stdout is not None  # noqa: S101  for the type checker
    with process.stdout as lines:
        for line in lines:
            with contextlib.suppress(ValueError):
                said.put(json.loads(line))
