"""Passes over loaders: how many batches each gives, and when there were enough of them."""

from __future__ import annotations

import itertools
import time

from preflight.scripts.met.lines.counted import counts_itself
from preflight.scripts.met.loops.epoch_ends import Beginnings
from preflight.scripts.met.loops.leaving import Leaving
from preflight.scripts.met.loops.ranks_in_step import Together
from preflight.scripts.met.loops.seldom import Seldom
from preflight.scripts.met.loops.strict_zips import StrictZips
from preflight.scripts.watch import Watch
from preflight.users_code.facts import Frame
from preflight.values.names import counted

# Passes over loaders at one line without a step of training: beyond that, it is no set-up.
_MOST_PASSES = 50

# How long a script may go on, with a batch an epoch, to come to what stands behind its last one;
# in seconds.
_TO_THE_END = 5.0

# How many batches a script may get until its first step, and for how long, in seconds.
_MOST_ADDED_UP, _TO_A_STEP = 256, 20.0


class Passes:
    """Counts the passes over loaders by the script's lines, and ends the script after enough."""

    def __init__(self, watch: Watch) -> None:
        self.watch = watch
        self.trains: set[Frame | None] = set()
        """The lines that train, whatever the mode."""

        self.cut: set[Frame | None] = set()
        """The lines whose last epoch was ended before its end: the next one begins too soon."""

        self._begun: dict[tuple[str, int] | None, list[int]] = {}
        self._enough: float | None = None
        """Since when there were epochs enough, by the monotonic clock."""

        self._together = Together()
        self._leaving = Leaving(watch)
        self.beginnings = Beginnings(watch, self._together)
        self.strict = StrictZips(watch)
        self.seldom = Seldom(watch, self._together)
        self._ended = ""
        """What was told of the first end: a bare `except` goes on behind it, again and again."""

        self._added = 0
        self._began_to_add: float | None = None
        """How many batches were given to come to a first step, and since when."""

        self._beyond = 0
        """How many batches the script got that it counts itself."""

    def begin(self, at: Frame | None) -> int:
        """Count a pass for training, and give how many batches it has.

        After enough epochs it is one, for some seconds, so that a script whose epochs are counted
        comes to its end.

        Raises:
            Stopped: there were enough.
        """
        watch = self.watch
        watch.passes += 1
        steps = self._begun.setdefault(None if at is None else (at.file, at.line), [])
        steps.append(watch.steps)
        trained = sum(after > before for before, after in itertools.pairwise(steps))
        if trained < watch.epochs and len(steps) <= _MOST_PASSES:
            self.seldom.begins()
            return watch.batches
        self.seldom.forward.by_time()
        place = "" if at is None else f" ({at.file}:{at.line})"
        if self._is_soon(f"pass {len(steps)}{place}"):
            watch.shortened(f"epochs after the first {watch.epochs} to 1 batch")
            return 1
        words = f"training to {counted(len(steps) - 1, 'epoch')}{place}"
        if self.seldom.forward.by_count() or self._leaves(words):
            return 1
        self._ended = self._ended or f"{words}, and not to what stands behind"
        watch.shortened(self._ended)
        watch.stop("epochs")
        return 0

    def _leaves(self, words: str) -> bool:
        """Have a loop around it end, if one can, and the script go on for a while."""
        self.seldom.forward.end()
        if not self._leaving.can_leave(words):
            return False
        self._enough = None
        return True

    def _is_soon(self, what: str) -> bool:
        """Whether there was enough, and the script may go on for a while all the same.

        All ranks do as one of them does, which is asked by what is to come.
        """
        if self._enough is None:
            self._enough = time.monotonic()
        return self._together.decided(what, time.monotonic() - self._enough < _TO_THE_END)

    def awaits_step(self, at: Frame | None) -> bool:
        """Whether the script gets more batches, since it adds up gradients for its first step."""
        self._added += 1
        place = "" if at is None else f" ({at.file}:{at.line})"
        if self._began_to_add is None:
            self._began_to_add = time.monotonic()
        if self._added <= _MOST_ADDED_UP and self._together.decided(
            f"sum {self._added}{place}", time.monotonic() - self._began_to_add < _TO_A_STEP
        ):
            return True
        self.watch.shortened(f"epochs to batches of which none came to a step{place}")
        return False

    def goes_beyond(self, at: Frame | None, *, strictly: bool = False) -> bool:
        """Whether the script gets more batches, since it counts them itself.

        Or since it takes them side by side with what is not made short, which raises otherwise.

        Raises:
            Stopped: it has gone on for long.
        """
        watch = self.watch
        if not (strictly or counts_itself(watch.frames())):
            return False
        self._beyond += 1
        place = "" if at is None else f" ({at.file}:{at.line})"
        if self._is_soon(f"batch {self._beyond}{place}"):
            return True
        words = f"training to what came of {_TO_THE_END:g} s: it counts batches{place}"
        if self.seldom.forward.by_count() or self._leaves(words):
            return True
        watch.shortened(f"{words}, and not to what stands behind")
        watch.stop("batches")
        return False
