"""Evaluations and saves that come by the clock, or once in many steps: they are come to at once.

It is as if the time had passed, or the steps been taken. A debugger's jump does so without an edit:
at `if time.time() - last > 600:`, or at `if step % 500 == 0:`, the script goes on with the next
line, once.
"""

from __future__ import annotations

import ast
import functools
import sys
import time
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

from preflight.processes.rank import ranks_in_group
from preflight.scripts.met.lines.count_tests import comes_by_count, goes_with, is_true
from preflight.scripts.met.lines.early_errors import may_lack_steps
from preflight.scripts.met.lines.rare_tests import (
    CountTest,
    RareTest,
    count_tests,
    not_come_to,
    operands,
)
from preflight.scripts.watch import Watch

# For how long such a test is waited for, and for how long what stands behind it, in seconds.
_SECONDS, _BEHIND = 10.0, 30.0

BY_CLOCK = "the time to what comes by the clock"
"""Begins what is told where such a test was made true."""

BY_COUNT = "the steps to what comes once in many of them"
"""As above, of a test of a count."""


class BroughtForward:
    """Has each such test of a script come true once."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._begun: set[str] = set()
        self._due: dict[tuple[str, int], tuple[RareTest, str]] = {}
        self._passed: set[tuple[str, int]] = set()
        """The tests of counts that the script was at since then."""

        self._until = 0.0
        self._within: tuple[FrameType, range] | None = None
        """What has come and is at work."""

    def by_time(self) -> bool:
        """Whether there are tests of a clock, which come true in the next steps."""
        return self._begins(BY_CLOCK, lambda one: one.by_time is not None)

    def by_count(self) -> bool:
        """Whether there are tests of a count, which come true in the next steps."""
        return self._begins(BY_COUNT, lambda one: one.by_count)

    def _begins(self, words: str, is_meant: Callable[[RareTest], bool]) -> bool:
        is_first_run = not (self._watch.left or self._watch.options.get("resuming"))
        if words in self._begun or not is_first_run or self._is_traced or ranks_in_group() > 1:
            return False
        self._begun.add(words)
        found = {
            (one.file, one.line): (one, words)
            for one in not_come_to(self._watch)
            if is_meant(one) and not one.leaves and one.body.start > one.line
        }
        if not found:
            return False
        self._due |= found
        self._passed.clear()
        self._until, self._within = time.monotonic() + _SECONDS, None
        for frame in self._watch.frames():
            frame.f_trace = self._follow
        sys.settrace(self._called)
        return True

    @property
    def _is_traced(self) -> bool:
        """Whether somebody else follows the script, such as a debugger."""
        return sys.gettrace() not in (None, self._called)

    def end(self) -> None:
        """Bring nothing more forward."""
        if sys.gettrace() == self._called:
            sys.settrace(None)

    def _called(self, frame: FrameType, _event: str, _given: object) -> Any:
        """Follow the script's own frames, for a while.

        Raises:
            Stopped: what has come takes long; in the job it does so when nobody waits for it.
        """
        if time.monotonic() > self._until or not self._due:
            if self._within is None:
                self.end()
            elif time.monotonic() > self._until:
                self.end()
                self._watch.shortened(f"what comes then to {_BEHIND:g} s")
                self._watch.stop("what comes seldom")
        return self._follow if self._watch.is_own(frame) else None

    def _follow(self, frame: FrameType, event: str, _given: object) -> Any:
        if self._within is not None and self._within[0] is frame:
            is_over = event == "return" or frame.f_lineno not in self._within[1]
            self._within = None if is_over else self._within
        file, line = frame.f_code.co_filename, frame.f_lineno
        one, words = self._due.get((file, line), (None, ""))
        counted = count_tests(file).get(line)
        if event != "line" or (one is None and counted is None):
            return self._follow
        self._passed.add((file, line))
        if one is not None and self._comes(one, words, frame):
            self._goes_on_behind(one, words, frame)
        elif one is None and counted is not None and self._is_of_another(counted, frame):
            self._jump(frame, counted.body, counted.test)
        return self._follow

    def _comes(self, one: RareTest, words: str, frame: FrameType) -> bool:
        if words == BY_CLOCK:
            return all(each is one.by_time or is_true(each, frame) for each in operands(one.test))
        return comes_by_count(one.test, frame) and all(
            (one.file, each.line) in self._passed for each in self._before(one, frame)
        )

    def _before(self, one: RareTest, frame: FrameType) -> Iterator[CountTest]:
        """Give the tests in front of one that are true whenever that is."""
        tests = count_tests(one.file)
        own = tests.get(one.line)
        for each in tests.values():
            is_near = own is not None and each.function == own.function and each.line < own.line
            if is_near and one.line not in each.body and goes_with(each.test, one.test, frame):
                yield each

    def _is_of_another(self, counted: CountTest, frame: FrameType) -> bool:
        """Whether a test is to be true since one is that comes behind it."""
        every = (one for one, words in self._due.values() if words == BY_COUNT)
        return comes_by_count(counted.test, frame) and any(
            counted in self._before(one, frame)
            for one in every
            if one.file == frame.f_code.co_filename and comes_by_count(one.test, frame)
        )

    def _goes_on_behind(self, one: RareTest, words: str, frame: FrameType) -> None:
        del self._due[one.file, one.line]
        lacks_steps = words == BY_COUNT
        if self._jump(frame, one.body, one.test if lacks_steps else None):
            at = self._watch.own.frame(one.file, one.line, frame.f_code.co_name)
            self._until, self._within = time.monotonic() + _BEHIND, (frame, one.body)
            self._watch.shortened(f"{words} ({at.file}:{at.line})")

    def _jump(self, frame: FrameType, body: range, test: ast.expr | None) -> bool:
        """Go on behind a test; what is raised there may lack steps, where it asks for a count."""
        try:
            frame.f_lineno = body.start  # type: ignore[misc]
        except ValueError:  # it stands in what cannot be jumped in
            return False
        if test is not None:
            file = frame.f_code.co_filename
            may_lack = functools.partial(may_lack_steps, file, body, test, self._watch)
            self._watch.too_early.append(may_lack)
        return True
