"""Tells of what a script does not ask its checkpoint for when it goes on from there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from preflight.resuming.facts import Difference
from preflight.resuming.moments import SAVE, Moment, Owner
from preflight.values.names import first_of


def of_late(pairs: Sequence[tuple[Owner, Owner, Owner]], resumed: Moment) -> Iterator[Difference]:
    """Tell, as a guess, of what had taken no step when it was saved, and into which none loads.

    So discriminators begin that are trained later. Whether they go on is seen of nothing else: they
    are as they were made.
    """
    loads = any(one.is_loaded for one in resumed.owners)
    loads_state = any(one.has_loaded_state for one in resumed.owners)
    for start, at_save, owner in pairs:
        if at_save.has_state or owner.has_state or at_save.sample != start.sample:
            continue
        late = f"{owner.kind}, which had taken no step when it was saved"
        if loads and not owner.is_loaded:
            text = f"loads nothing into the weights of {late}: they may begin anew"
            yield Difference(what="weights", text=text, is_fault=False, at=owner.at)
        elif loads_state and not owner.has_loaded_state and owner.kind != "SGD":  # it may keep none
            text = f"loads no state into {late}: it may begin anew"
            yield Difference(what="optimizer", text=text, is_fault=False, at=owner.at)


# Of what is the same in so many saves nothing tells that it counts.
_TWO = 2


def of_unread_schedules(resumed: Moment, again: Sequence[Moment]) -> Iterator[Difference]:
    """Tell of a schedule that begins anew, by the state that is left unread beside it.

    One that is told the epoch with each step has caught up by the next save. Where it had not moved
    as yet, nothing else shows it.
    """
    counts = _counts(resumed)
    later = [_counts(one) for one in again if one.what == SAVE]
    for name, moved in resumed.unread_schedules.items():
        if min(counts, default=moved) < moved and all(
            min(one, default=0) <= moved for one in later
        ):
            text = f"never asks for `{name}` of the checkpoint: its schedule, which had moved "
            text += f"{moved:,} {'time' if moved == 1 else 'times'}, begins anew"
            yield Difference(what="rate", text=text)
        elif not moved and not any(counts):
            text = f"never asks for `{name}` of the checkpoint, and may begin its schedule anew"
            yield Difference(what="rate", text=text, is_fault=False)


def _counts(moment: Moment) -> list[int]:
    """Say how often each schedule has moved, of which some may have been loaded."""
    plain = [count for one in moment.owners for count in one.schedules.values()]
    return plain or [max((one.scheduled for one in moment.owners), default=0)]


def of_unread_counts(
    resumed: Moment, first: Sequence[Moment], again: Sequence[Moment]
) -> Iterator[Difference]:
    """Tell, as a guess, of one that cannot know how far training was, unless by a file's name."""
    every = [one.counts for one in first if one.what == SAVE and one.counts]
    held = {
        name: count
        for name, count in resumed.unread_counts.items()
        if len(every) < _TWO or any(one.get(name, count) != count for one in every)
    }
    saved = (one.counts for one in again if one.what == SAVE and one.counts)
    if not held or any(one.get(name, -1) > held[name] for one in saved for name in held):
        return
    names = first_of([f"`{name}` ({count:,})" for name, count in held.items()], len(held))
    text = f"never asks the checkpoint how far it was, by {names}, and may begin its count anew"
    yield Difference(what="step", text=text, is_fault=False)
