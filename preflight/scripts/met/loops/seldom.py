"""Evaluations and saves that come once in many steps: where these are quick, the loop goes on.

`if step % 500 == 0: save(…)` in the body of a loop over a loader: it is come to by taking steps.
"""

from __future__ import annotations

import ast
import inspect
import time
from collections.abc import Iterator
from types import FrameType
from typing import NamedTuple

from preflight.scripts.facts import Met
from preflight.scripts.met.lines.brought_forward import BroughtForward
from preflight.scripts.met.lines.count_tests import number, periodic
from preflight.scripts.met.lines.counted import at_work
from preflight.scripts.met.lines.rare_tests import is_worth, not_come_to, operands
from preflight.scripts.met.loops.ranks_in_step import Together
from preflight.scripts.watch import Watch
from preflight.users_code.facts import Frame

# After so many batches by which a count has not moved, it is none of steps.
_MOST_UNCOUNTED = 32

# How long a script takes steps for it, all in all, in seconds.
_SECONDS = 10.0


class _Due(NamedTuple):
    file: str
    line: int
    steps: int
    """How far the script counts."""

    every: int
    rest: int
    begins_later: bool
    """Whether something else is asked for, such as `step > 0`."""

    @property
    def is_now(self) -> bool:
        return self.steps % self.every == self.rest and bool(self.steps or not self.begins_later)

    def comes_within(self, given: int) -> bool:
        """Whether so many batches bring it, one count for each; the last may be still at work."""
        return self.every + self.begins_later <= given <= self.steps + 1

    @property
    def left(self) -> int:
        """Steps until then."""
        return (self.rest - self.steps) % self.every or self.every

    def was(self, steps: int, *, at_zero: bool) -> bool:
        """Whether it has come in the last so many steps; what is counted first may be tested."""
        least = max(0 if at_zero else 1, self.steps - steps)
        return any(self._replace(steps=one).is_now for one in range(least, self.steps))


class Seldom:
    """What of a script's loops comes seldom, and for how long it is gone on to it."""

    def __init__(self, watch: Watch, together: Together) -> None:
        self._watch = watch
        self._together = together
        self.forward = BroughtForward(watch)
        self._asked = 0
        self._was_at_zero = False
        """Whether something had come when it was asked first, as of step 0 it does."""

        self._told: set[tuple[str, int]] = set()
        self._begun = 0.0
        self._a_step: float | None = None
        self._moved: dict[tuple[str, int], tuple[int, int]] = {}
        """How far each count was when it moved last, and how many batches were given then."""

        self._reached: dict[tuple[str, int], bool] = {}
        """What has come, and whether the batch in which it comes was given."""

        watch.on_stop.append(self._tell)

    def begins(self) -> None:
        """Note that an epoch begins, whose steps tell how quick the script is."""
        self._begun = time.monotonic()

    def more(self, given: int, batches: int | None, at: Frame | None, a_step: float | None) -> bool:
        """Whether the script gets another batch, so that it comes to one of these.

        Args:
            given: batches of this epoch up to now.
            batches: those of a whole one.
            at: the loop.
            a_step: seconds from one step to the next, where that is known: workers that start and
                a first step take longer.
        """
        watch, self._a_step = self._watch, a_step
        if at is None or watch.left or watch.options.get("resuming"):
            return False
        if self.forward.by_time():
            return True
        if watch.has_met("save") and watch.has_met("evaluation"):
            return False
        dues = [*_dues(watch)]
        if not dues:
            return False
        if not self._asked:
            self._was_at_zero = watch.has_met("save", "evaluation")
        self._asked += 1
        mine = self._goes_on(dues, given, batches, at)
        return self._together.decided(f"seldom {self._asked} {at.file}:{at.line}", mine)

    def _goes_on(self, dues: list[_Due], given: int, batches: int | None, at: Frame) -> bool:
        watch, took = self._watch, time.monotonic() - self._begun
        if any(self._comes_now(one, given) for one in dues):
            return True
        left = (one for one in dues if (one.file, one.line) not in self._reached)
        rest = [one for one in left if self._moves(one, given)]
        in_epoch = [one for one in rest if batches is None or given + one.left < batches]
        if any(self._is_quick(one.left, given, took) for one in in_epoch):
            return True  # a stream without a length may end before
        if in_epoch and self.forward.by_count():
            return True
        for one in sorted(in_epoch, key=lambda one: one.left) if batches is not None else ():
            if (one.file, one.line) not in self._told:
                self._told.add((one.file, one.line))
                place = watch.own.frame(one.file, one.line, at.function)
                watch.met(Met(what="seldom", at=place, name=str(given + one.left + 1)))
        return False

    def _comes_now(self, one: _Due, given: int) -> bool:
        """Whether it comes in the batch that is asked for; note what has come."""
        key = one.file, one.line
        if key in self._reached:
            comes, self._reached[key] = not self._reached[key], True
            return comes
        if one.is_now and not one.comes_within(given):
            self._reached[key] = False
            return True
        if one.comes_within(given) or one.was(given, at_zero=self._was_at_zero):
            self._reached[key] = True
        return False

    def _moves(self, one: _Due, given: int) -> bool:
        """Whether a count goes on with the batches."""
        steps, since = self._moved.get((one.file, one.line), (None, given))
        if steps != one.steps or given < since:
            self._moved[one.file, one.line] = one.steps, given
            return True
        return given - since <= _MOST_UNCOUNTED

    def _tell(self) -> None:
        """Tell behind which tests may stand what was not seen; of what ranks do, they tell."""
        is_told = self._watch.has_raised or self._watch.has_met("rank")
        for one in not_come_to(self._watch) if not is_told else ():
            # What saves there, too, and has saved, has evaluated in a way that nobody has seen.
            has_come = one.saves and self._watch.has_met("save")
            if not has_come and (one.file, one.line) not in self._told:
                self._told.add((one.file, one.line))
                place = self._watch.own.frame(one.file, one.line, "")
                self._watch.met(Met(what="seldom", at=place))

    def _is_quick(self, steps: int, given: int, took: float) -> bool:
        each = took / max(1, given)
        each = each if self._a_step is None else min(each, self._a_step)
        return took < _SECONDS and each * steps < _SECONDS


def _dues(watch: Watch) -> Iterator[_Due]:
    """Give what a loop does seldom that takes the batches, as far as its count is known.

    It draws them itself, or from a generator or an object that draws them for it.
    """
    for frame in watch.frames():
        loops = [*at_work(frame, ast.For, ast.While)]
        for node in (each for loop in loops[-1:] for each in _behind_head(loop)):
            if isinstance(node, ast.If) and is_worth(node):
                yield from _of_test(node, frame)
        if loops and not frame.f_code.co_flags & inspect.CO_GENERATOR:
            return


def _behind_head(loop: ast.AST) -> Iterator[ast.AST]:
    for part in getattr(loop, "body", ()):
        yield from ast.walk(part)


def _of_test(node: ast.If, frame: FrameType) -> Iterator[_Due]:
    tests = operands(node.test)
    for asked in (each for one in tests if (each := periodic(one, frame)) is not None):
        count, every, rest = (number(each, frame) for each in asked)
        if count is not None and every is not None and rest is not None and every > 0:
            file = frame.f_code.co_filename
            yield _Due(file, node.lineno, count, every, rest % every, len(tests) > 1)
