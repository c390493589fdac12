"""Compares what checkpoints say of how far training is: `epoch`, `step`."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from preflight.resuming.begun_anew import loop_begun_anew
from preflight.resuming.facts import Difference
from preflight.resuming.moments import SAVE, Moment


def of_counts(
    saved: Sequence[Moment],
    first: Sequence[Moment],
    again: Sequence[Moment],
    unread: Collection[str] = (),
) -> Iterator[Difference]:
    """Compare what the next checkpoint says of how far training is with what this one says.

    Of counts that are `unread` the script has never asked its checkpoint.
    """
    before = _counts(saved)
    after = _counts(one for one in again if one.what == SAVE)
    behind = [one for one in before if after.get(one, before[one]) < before[one]]
    if any(_is_epoch(one) and after.get(one, 0) > count for one, count in before.items()):
        behind = [one for one in behind if _runs_on(one, first)]
    behind = [one for one in behind if not _begins_anew_by_itself(one, first)]
    if behind:
        yield _stands_at(behind[0], before, after, is_fault=True)
        return
    # Where each save of the first run counted further, this one should have as well; before its
    # first step it may save once more what it has loaded.
    taken = next((one for one in again if one.what == SAVE and one.counts and one.steps), None)
    after = after if taken is None else dict(taken.counts)
    further = _counts(one for one in first if one.what == SAVE and one.steps > saved[-1].steps)
    counted = [one for one in before if further.get(one, before[one]) > before[one]]
    stands = [one for one in counted if after.get(one) == before[one]]
    # An epoch may be begun again on purpose, and the step that was the last one is taken again
    # where its own number is saved; what counts steps has otherwise gone on with each.
    steps = [one for one in stands if not _is_epoch(one) and taken is not None]
    is_anew = taken is not None and _is_anew(taken, saved[-1])
    goes_on = any(after.get(one, number) > number for one, number in before.items())
    if stands and stands == counted and not (steps and goes_on):
        told = (steps or counted)[0]
        is_fault = is_anew if steps else taken is not None and _is_earlier(taken, saved[-1], first)
        is_fault |= not steps and loop_begun_anew(saved, first, again) is not None
        is_unread = taken is not None and told in unread
        is_whole = not steps and taken is not None and _too_far(told, saved[-1], taken, first) < 0
        one = _stands_at(told, before, after, is_fault=is_fault or is_unread or is_whole)
        if is_whole and not is_fault:
            one = one._replace(text=f"trains an epoch again that was over: {one.text}")
        yield one._replace(text=f"{one.text}, and never asks it") if is_unread else one
    elif taken is not None and (
        left_out := [one for one in before if _too_far(one, saved[-1], taken, first) > 0]
    ):
        one = _stands_at(left_out[0], before, after, is_fault=True)
        yield one._replace(what="skip", text=f"leaves out an epoch: {one.text}")
    elif is_anew and (alone := [one for one in steps if _runs_on(one, first)]):
        yield _stands_at(alone[0], before, after, is_fault=True)


def _is_anew(taken: Moment, saved: Moment) -> bool:
    """Whether more was trained since than the step that is taken again, of each optimizer."""
    of_one = max(1, len(taken.owners))
    return taken.steps > of_one or saved.steps <= of_one


def _is_earlier(taken: Moment, saved: Moment, first: Sequence[Moment]) -> bool:
    """Whether it took more than one epoch to come to the same: it began before that one."""
    counting = [one for one in first if one.what == SAVE and one.counts]
    here = next((one for one in counting if one.steps == saved.steps), None)
    later = next((one for one in counting if one.steps > saved.steps), None)
    if here is None or later is None:
        return False
    epochs = _epoch(later) - _epoch(here)
    passes = later.passes - here.passes
    # Passes may have been longer in the first run, where a script counts its epochs by steps.
    takes_more = later.steps - here.steps < taken.steps * epochs
    return epochs > 0 < passes < taken.passes * epochs and takes_more


def _too_far(name: str, saved: Moment, taken: Moment, first: Sequence[Moment]) -> int:
    """Say whether it counts an epoch too many (1) or too few (-1) behind a save between two.

    In as many passes over its data, and in as many steps, it should come as far as the first run
    did. 0: it does, or not all of these saves were made between two epochs.
    """
    further = [one for one in first if one.what == SAVE and one.steps > saved.steps]
    later = next((one for one in further if name in one.counts), None)
    if not _is_epoch(name) or later is None or not {name} <= saved.counts.keys() & taken.counts:
        return 0
    came, due = (one.counts[name] - saved.counts[name] for one in (taken, later))
    passes, steps = later.passes - saved.passes, later.steps - saved.steps
    is_between = not (saved.in_epoch or later.in_epoch or taken.in_epoch)
    if not is_between or min(passes, due, taken.passes) <= 0:
        return 0
    beyond = [came - due * ratio for ratio in (taken.passes / passes, taken.steps / steps)]
    return int(min(beyond) >= 1) - int(max(beyond) <= -1)


def _begins_anew_by_itself(name: str, first: Sequence[Moment]) -> bool:
    """Whether it was less at one save of the first run than at the one before: in each epoch."""
    counts = [one.counts[name] for one in first if one.what == SAVE and name in one.counts]
    return any(two < one for one, two in itertools.pairwise(counts))


def _runs_on(name: str, first: Sequence[Moment]) -> bool:
    """Whether it counted further with each save and beyond an epoch: some begin anew in each."""
    saves = [one for one in first if one.what == SAVE and name in one.counts]
    pairs = [(one, two) for one, two in itertools.pairwise(saves) if two.steps > one.steps]
    is_beyond = any(_epoch(two) > _epoch(one) for one, two in pairs)
    return is_beyond and all(two.counts[name] > one.counts[name] for one, two in pairs)


def goes_on_within(
    saved: Sequence[Moment], first: Sequence[Moment], again: Sequence[Moment]
) -> bool:
    """Whether it goes on in the epoch of its checkpoint, which the first run was made to leave."""
    before = _counts(saved)
    now = _counts(one for one in again if one.what == SAVE and one.steps)
    further = _counts(one for one in first if one.what == SAVE and one.steps > saved[-1].steps)
    stays = any(now.get(one) == number < further.get(one, number) for one, number in before.items())
    goes_on = any(now.get(one, number) > number for one, number in before.items())
    return saved[-1].in_epoch and stays and goes_on


def _is_epoch(name: str) -> bool:
    return name.rpartition(".")[2] == "epoch"


def _epoch(save: Moment) -> int:
    return next((count for name, count in save.counts.items() if _is_epoch(name)), 0)


def _counts(saves: Iterable[Moment]) -> dict[str, int]:
    """Give what the first of them says that says anything."""
    return next((dict(one.counts) for one in saves if one.counts), {})


def _stands_at(
    name: str, before: Mapping[str, int], after: Mapping[str, int], *, is_fault: bool
) -> Difference:
    text = f"saves `{name}` as {after[name]:,} next, where the checkpoint has {before[name]:,}"
    return Difference(what="step", text=text, is_fault=is_fault)
