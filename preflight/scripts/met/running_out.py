"""Schedules with fewer steps than whole epochs take: torch raises at the first one beyond."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any, NamedTuple

from preflight.scripts.facts import Met
from preflight.scripts.met.lines.counted import at_work, parsed
from preflight.scripts.points import Point
from preflight.scripts.watch import Watch
from preflight.users_code.facts import Frame

# What may end before a loader does.
_IN_PART = re.compile(r"\b(islice|zip|take)\b")


_LEAVES = (ast.Break, ast.Return, ast.Yield)


class _Schedule(NamedTuple):
    steps: int
    most: int
    at: Frame | None
    """The line that takes them."""


class EpochCount:
    """Counts the batches of whole epochs, and the steps of schedules that take one for each."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._batches = 0
        self._is_known = True
        self._schedules: dict[int, _Schedule] = {}
        watch.on_stop.append(self._tell)

    def over(self, batches: int | None) -> None:
        """Count an epoch of training that has so many batches, however many it was given."""
        self._is_known &= batches is not None and _is_whole([*self._watch.frames()])
        self._batches += batches or 0

    def moved(self, schedule: Any) -> None:
        """Note how far a schedule is."""
        steps, known = schedule.last_epoch, self._schedules.get(id(schedule))
        at = None if known is None else known.at
        if steps == 1:
            at, own = self._watch.place(), next(self._watch.frames(), None)
            self._is_known &= own is not None and not _may_leave_out(own)
        self._schedules[id(schedule)] = _Schedule(steps, schedule.total_steps, at)

    def _tell(self) -> None:
        for one in self._schedules.values():
            by_batch = one.steps == self._watch.trained_on
            if self._is_known and by_batch and self._batches > one.most:
                name = f"{one.most:,}"
                self._watch.met(Met(what="runs out", at=one.at, name=name, count=self._batches))


def _may_leave_out(frame: FrameType) -> bool:
    """Whether a line at work stands under a test of some number, or in a `try`."""
    tree = parsed(frame.f_code.co_filename)
    tests = [
        one.test
        for one in (ast.walk(tree) if tree is not None else ())
        if isinstance(one, ast.If) and one.lineno <= frame.f_lineno <= (one.end_lineno or 0)
    ]
    compared = [one for test in tests for one in ast.walk(test) if isinstance(one, ast.Compare)]
    is_numbers = any(
        not isinstance(op, (ast.Is, ast.IsNot)) and "__name__" not in ast.unparse(one)
        for one in compared
        for op in one.ops
    )
    return is_numbers or any(at_work(frame, ast.Try))


def _is_whole(frames: Sequence[FrameType]) -> bool:
    """Whether a loop goes over all of a loader, and none around it ends by its count of steps."""
    loops = [one for frame in frames for one in at_work(frame, ast.For, ast.While)]
    heads = [one for one in loops if isinstance(one, ast.For)]
    return len(heads) == len(loops) and (
        any(one.lineno <= frames[0].f_lineno <= (one.iter.end_lineno or 0) for one in heads)
        and not any(_IN_PART.search(ast.unparse(one.iter)) for one in heads)
        and not any(isinstance(one, _LEAVES) for loop in loops for one in ast.walk(loop))
    )


@functools.lru_cache(maxsize=1)
def counted_of(watch: Watch) -> EpochCount:
    """Give the one count of a process."""
    return EpochCount(watch)


def _step(original: Callable[..., Any], watch: Watch) -> Callable[..., Any]:
    @functools.wraps(original)
    def step(schedule: Any, *args: Any, **named: Any) -> Any:
        taken = original(schedule, *args, **named)
        if hasattr(schedule, "total_steps") and watch.is_here:
            counted_of(watch).moved(schedule)
        return taken

    return step


POINTS = (Point(module="torch.optim.lr_scheduler", name="LRScheduler.step", wrap=_step),)
