"""Has a script that stopped run once more, with more batches: it may have lacked these alone.

Folds, classes that lie last, a checkpoint above a threshold: what is sound with a whole epoch may
raise with two batches of it.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from preflight.findings.check import Facts
from preflight.kinds.asked import Asked
from preflight.scripts.facts import Raised, Rehearsal, RunMore
from preflight.scripts.met.lines.brought_forward import BY_CLOCK
from preflight.scripts.read import look as run
from preflight.scripts.surroundings.standard_input import kept_in
from preflight.training.facts import Steps

_BATCHES, _EPOCHS = 10, 2
"""So many times what it was given, at least."""

# Seconds that its steps may take, and batches of an epoch that it is given for that at most.
_STEPS, _MOST_BATCHES = 10.0, 1_000

# It is not run again where that took longer, and is given up then; in seconds.
_AT_ONCE, _MOST = 30.0, 60.0

# Begins what is told of arguments that were made less.
_ARGUMENTS = "arguments:"

# What numbers may raise that do not go together, of which some were made less.
_OF_NUMBERS = ("AssertionError", "ZeroDivisionError")

# Of the budget, what the first run may have taken.
_PART = 0.2

# How a script ends that has come to the end of what it was given.
_WHOLE = ("returned", "exited", "stopped")


class _TooLongError(Exception):
    """It takes longer than is to be spent on it."""


def run_enough(asked: Asked) -> tuple[Sequence[Facts], Asked]:
    """Run it; give what is seen, with more where it goes further with that, and what was asked.

    Of one that stops at the same line again, what was seen first is given, and that it does so.
    """
    early: set[tuple[type, str]] = set()

    def once(facts: Facts, count: int) -> None:
        what = type(facts), getattr(facts, "name", "")
        if what not in early:
            early.add(what)
            asked.some(facts, count)

    seen = run(asked._replace(some=once))
    first = next(one for one in seen if isinstance(one, Rehearsal))
    raised = first.ended.raised
    if raised is None or not _may_lack(first, raised, asked):
        return seen, asked
    more = _more_of(asked, seen)
    if _may_come_of_arguments(first, raised):
        more = more._replace(options={**more.options, "as_written": True})
    try:
        again = run(more._replace(some=once, alive=_for_a_while(asked)))
    except _TooLongError:
        return seen, asked
    second = next(one for one in again if isinstance(one, Rehearsal))
    given = more.options
    run_more = RunMore(
        given["batches"],
        given["epochs"],
        raised,
        is_whole=not second.shortened,
        as_written=given.get("as_written", False),
    )
    if not _goes_on(second, raised):
        is_same = second.ended.how == "raised"
        return _with(seen, first, run_more if is_same else None), asked
    return _with(again, second, run_more), more


def _more_of(asked: Asked, seen: Sequence[Facts]) -> Asked:
    """Ask for as much as is done in seconds, in a folder that has nothing of the first run."""
    given, wire = asked.options, asked.wire
    scratch = tempfile.mkdtemp(prefix="more", dir=wire["scratch"])
    epochs = given["epochs"] * _EPOCHS
    a_step = next((one.seconds for one in seen if isinstance(one, Steps)), None)
    in_time = int(_STEPS / (a_step * epochs)) if a_step else 0
    batches = max(given["batches"] * _BATCHES, min(in_time, _MOST_BATCHES))
    more = {"batches": batches, "epochs": epochs}
    own = {
        "scratch": scratch,
        "layer": scratch,
        "stdin": kept_in(wire["scratch"], wire.get("stdin")),
    }
    return asked._replace(wire={**wire, **own}, options={**given, **more})


def _for_a_while(asked: Asked) -> Callable[..., None]:
    until = time.monotonic() + _MOST

    def alive(*said: object) -> None:
        asked.alive(*said)
        if time.monotonic() > until:
            raise _TooLongError

    return alive


def _may_lack(seen: Rehearsal, raised: Raised, asked: Asked) -> bool:
    """Whether more batches may be what it lacks, and running it twice has no effect."""
    is_for_real = asked.options["allow_writes"] or seen.times("for real") or seen.times("apart")
    # A whole epoch does not come to that once more.
    is_by_clock = any(one.startswith(BY_CLOCK) for one in seen.shortened)
    is_told = is_by_clock or raised.lacks or raised.unfound or raised.told_by or raised.is_of_image
    is_alone = asked.wire.get("ranks", 1) == 1 and not (raised.is_process or raised.thread)
    is_shorter = bool(seen.batches and seen.shortened) or _may_come_of_arguments(seen, raised)
    has_less = is_shorter and seen.ended.how == "raised"
    budget = asked.options.get("budget")
    may_take = _AT_ONCE if budget is None else min(_AT_ONCE, _PART * budget)
    return has_less and is_alone and not (is_for_real or is_told) and seen.seconds <= may_take


def _may_come_of_arguments(seen: Rehearsal, raised: Raised) -> bool:
    """Whether it may be that arguments do not go together since some of them were made less."""
    is_of_numbers = raised.error.startswith(_OF_NUMBERS)
    is_less = any(one.startswith(_ARGUMENTS) for one in seen.shortened)
    return is_less and (is_of_numbers or not seen.steps)


def _goes_on(second: Rehearsal, before: Raised) -> bool:
    """Whether it has come to its end now, or beyond what stopped it before."""
    ended = second.ended
    if ended.raised is None or ended.how != "raised":
        return ended.how in _WHOLE and not ended.code
    kinds = [one.error.partition(":")[0] for one in (ended.raised, before)]
    places = [[(at.file, at.line) for at in one.frames[-1:]] for one in (ended.raised, before)]
    return kinds[0] != kinds[1] or places[0] != places[1]


def _with(seen: Sequence[Facts], mine: Rehearsal, more: RunMore | None) -> list[Facts]:
    return [replace(mine, more=more) if one is mine else one for one in seen]
