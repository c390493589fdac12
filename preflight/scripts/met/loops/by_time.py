"""Evaluations and saves that come by the clock: they are come to as if the time had passed.

A debugger's jump does so without an edit: at `if time.time() - last > 600:` the script goes on with
the next line, once.
"""

from __future__ import annotations

import ast
import sys
import time
from types import FrameType
from typing import Any

from preflight.processes.rank import ranks_in_group
from preflight.scripts.met.loops.counted import held
from preflight.scripts.met.loops.rare_tests import RareTest, not_come_to, operands
from preflight.scripts.watch import Watch

# For how long such a test is waited for, in seconds.
_SECONDS = 10.0

BY_CLOCK = "the time to what comes by the clock"
"""Begins what is told where such a test was made true."""

_COMPARED = {ast.Eq: "__eq__", ast.NotEq: "__ne__", ast.Gt: "__gt__", ast.GtE: "__ge__"}


class ByTime:
    """Has each such test of a script come true once."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._is_begun = False
        self._due: dict[tuple[str, int], RareTest] = {}
        self._until = 0.0

    def begins(self) -> bool:
        """Whether there are such tests, which come true in the next step."""
        is_first_run = not (self._watch.left or self._watch.options.get("resuming"))
        if self._is_begun or not is_first_run or sys.gettrace() or ranks_in_group() > 1:
            self._end()
            return False
        self._is_begun = True
        self._due = {
            (one.file, one.line): one
            for one in not_come_to(self._watch)
            if one.by_time is not None and not one.leaves and one.body > one.line
        }
        if not self._due:
            return False
        self._until = time.monotonic() + _SECONDS
        for frame in self._watch.frames():
            frame.f_trace = self._follow
        sys.settrace(self._called)
        return True

    def _end(self) -> None:
        if sys.gettrace() == self._called:
            sys.settrace(None)

    def _called(self, frame: FrameType, _event: str, _given: object) -> Any:
        if time.monotonic() > self._until:
            self._end()
        return self._follow if self._watch.is_own(frame) else None

    def _follow(self, frame: FrameType, event: str, _given: object) -> Any:
        one = self._due.get((frame.f_code.co_filename, frame.f_lineno))
        if event != "line" or one is None or not _is_else_true(one, frame):
            return self._follow
        del self._due[one.file, one.line]
        at = self._watch.own.frame(one.file, one.line, frame.f_code.co_name)
        try:
            frame.f_lineno = one.body  # type: ignore[misc]
        except ValueError:  # it stands in what cannot be jumped in
            return self._follow
        self._watch.shortened(f"{BY_CLOCK} ({at.file}:{at.line})")
        return self._follow


def _is_else_true(one: RareTest, frame: FrameType) -> bool:
    return all(each is one.by_time or _is_true(each, frame) for each in operands(one.test))


def _is_true(test: ast.expr, frame: FrameType) -> bool:
    """Whether a test is known to be true without a call."""
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            value = held(inner, frame)
            return isinstance(value, (bool, int, str)) and not value
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            one, two = held(left, frame), held(right, frame)
            is_plain = all(isinstance(each, (bool, int, float, str)) for each in (one, two))
            name = _COMPARED.get(type(op), "")
            return is_plain and bool(name) and getattr(one, name)(two) is True
    value = held(test, frame)
    return isinstance(value, (bool, int, str)) and bool(value)
