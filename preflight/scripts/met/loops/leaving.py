"""Leaves a loop of which enough was seen, so that what stands behind it is rehearsed, too.

Nothing but a debugger's jump does so without an edit: at the head of the loop, where a turn is
over, the script goes on with the next statement, as a `break` there would have it.
"""

from __future__ import annotations

import inspect
import itertools
import math
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from types import FrameType
from typing import Any

from preflight.scripts.met.lines.ways_out import WayOut, ways_out
from preflight.scripts.watch import Watch

# How many loops around each other are left, and how long what stands behind may take, in seconds.
_MOST, _BEHIND = 3, 20.0


class Leaving:
    """Leaves loops of one script, the innermost first."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._depth = self._left = 0
        """How many loops around each other are to be left, and how many were."""

        self._until = math.inf

    def can_leave(self, words: str) -> bool:
        """Have a loop more around this line end at its next turn; told in words once it does."""
        if self._watch.options.get("resuming") or (sys.gettrace() is not None and not self._depth):
            return False
        found = list(itertools.islice(_around(self._watch), self._depth + 1))
        if len(found) <= self._depth or self._depth == _MOST:
            return False
        self._depth += 1
        for frame in {id(frame): frame for frame, _ in found}.values():
            loops = [one for each, one in found if each is frame]
            frame.f_trace = self._following(loops, words, {*loops})
        sys.settrace(self._called)
        return True

    def _called(self, _frame: FrameType, _event: str, _given: object) -> None:
        """End the script where it takes long behind its loops."""
        if time.monotonic() > self._until:
            sys.settrace(None)
            self._watch.stop("what stands behind its training")

    def _following(
        self, loops: Sequence[WayOut], words: str, begun: set[WayOut]
    ) -> Callable[..., Any]:
        """Follow the lines of a frame; a loop that is begun anew has a turn before it is left."""

        def follow(frame: FrameType, event: str, _given: object) -> Any:
            line = behind = frame.f_lineno
            while event == "line" and (
                ends := [one for one in loops if one in begun and behind in one.head]
            ):
                behind = ends[0].behind
                begun.difference_update(ends)
            if behind == line:
                begun.update(one for one in loops if line in one.body)
                self._called(frame, event, None)
                return follow
            try:
                frame.f_lineno = behind  # type: ignore[misc]
            except ValueError:  # it stands in what cannot be left so
                return None
            self._has_left(words)
            return follow

        return follow

    def _has_left(self, words: str) -> None:
        if self._left < self._depth:
            self._left = self._depth
            self._until = time.monotonic() + _BEHIND
        self._watch.shortened(words, left=True)


def _around(watch: Watch) -> Iterator[tuple[FrameType, WayOut]]:
    """Give the loops at work that can be left, the innermost first.

    The one over the batches themselves ends with them; a generator would end who draws from it.
    """
    begins = True
    for frame in watch.frames():
        if not frame.f_code.co_flags & inspect.CO_GENERATOR:
            for one in ways_out(frame):
                if not (begins and frame.f_lineno in one.head):
                    yield frame, one
        begins = False
