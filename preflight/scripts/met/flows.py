"""Has the pipelines of loaders count that a script begins, through their first epoch."""

from __future__ import annotations

import random
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from preflight.batches.past_the_end import BLINDLY, PART
from preflight.flow.fitted import Fitted, fit
from preflight.flow.told import CAME, OVER
from preflight.objects.facts import Definition
from preflight.scripts.watch import Watch
from preflight.users_code.frames import said_by
from preflight.values.names import counted
from preflight.values.own_files import theirs

# Loaders that one line begins, of which an epoch is drawn to its end.
_MOST_OF_ONE_LINE = 3

# A sign of life so often meanwhile, in seconds.
_SIGN = 0.5

_RUN: Counter[str] = Counter()
"""How many of each line were drawn so."""


class Counting:
    """A loader whose pipeline counts while its first epoch is drawn."""

    def __init__(self, fitted: Fitted | None, name: str, watch: Watch) -> None:
        self._fitted = fitted
        self._name = name
        self._watch = watch
        self._left = False
        """Whether what is left of its epoch is still to be drawn."""

    @property
    def is_counting(self) -> bool:
        """Whether it counts."""
        return self._fitted is not None

    def drawing(self) -> AbstractContextManager[None]:
        """Have what begins count while a batch is drawn, and what the script does between not."""
        return nullcontext() if self._fitted is None else self._fitted.drawing()

    def came(self) -> None:
        """Give the pipeline its own stages back: what it has begun goes on to count."""
        if self._fitted is not None:
            self._fitted.undo()
            self._left = self._fitted.may_swallow and _RUN[self._name] < _MOST_OF_ONE_LINE
            _RUN[self._name] += self._left
            self._tell(1, CAME)

    def over(self, batches: int) -> None:
        """Note that the loader came to the end of its data."""
        self._left = False
        if self._fitted is not None:
            if not batches:
                self._fitted.undo()
            self._tell(batches, OVER)

    def go_on(self, batches: Iterator[Any], given: int) -> None:
        """Draw what is left of the epoch, as far as time allows, where errors may be swallowed."""
        if self._fitted is None or not self._left:
            return
        self._left = False
        self._fitted.hurry()
        budget = self._watch.options.get("budget")
        seconds = BLINDLY if budget is None else budget * PART
        until, said = time.monotonic() + seconds, 0.0
        with _by_chance_as_before():
            while (now := time.monotonic()) < until:
                if now - said > _SIGN:
                    self._watch.tell(counting=self._fitted.about["folder"])
                    said = now
                try:
                    with self._watch.looking(), self.drawing():
                        theirs(next)(batches)
                except StopIteration:
                    self.over(given)
                    return
                given += 1
        came = counted(given, "batch", "batches")
        self._tell(given, CAME, f"its epoch took more than the {seconds:g} s for {came}")

    def at_end(self, batches: Iterator[Any], given: int) -> None:
        """Do so where the script has left the loader early, and has ended."""
        if self._watch.has_raised:
            return
        try:
            self.go_on(batches, given)
        except Exception as error:  # noqa: BLE001  the job's own loader raises anything
            why = f"behind the batches that the script took, it raises {said_by(error)}"
            self._tell(given, CAME, why)

    def _tell(self, batches: int, how: str, why: str = "") -> None:
        assert self._fitted is not None  # noqa: S101  for the type checker
        folder = self._fitted.about["folder"]
        self._watch.tell(counted=folder, is_at=how, batches=batches, why=why)


@contextmanager
def _by_chance_as_before() -> Iterator[None]:
    """Have the script go on with the random numbers that it would have drawn."""
    torch, numpy = sys.modules["torch"], sys.modules.get("numpy.random")
    before = random.getstate(), torch.get_rng_state(), numpy and numpy.get_state()
    try:
        yield
    finally:
        random.setstate(before[0])
        torch.set_rng_state(before[1])
        if numpy is not None and before[2] is not None:
            numpy.set_state(before[2])


def counting(loader: Any, name: str, watch: Watch) -> Counting:
    """Have the pipeline of a loader count, where somebody asks for it."""
    fitted = None
    if watch.wants("Flow"):
        fitted = fit(loader, Definition(), watch.root, scratch=watch.scratch)
    if fitted is not None:
        workers = getattr(loader, "num_workers", 0)
        known = {"name": name, "num_workers": workers if isinstance(workers, int) else 0}
        watch.tell(counts={**fitted.about, **known})
    return Counting(fitted, name, watch)
