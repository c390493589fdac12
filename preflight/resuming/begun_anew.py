"""Tells of counts that begin anew by numbers in names, and by the loops of the script."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence

from preflight.resuming.facts import Difference
from preflight.resuming.moments import SAVE, Moment

_NUMBER = re.compile(r"\d+")


def loop_begun_anew(
    saved: Sequence[Moment], first: Sequence[Moment], again: Sequence[Moment]
) -> str | None:
    """Name a loop around the training that begins anew in each run: `epoch`."""
    later, now = _next(first, saved[-1].steps), _next(again, 0)
    if later is None or now is None:
        return None
    for name, passes in saved[-1].loops.items():
        if now.loops.get(name, passes + 1) <= passes < later.loops.get(name, passes):
            return name.partition(" of ")[0]
    return None


def of_names(
    saved: Sequence[Moment], first: Sequence[Moment], again: Sequence[Moment]
) -> Iterator[Difference]:
    """Tell of one that saves under the number of its checkpoint once more.

    So it is seen of who counts in names alone: `step_500`, where the first run went on to another.
    It is a guess, but where the number is that of the steps, or of a loop that always begins anew.
    """
    now = next((one for one in again if one.what == SAVE and one.steps and one.path), None)
    if now is None or now.is_sample or _goes_on(saved[-1], now):
        return
    held = next((one for one in saved if _pattern(one) == _pattern(now)), None)
    beyond = [one for one in first if one.what == SAVE and one.steps > saved[-1].steps]
    later = next((one for one in beyond if _pattern(one) == _pattern(now)), None)
    if held is None or later is None:
        return
    here, there, was = (list(map(int, _NUMBER.findall(one.path))) for one in (now, later, held))
    if here == was and there > was:
        at = next(place for place, number in enumerate(was) if there[place] > number)
        counts_steps = _is_of_steps(was[at], held) and _is_of_steps(there[at], later)
        is_sure = (counts_steps and now.steps == held.steps) or bool(
            loop_begun_anew(saved, first, again)
        )
        one, other = _unlike(now.path, later.path)
        text = f"saves {one} once more, and not {other}: "
        text += f"it {'begins' if is_sure else 'may begin'} its count anew"
        yield Difference(what="step", text=text, is_fault=is_sure)


def of_loops(
    saved: Sequence[Moment], first: Sequence[Moment], again: Sequence[Moment]
) -> Iterator[Difference]:
    """Tell, as a guess, of a loop that begins anew where nothing says how far it was."""
    is_whole = any(one.holds_state for one in saved) and not any(one.counts for one in saved)
    name = loop_begun_anew(saved, first, again) if is_whole else None
    if name is not None:
        text = f"begins its loop over `{name}` anew, and nothing that it saves says how far it was"
        yield Difference(what="step", text=text, is_fault=False)


def _next(moments: Sequence[Moment], steps: int) -> Moment | None:
    return next((one for one in moments if one.what == SAVE and one.steps > steps), None)


def _goes_on(saved: Moment, now: Moment) -> bool:
    return any(now.counts.get(name, count) > count for name, count in saved.counts.items())


def _is_of_steps(number: int, save: Moment) -> bool:
    """Whether a number in a name is that of the steps that were taken, by each optimizer."""
    return number > 1 and number * max(1, len(save.owners)) == save.steps


def _pattern(save: Moment) -> str:
    return _NUMBER.sub("#", save.path)


def _unlike(one: str, other: str) -> tuple[str, str]:
    """Give the folders or files in which two paths are unlike."""
    parts = zip(one.split(os.sep), other.split(os.sep), strict=True)
    return next(each for each in parts if each[0] != each[1])
