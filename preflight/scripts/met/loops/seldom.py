"""Evaluations and saves that come once in many steps: where these are quick, the loop goes on.

`if step % 500 == 0: save(…)` in the body of a loop over a loader: it is come to by taking steps.
"""

from __future__ import annotations

import ast
import re
import time
from collections.abc import Iterator
from types import FrameType
from typing import NamedTuple

from preflight.scripts.facts import Met
from preflight.scripts.met.loops.counted import at_work, held
from preflight.scripts.met.loops.ranks_in_step import Together
from preflight.scripts.watch import Watch
from preflight.users_code.facts import Frame

# What is called there that is worth a way to it.
_WORTH = re.compile(r"save|eval|valid|test|checkpoint|ckpt", re.IGNORECASE)

# How long a script takes steps for it, all in all, in seconds.
_SECONDS = 10.0


class _Due(NamedTuple):
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
        self._asked = 0
        self._told: set[int] = set()
        self._begun = 0.0
        self._reached: dict[tuple[str, int], bool] = {}
        """What has come, and whether the batch in which it comes was given."""

    def begins(self) -> None:
        """Note that an epoch begins, whose steps tell how quick the script is."""
        self._begun = time.monotonic()

    def more(self, given: int, batches: int | None, at: Frame | None) -> bool:
        """Whether the script gets another batch, so that it comes to one of these."""
        watch = self._watch
        frame = next(watch.frames(), None)
        if frame is None or at is None or watch.left or watch.options.get("resuming"):
            return False
        if watch.has_met("save") and watch.has_met("evaluation"):
            return False
        dues = [*_dues(frame)]
        if not dues:
            return False
        self._asked += 1
        mine = self._goes_on(dues, given, batches, at)
        return self._together.decided(f"seldom {self._asked} {at.file}:{at.line}", mine)

    def _goes_on(self, dues: list[_Due], given: int, batches: int | None, at: Frame) -> bool:
        watch, took = self._watch, time.monotonic() - self._begun
        rest: list[_Due] = []
        for one in dues:
            key = at.file, one.line
            if key in self._reached:
                if not self._reached[key]:
                    self._reached[key] = True
                    return True
            elif one.is_now and not one.comes_within(given):
                self._reached[key] = False
                return True
            elif one.comes_within(given) or one.was(
                given, at_zero=watch.has_met("save", "evaluation")
            ):
                self._reached[key] = True
            else:
                rest.append(one)
        for one in sorted(rest, key=lambda one: one.left):
            needed = given + one.left + 1
            if batches is None or needed > batches:
                continue
            if self._is_quick(one.left, given, took):
                return True
            if one.line not in self._told:
                self._told.add(one.line)
                place = Frame(file=at.file, line=one.line, function=at.function, text="")
                watch.met(Met(what="seldom", at=place, name=str(needed)))
        return False

    def _is_quick(self, steps: int, given: int, took: float) -> bool:
        return took < _SECONDS and took / max(1, given) * steps < _SECONDS


def _dues(frame: FrameType) -> Iterator[_Due]:
    """Give what a loop does seldom whose head is at work, as far as its count is known."""
    heads = [
        one
        for one in at_work(frame, ast.For)
        if isinstance(one, ast.For) and one.lineno <= frame.f_lineno <= (one.iter.end_lineno or 0)
    ]
    for node in (each for loop in heads[-1:] for part in loop.body for each in ast.walk(part)):
        if isinstance(node, ast.If) and _is_worth(node):
            yield from _of_test(node, frame)


def _is_worth(node: ast.If) -> bool:
    calls = (each for part in node.body for each in ast.walk(part) if isinstance(each, ast.Call))
    return any(_WORTH.search(ast.unparse(one.func)) for one in calls)


def _of_test(node: ast.If, frame: FrameType) -> Iterator[_Due]:
    is_of_all = isinstance(node.test, ast.BoolOp) and isinstance(node.test.op, ast.And)
    tests = node.test.values if isinstance(node.test, ast.BoolOp) and is_of_all else [node.test]
    for one in tests:
        match one:
            case ast.Compare(
                left=ast.BinOp(op=ast.Mod(), left=count, right=every),
                ops=[ast.Eq()],
                comparators=[rest],
            ):
                numbers = [_number(each, frame) for each in (count, every, rest)]
            case ast.UnaryOp(
                op=ast.Not(), operand=ast.BinOp(op=ast.Mod(), left=count, right=every)
            ):
                numbers = [_number(count, frame), _number(every, frame), 0]
            case _:
                continue
        known = [each for each in numbers if each is not None]
        if len(known) == len(numbers) and known[1] > 0:
            yield _Due(node.lineno, known[0], known[1], known[2] % known[1], len(tests) > 1)


def _number(node: ast.expr, frame: FrameType) -> int | None:
    """Give a whole number that a name, an entry or a sum of these is."""
    match node:
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() as op, right=right):
            one, two = _number(left, frame), _number(right, frame)
            if one is None or two is None:
                return None
            return one + two if isinstance(op, ast.Add) else one - two
    value = held(node, frame)
    is_whole = isinstance(value, (int, float)) and not isinstance(value, bool)
    return int(value) if is_whole and value == int(value) else None
