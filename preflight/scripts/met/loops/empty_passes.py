"""Passes over loaders that give nothing, one after the other: a loop that never comes further."""

from __future__ import annotations

import time
from typing import Any

from preflight.loaders.epoch import length_of
from preflight.scripts.facts import Met
from preflight.scripts.watch import Watch
from preflight.users_code.facts import Frame

# So many in a row, for so many seconds: a loop over the parts of a data set, some of them empty, is
# over by then. And one that waits for its data mostly sleeps: a loop that goes round computes for
# more than this part of the time, also on a busy machine.
_MOST, _SECONDS, _AT_WORK = 50, 5.0, 0.1


class EmptyPasses:
    """Ends a script that begins loaders again and again, and has no batch of any and no step."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._came_to: tuple[int, int] | None = None
        self._passes: dict[Frame | None, int] = {}
        self._since = self._computed = self._queued = 0.0
        self.ours = 0.0
        """Seconds of the processor that looking at passes has taken, which are not the loop's."""

    def begin(self, loader: Any, at: Frame | None) -> None:
        """Count a pass that begins.

        Raises:
            Stopped: there were enough of them.
        """
        watch = self._watch
        come_to = watch.given, watch.steps
        if come_to != self._came_to:
            self._came_to, self._passes, self._since = come_to, {}, time.monotonic()
            self._computed = time.thread_time() - self.ours
            self._queued = _queued()
        passes = self._passes.get(at, 0)
        self._passes[at] = passes + 1
        seconds = time.monotonic() - self._since
        if passes < _MOST or seconds < _SECONDS:
            return
        had = seconds - (_queued() - self._queued)
        if time.thread_time() - self.ours - self._computed <= _AT_WORK * had:
            return
        place = "" if at is None else f" ({at.file}:{at.line})"
        watch.shortened(f"passes that give nothing to {passes:,}{place}")
        if not _is_told(loader, watch):
            watch.met(Met(what="goes round", at=at, count=passes))
        watch.stop("passes that give nothing")


def _queued() -> float:
    """Give the seconds that this thread has waited for a processor, where the system tells."""
    try:
        with open("/proc/thread-self/schedstat", "rb") as file:
            return int(file.read().split()[1]) / 1e9
    except (OSError, ValueError, IndexError):
        return 0.0


def _is_told(loader: Any, watch: Watch) -> bool:
    """Whether it is known without a run that this loader gives nothing, and a check tells so."""
    return watch.wants("Sent") and length_of(loader) == 0
