"""Starts the script's own process, hears what it tells, and ends what it has left."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from preflight.processes.orphans import KILL
from preflight.scripts.inside import ASKED, BOOT
from preflight.scripts.surroundings import standard_input
from preflight.scripts.thread_stacks import below
from preflight.scripts.watch import OF_PROCESS, TOLD
from preflight.users_code.fresh.descendants import computed
from preflight.values.own_files import HOME

# Which part of its time a process computes that only waits.
_AT_REST = 0.02


@dataclass(slots=True, kw_only=True)
class ScriptProcess:
    """A script that runs."""

    popen: subprocess.Popen[bytes]
    scratch: str
    _read: dict[str, int] = field(default_factory=dict)
    _begun: dict[str, bytes] = field(default_factory=dict)
    computed: float | None = None
    """Seconds that it had computed when it was heard last."""

    heard: float = field(default_factory=time.monotonic)
    """When it last gave a sign of itself, by the monotonic clock."""

    def lines(self) -> Iterator[Mapping[str, Any]]:
        """Give what it has told since it was last asked, and what processes that it has started."""
        yield from self._lines(self.scratch)
        for name in sorted(os.listdir(self.scratch)):
            number = name.removeprefix(OF_PROCESS)
            if name.startswith(OF_PROCESS) and number.isdecimal():
                for line in self._lines(os.path.join(self.scratch, name)):
                    yield {"process": int(number), **line}

    def _lines(self, folder: str) -> Iterator[Mapping[str, Any]]:
        try:
            with open(os.path.join(folder, TOLD), "rb") as file:
                file.seek(self._read.get(folder, 0))
                told = file.read()
        except FileNotFoundError:
            return
        self._read[folder] = self._read.get(folder, 0) + len(told)
        *whole, self._begun[folder] = (self._begun.get(folder, b"") + told).split(b"\n")
        if whole:
            self.heard = time.monotonic()
            self.computed = None
        yield from map(json.loads, whole)

    def end(self) -> None:
        """End it, where it is still at work, and what it has started and would leave behind."""
        left = below(self.popen.pid) if self.popen.poll() is None else ()
        self.popen.kill()
        self.popen.wait()
        for pid in left:
            with contextlib.suppress(OSError):
                os.kill(pid, KILL)

    def silent(self, timeout: float) -> str | None:
        """Say whether it has given no sign for so long: `stuck`, or `late` where it computes."""
        pid = self.popen.pid
        if self.computed is None:
            self.computed = computed((pid, *below(pid)))
        seconds = time.monotonic() - self.heard
        if seconds < timeout:
            return None
        now = computed((pid, *below(pid)))
        if now is None or self.computed is None:
            return "late"
        return "stuck" if now - self.computed < _AT_REST * seconds else "late"


def start(wire: Mapping[str, Any], options: Mapping[str, Any]) -> ScriptProcess:
    """Start a script in this process's folder and environment; what it prints goes to stderr.

    Raises:
        OSError: it cannot be started.
    """
    scratch = wire["scratch"]
    asked = {"script": wire, "options": options}
    with open(os.path.join(scratch, ASKED), "w", encoding="utf-8") as file:
        json.dump(asked, file)
    # Sources beside the script are compiled in memory: its folder stays as it is.
    settings = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    settings.pop("PYTHONFAULTHANDLER", None)
    settings.update(wire.get("environ", {}))
    stdin = standard_input.opened(wire.get("stdin"))
    try:
        popen = subprocess.Popen(
            [sys.executable, "-c", BOOT, HOME, scratch], stdin=stdin, stdout=2, env=settings
        )
    finally:
        if stdin >= 0:
            os.close(stdin)
    return ScriptProcess(popen=popen, scratch=scratch)
