"""Compares learning rates, and how far the schedules are that move them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from preflight.resuming.facts import Difference
from preflight.resuming.moments import SAVE, Moment, Owner

# Two rates are the same up to what a schedule's own arithmetic loses.
_SAME_RATE = 1e-6

# A schedule that was saved before its last step counts one less when it is loaded.
_SURELY_LESS = 2


def pairs_of(start: Moment, saved: Moment, resumed: Moment) -> list[tuple[Owner, Owner, Owner]]:
    """Give each optimizer as it was at the start, when it was saved, and after the resume."""
    every = zip(start.owners, saved.owners, resumed.owners, strict=False)
    return [
        (one, two, three)
        for one, two, three in every
        if len({(each.kind, each.weights, len(each.sample)) for each in (one, two, three)}) == 1
    ]


def of_schedules(
    starts: tuple[Moment, Moment], saved: Moment, first: Sequence[Moment], again: Sequence[Moment]
) -> Iterator[Difference]:
    """Compare rates at the next save: at its first step, a loaded optimizer has the right one.

    Runs that are made short may take unlike numbers of steps until then. So another rate is told
    only of a schedule that had counted less when it began again than when it was saved; or, of one
    that torch does not count, where it is what it was after as many steps of the first run.
    """
    start, start_again = starts
    later = next((one for one in first if one.what == SAVE and one.steps > saved.steps), None)
    now = next((one for one in again if one.what == SAVE and one.steps), None)
    if later is None or now is None:
        return
    for begun, at_save, owner in pairs_of(start, saved, now):
        rates, number = owner.rates, saved.owners.index(at_save)
        expected = later.owners[number].rates if number < len(later.owners) else ()
        moves = not same(at_save.rates, expected)
        if not moves or same(rates, expected) or len(rates) != len(expected):
            continue
        again_begun = start_again.owners[number : number + 1]
        counts_less = any(one.scheduled < at_save.scheduled for one in again_begun)
        is_as_at_first = now.steps == saved.steps and same(rates, at_save.rates)
        is_as_at_first &= not same(begun.rates, at_save.rates)
        if counts_less or (not at_save.scheduled and is_as_at_first):
            here, there = first_unlike(rates, expected)
            text = f"has a learning rate of {here} at its next save, "
            text += f"not {there}: its schedule begins anew"
            yield Difference(what="rate", text=text, at=owner.at)


def of_counted(
    begun_again: Moment, saved: Moment, first: Sequence[Moment], again: Sequence[Moment]
) -> Iterator[Difference]:
    """Compare how far schedules of one kind and the same numbers have counted.

    Between its milestones a schedule keeps the rate, which a loaded optimizer has: that it begins
    anew is seen by its count alone. One that is made for what is left has other numbers; one that
    is told the epoch with each step has caught up by the next save; a warm-up that is over is made
    and not stepped.
    """
    later = next((one for one in first if one.what == SAVE and one.steps > saved.steps), None)
    now = next((one for one in again if one.what == SAVE and one.steps), None)
    if later is None or now is None:
        return
    alike = _like(now, saved, first)
    for number, at_save in enumerate(saved.owners):
        each = [
            one.owners[number : number + 1] for one in (begun_again, later, now, alike or later)
        ]
        for name, count in at_save.schedules.items() if all(each) else ():
            begun, after, held, then = (one[0].schedules.get(name, -1) for one in each)
            if not 0 <= begun <= 1 or not count < after or not 0 < held <= begun + now.steps:
                continue
            is_less = begun + _SURELY_LESS <= count and begun < held
            is_behind = alike is not None and held < then and held <= count
            # Where nothing says how far training is, one less may come of when it was saved.
            is_guess = not (saved.counts or begun) and count == held == 1
            if (is_less and (held < after or held <= count)) or is_behind or is_guess:
                text = f"counts its {name.split()[0]} from {begun} on, and not from {count:,}"
                if is_behind and not is_less:
                    text = f"counts its {name.split()[0]} to {held:,} by its next save, "
                    text += f"and not to {then:,}"
                is_fault = is_less or is_behind
                text += f": its schedule {'begins' if is_fault else 'may begin'} anew"
                yield Difference(what="rate", text=text, is_fault=is_fault)


def _like(now: Moment, saved: Moment, first: Sequence[Moment]) -> Moment | None:
    """Give the save of the first run that says to be as far as this one: behind its checkpoint."""
    for one in first:
        for name, count in one.counts.items():
            if now.counts.get(name) == count > saved.counts.get(name, count):
                return one
    return None


def first_unlike(mine: Sequence[float], theirs: Sequence[float]) -> tuple[str, str]:
    """Write the first two rates that are unlike, in as many digits as tell them apart."""
    one, two = next(each for each in zip(mine, theirs, strict=True) if not _close(*each))
    texts = ((f"{one:.{digits}g}", f"{two:.{digits}g}") for digits in (3, 5, 8))
    return next((each for each in texts if each[0] != each[1]), (repr(one), repr(two)))


def same(one: Sequence[float], two: Sequence[float]) -> bool:
    """Whether two lists of rates are the same."""
    return len(one) == len(two) and all(map(_close, one, two))


def _close(one: float, two: float) -> bool:
    return math.isclose(one, two, rel_tol=_SAME_RATE, abs_tol=1e-12)
