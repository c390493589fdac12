"""Leaves our own lines out of what a script prints of exceptions, as if Python alone had run it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from types import FrameType, TracebackType
from typing import Any

from preflight.scripts.points import Point
from preflight.scripts.watch import Watch
from preflight.values.own_files import PACKAGE


def leave_us_out(error: BaseException) -> None:
    """Take our frames out of the traceback of an exception, and of those that it came of."""
    seen: set[int] = set()
    todo: list[BaseException | None] = [error]
    while todo:
        one = todo.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        one.__traceback__ = _without_us(one.__traceback__)
        todo += [one.__cause__, one.__context__, *getattr(one, "exceptions", ())]


def _without_us(trace: TracebackType | None) -> TracebackType | None:
    kept = []
    while trace is not None:
        if not _is_ours(trace.tb_frame):
            kept.append(trace)
        trace = trace.tb_next
    for one in reversed(kept):
        trace = TracebackType(trace, one.tb_frame, one.tb_lasti, one.tb_lineno)
    return trace


def _is_ours(frame: FrameType) -> bool:
    """Whether a frame is of our files, or the one that has begun with them."""
    file = frame.f_code.co_filename
    return file.startswith(PACKAGE) or (file == "<string>" and frame.f_back is None)


def _walk(original: Callable[[Any], Iterator[Any]], watch: Watch) -> Callable[[Any], Any]:
    @functools.wraps(original)
    def walk(begin: Any) -> Any:
        every = original(begin)
        return (
            every
            if begin is None or watch.shows_us
            else (one for one in every if not _is_ours(one[0]))
        )

    return walk


# By which Python's own functions go over frames, `logging.exception` included.
POINTS = tuple(
    Point(module="traceback", name=name, wrap=_walk)
    for name in ("walk_tb", "_walk_tb_with_full_positions", "walk_stack")
)
