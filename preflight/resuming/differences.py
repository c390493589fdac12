"""Compares a script that goes on from a checkpoint with itself when it saved it.

Only what is sure is told: a script may save less than it has, for good reasons.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from preflight.resuming.begun_anew import of_loops, of_names
from preflight.resuming.facts import Difference
from preflight.resuming.moments import SAVE, STEP, Average, Moment, Owner, as_begun, is_next_to_none
from preflight.resuming.never_asked import of_late, of_unread_counts, of_unread_schedules
from preflight.resuming.rates import first_unlike, of_counted, of_schedules, pairs_of, same
from preflight.resuming.stands import goes_on_within, of_counts

# Weights that were saved as bfloat16 and read back differ by that much of their size.
_ROUNDED = 2.0**-7

# So many times what training has moved them, weights are not those of a checkpoint.
_FAR = 5.0

# What people call a class that averages weights.
_AVERAGED = re.compile(r"[Aa]verag|EMA|Ema|SWA|Swa")


def chosen(first: Sequence[Moment]) -> list[Moment]:
    """Give the saves of one checkpoint: the first that were made after a step, all of one step.

    One that says how far training is, before one of weights alone; and the next one where the first
    is that of the very first step.
    """
    saves = [one for one in first if one.what == SAVE and one.steps and one.path]
    saves = [one for one in saves if not one.is_sample]
    best = next((one for one in saves if one.tells), saves[0] if saves else None)
    stepped = max((one.steps for one in first if one.what == STEP), default=0)
    later = (one for one in saves if best and one.steps <= stepped and is_next_to_none(best, one))
    best = next(later, best)
    return [] if best is None else _of_one_moment(best, saves)


def _of_one_moment(best: Moment, saves: Sequence[Moment]) -> list[Moment]:
    """Give those of its step; epochs that add up gradients may come to none between their saves."""
    found: dict[str, Moment] = {}
    for one in (each for each in saves if each.steps == best.steps):
        is_later = one.counts and best.counts and one.counts != best.counts
        if one.path in found or is_later:
            break
        found[one.path] = one
    return [*found.values()]


def differences(first: Sequence[Moment], again: Sequence[Moment]) -> list[Difference]:
    """Say what is another at the first step after the resume."""
    saved, begun = chosen(first), [one for one in first if one.what == STEP]
    resumed = next((one for one in again if one.what == STEP), None)
    if not saved or resumed is None or not begun:
        return []
    later = next((one for one in begun if one.steps >= saved[-1].steps), None)
    found: list[Difference] = []
    start = replace(begun[0], owners=as_begun(first))
    every = pairs_of(start, saved[-1], replace(resumed, owners=as_begun(again)))
    pairs = pairs_of(start, saved[-1], resumed)
    for at_start, at_save, owner in every:
        number = saved[-1].owners.index(at_save)
        after = later.owners[number] if later and number < len(later.owners) else None
        is_there = owner in resumed.owners
        found += _of_weights(at_start, at_save, owner) if is_there else ()
        if after is None or after.has_state:  # some make a new optimizer for each epoch
            found += _of_kept(at_save, owner, saved)
        found += _of_rates(at_start, at_save, after, owner) if is_there else ()
    found += [*_of_states(pairs, saved[-1]), *of_late(pairs, resumed)]
    if not any(one.what == "weights" and one.is_fault for one in found):
        found += _of_averages(first, saved[-1], [one for one in again if one.averages])
    for told in (
        of_schedules((start, resumed), saved[-1], first, again),
        of_unread_schedules(resumed, again),
        of_counted(resumed, saved[-1], first, again),
    ):
        found = _surest([one for one in found if one.what == "rate"], [*told], found)
    for told in (
        of_counts(saved, first, again, resumed.unread_counts),
        of_names(saved, first, again),
        of_unread_counts(resumed, first, again),
        of_loops(saved, first, again),
    ):
        found = _surest([one for one in found if one.what == "step"], [*told], found)
    if goes_on_within(saved, first, again):
        found = [one for one in found if one.is_fault or one.what not in ("rate", "step")]
    if not any(one.is_fault for one in found):
        found += _of_data(begun[0], later, resumed, in_epoch=saved[-1].in_epoch)
    return found


def _surest(
    known: Sequence[Difference], more: Sequence[Difference], found: Sequence[Difference]
) -> list[Difference]:
    """Give what was found with more of the same, unless that is no surer than what is known."""
    if any(one.is_fault for one in known) or not any(one.is_fault or not known for one in more):
        return [*found]
    return [*(one for one in found if one not in known), *more]


def _of_weights(start: Owner, saved: Owner, now: Owner) -> Iterator[Difference]:
    if _are_others(start, saved, now):
        began = now.sample == start.sample
        others = "the weights that it began with" if began else "weights that are not those saved"
        yield Difference(what="weights", text=f"goes on with {others}", at=now.at)


def _of_kept(saved: Owner, now: Owner, saves: Sequence[Moment]) -> Iterator[Difference]:
    if saved.has_state and not now.has_state:
        held = any(one.holds_state or one.is_folder for one in saves)
        why = "" if held else ", which was not saved"
        text = f"goes on with an empty state of {now.kind}{why}"
        yield Difference(what="optimizer", text=text, at=now.at)


def _of_states(pairs: Sequence[tuple[Owner, Owner, Owner]], saved: Moment) -> Iterator[Difference]:
    """Tell of an optimizer that was given what another one had saved."""
    for _, at_save, now in pairs:
        others = [one for one in saved.owners if one.state and one.state != at_save.state]
        if at_save.state and any(now.state == one.state for one in others):
            text = f"goes on with the state of another {now.kind}"
            yield Difference(what="optimizer", text=text, at=now.at)


def _of_rates(start: Owner, saved: Owner, later: Owner | None, now: Owner) -> Iterator[Difference]:
    expected = later.rates if later is not None else saved.rates
    known = (saved.rates, *((later.rates,) if later is not None else ()))
    if any(same(now.rates, one) for one in known) or len(now.rates) != len(expected):
        return
    began = same(now.rates, start.rates)
    here, there = first_unlike(now.rates, expected)
    text = f"goes on with a learning rate of {here}, not {there}"
    yield Difference(
        what="rate",
        text=text + (": that of its first step" if began else ""),
        is_fault=began,
        at=now.at,
    )


def _of_averages(
    first: Sequence[Moment], saved: Moment, again: Sequence[Moment]
) -> Iterator[Difference]:
    """Compare averages of the weights: one that was not saved, or not loaded, begins anew.

    What follows the weights and is never another (a target that is set to them now and then) is no
    average, nor is what stays as it is (a teacher, the best so far).
    """
    for one in {_like(each): each for each in saved.averages}.values():
        before = _all_like(one, first)
        follows = any(each.is_raw for each in before) and any(each.follows for each in before)
        if follows and (
            _is_reset(one, saved, first, again)
            if one.is_raw
            else _is_forgotten(one, before[0], saved, again)
        ):
            text = f"begins its average of the weights ({one.kind}) anew"
            yield Difference(what="average", text=text)


def later_average(first: Sequence[Moment]) -> str:
    """Name an average by its class that nothing had moved by the save after the first one.

    It begins later in training, so that what becomes of it in a resume was not seen.
    """
    saves = [one for one in first if one.what == SAVE and one.steps]
    until = next((one.steps for one in saves if one.steps > saves[0].steps), 0)
    for one in saves[0].averages if until else ():
        seen = _all_like(one, (each for each in first if each.steps <= until))
        if _AVERAGED.search(one.kind) and not any(each.follows for each in seen):
            return one.kind
    return ""


def _is_forgotten(one: Average, start: Average, saved: Moment, again: Sequence[Moment]) -> bool:
    kept = {each.sample for each in saved.averages}
    now = _all_like(one, again[:1])
    if now and all(
        each.sample not in kept and (each.is_raw or _are_others(start, one, each)) for each in now
    ):
        return True
    # What was loaded may lie beside it, unused.
    is_only = _all_like(one, [saved]) == [one]
    return is_only and any(each.follows for each in _all_like(one, again))


def _is_reset(
    one: Average, saved: Moment, first: Sequence[Moment], again: Sequence[Moment]
) -> bool:
    """Whether it is, at the next save too, what it was at this: the weights of one moment."""
    later = [each for each in first if each.what == SAVE and each.steps > saved.steps][:1]
    now = [each for each in again if each.what == SAVE][:1]
    expected, held = _all_like(one, later), _all_like(one, now)
    has_gone_on = bool(expected) and not any(each.is_raw for each in expected)
    return has_gone_on and bool(held) and all(each.is_raw for each in held)


def _all_like(one: Average, moments: Iterable[Moment]) -> list[Average]:
    return [each for moment in moments for each in moment.averages if _like(each) == _like(one)]


def _like(one: Average) -> tuple[str, int, int]:
    return one.kind, one.weights, len(one.sample)


def _are_others(start: Owner | Average, saved: Owner | Average, now: Owner | Average) -> bool:
    """Whether the weights are surely not those saved, nor an average of training's."""
    if not saved.sample or start.sample == saved.sample:
        return False
    if now.sample == start.sample:
        return True
    moved, off = _distance(start.sample, saved.sample), _distance(now.sample, saved.sample)
    size = _distance(saved.sample, (0.0,) * len(saved.sample))
    if not all(map(math.isfinite, (moved, off, size))):
        return False
    return off > _FAR * moved and off > _ROUNDED * _FAR * size


def _distance(one: Sequence[float], two: Sequence[float]) -> float:
    return math.sqrt(math.fsum((a - b) ** 2 for a, b in zip(one, two, strict=True)))


def _of_data(
    first: Moment, later: Moment | None, resumed: Moment, *, in_epoch: bool
) -> Iterator[Difference]:
    if later is None or None in (first.batch, later.batch, resumed.batch):
        return
    if resumed.batch == first.batch != later.batch:
        text = "goes on with the batch that the run began with, and not with the next one"
        if not in_epoch:
            text = "begins its next epoch with the batch that the run began with"
        yield Difference(what="data" if in_epoch else "order", text=text, is_fault=False)
