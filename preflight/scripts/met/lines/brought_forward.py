"""Evaluations and saves that come by the clock, or once in many steps: they are come to at once.

It is as if the time had passed, or the steps been taken. A debugger's jump does so without an edit:
at `if time.time() - last > 600:`, or at `if step % 500 == 0:`, the script goes on with the next
line, once.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import FrameType
from typing import Any

from preflight.processes.rank import ranks_in_group
from preflight.scripts.met.lines.count_tests import comes_by_count, is_true
from preflight.scripts.met.lines.rare_tests import RareTest, not_come_to, operands
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
        self._due: dict[tuple[str, int], RareTest] = {}
        self._words = ""
        self._until = 0.0
        self._within: tuple[FrameType, range] | None = None
        """What has come and is at work."""

    def by_time(self) -> bool:
        """Whether there are tests of a clock, which come true in the next step."""
        return self._begins(BY_CLOCK, lambda one: one.by_time is not None)

    def by_count(self) -> bool:
        """Whether there are tests of a count, which come true in the next step."""
        return self._begins(BY_COUNT, lambda one: one.by_count)

    def _begins(self, words: str, is_meant: Callable[[RareTest], bool]) -> bool:
        is_first_run = not (self._watch.left or self._watch.options.get("resuming"))
        if words in self._begun or not is_first_run or self._is_traced or ranks_in_group() > 1:
            self._end()
            return False
        self._begun.add(words)
        self._words = words
        self._due = {
            (one.file, one.line): one
            for one in not_come_to(self._watch)
            if is_meant(one) and not one.leaves and one.body.start > one.line
        }
        if not self._due:
            return False
        self._until, self._within = time.monotonic() + _SECONDS, None
        for frame in self._watch.frames():
            frame.f_trace = self._follow
        sys.settrace(self._called)
        return True

    @property
    def _is_traced(self) -> bool:
        """Whether somebody else follows the script, such as a debugger."""
        return sys.gettrace() not in (None, self._called)

    def _end(self) -> None:
        if sys.gettrace() == self._called:
            sys.settrace(None)

    def _called(self, frame: FrameType, _event: str, _given: object) -> Any:
        """Follow the script's own frames, for a while.

        Raises:
            Stopped: what has come takes long; in the job it does so when nobody waits for it.
        """
        if time.monotonic() > self._until:
            self._end()
            if self._within is not None:
                self._watch.shortened(f"what comes then to {_BEHIND:g} s")
                self._watch.stop("what comes seldom")
        return self._follow if self._watch.is_own(frame) else None

    def _follow(self, frame: FrameType, event: str, _given: object) -> Any:
        if self._within is not None and self._within[0] is frame:
            is_over = event == "return" or frame.f_lineno not in self._within[1]
            self._within = None if is_over else self._within
        one = self._due.get((frame.f_code.co_filename, frame.f_lineno))
        if event != "line" or one is None or not self._comes(one, frame):
            return self._follow
        del self._due[one.file, one.line]
        at = self._watch.own.frame(one.file, one.line, frame.f_code.co_name)
        try:
            frame.f_lineno = one.body.start  # type: ignore[misc]
        except ValueError:  # it stands in what cannot be jumped in
            return self._follow
        self._until, self._within = time.monotonic() + _BEHIND, (frame, one.body)
        self._watch.shortened(f"{self._words} ({at.file}:{at.line})")
        return self._follow

    def _comes(self, one: RareTest, frame: FrameType) -> bool:
        if self._words == BY_COUNT:
            return comes_by_count(one.test, frame)
        return all(each is one.by_time or is_true(each, frame) for each in operands(one.test))
