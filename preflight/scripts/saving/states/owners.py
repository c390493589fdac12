"""What is written down of an optimizer: its rates, how far its schedule is, some of its weights."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from preflight.resuming.moments import Owner
from preflight.scripts.saving.states.loaded_into import LoadedInto
from preflight.scripts.saving.states.schedule_counts import counts_of
from preflight.scripts.saving.states.weight_samples import sample_of
from preflight.users_code.facts import Frame


def owner_of(
    optimizer: Any, at: Frame | None, schedules: Sequence[Any], into: LoadedInto | None = None
) -> Owner:
    """Give where one stands, which a line of the script has made, and what was loaded into it."""
    every = [one for group in optimizer.param_groups for one in group["params"]]
    own = [one for one in schedules if _moves(one, optimizer)]
    return Owner(
        kind=type(optimizer).__name__,
        at=at,
        rates=tuple(float(group.get("lr", 0.0)) for group in optimizer.param_groups),
        scheduled=max((int(one.last_epoch) for one in own), default=0),
        schedules=counts_of(own),
        has_state=any(map(_holds_any, optimizer.state.values())),
        state=sample_of(one for each in every for one in _kept(optimizer.state.get(each))),
        weights=sum(one.numel() for one in every),
        sample=sample_of(every),
        is_loaded=into is not None and any(map(into.has, every)),
        has_loaded_state=into is not None and into.has(optimizer),
    )


def _holds_any(state: object) -> bool:
    """Whether there is anything in a state; older SGD keeps None where it has no momentum."""
    values = state.values() if isinstance(state, dict) else (state,)
    return any(one is not None for one in values)


def _kept(state: object) -> Iterator[Any]:
    """Give the tensors that an optimizer keeps of one of its weights."""
    if isinstance(state, dict):
        yield from (one for one in state.values() if getattr(one, "ndim", 0))


def _moves(schedule: Any, optimizer: Any) -> bool:
    """Whether it is of this optimizer, which accelerate may have wrapped."""
    own = getattr(schedule, "optimizer", None)
    return optimizer in (own, getattr(own, "optimizer", None))
