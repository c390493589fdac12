"""Steps of training that take no batch of a loader: nothing but time makes such a loop short."""

from __future__ import annotations

import time

from preflight.scripts.met.lines.brought_forward import BroughtForward
from preflight.scripts.met.loops.leaving import Leaving
from preflight.scripts.met.loops.ranks_in_step import Together
from preflight.scripts.watch import Watch

# How long a script may take steps without a loader, to come to what stands behind its last one;
# and how long it may where its last batch came of one, of which it may make many steps; in seconds.
_WITHOUT, _OF_ONE_BATCH = 10.0, 60.0

# For how long nothing is made true that comes by steps, and how long it is where nothing more is
# waited for; in seconds.
_BY_ITSELF = 3.0


class OwnSteps:
    """Counts the steps since the last batch, and ends the script after enough."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._together = Together()
        self._leaving = Leaving(watch)
        self._forward = BroughtForward(watch)
        self._batches = 0
        self._steps = 0
        self._since = 0.0
        """When the first step was taken since the last batch, by the monotonic clock."""

    def stepped(self) -> None:
        """Count a step.

        Raises:
            Stopped: there were enough.
        """
        watch = self._watch
        if watch.trained_on != self._batches or not self._steps:
            self._batches, self._steps, self._since = watch.trained_on, 0, time.monotonic()
        self._steps += 1
        if self._steps <= watch.batches * watch.epochs:
            return
        self._forward.by_time()
        took = time.monotonic() - self._since
        if took > _BY_ITSELF and self._forward.by_count():
            return
        goes_on = took < self._most()
        if self._together.decided(f"step {self._batches}.{self._steps}", goes_on):
            return
        at = watch.place()
        place = "" if at is None else f" ({at.file}:{at.line})"
        words = (
            f"training to what came of {took:.0f} s: its steps take no batches of a loader{place}"
        )
        self._forward.end()
        if self._leaving.can_leave(words):
            self._since = time.monotonic()
            return
        watch.shortened(f"{words}, and not to what stands behind")
        watch.stop("steps")

    def _most(self) -> float:
        watch = self._watch
        if watch.trained_on and watch.in_epoch:
            return _OF_ONE_BATCH
        has_all = watch.has_met("save") and watch.has_met("evaluation")
        return _BY_ITSELF if has_all or watch.options.get("resuming") else _WITHOUT
