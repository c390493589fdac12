"""What is written down of an optimizer: its rates, how far its schedule is, some of its weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from preflight.resuming.moments import Owner
from preflight.scripts.saving.states.schedule_counts import counts_of
from preflight.scripts.saving.states.weight_samples import sample_of
from preflight.users_code.facts import Frame


def owner_of(optimizer: Any, at: Frame | None, schedules: Sequence[Any]) -> Owner:
    """Give where one stands, which a line of the script has made."""
    every = [one for group in optimizer.param_groups for one in group["params"]]
    own = [one for one in schedules if _moves(one, optimizer)]
    return Owner(
        kind=type(optimizer).__name__,
        at=at,
        rates=tuple(float(group.get("lr", 0.0)) for group in optimizer.param_groups),
        scheduled=max((int(one.last_epoch) for one in own), default=0),
        schedules=counts_of(own),
        has_state=any(map(bool, optimizer.state.values())),
        weights=sum(one.numel() for one in every),
        sample=sample_of(every),
    )


def _moves(schedule: Any, optimizer: Any) -> bool:
    """Whether it is of this optimizer, which accelerate may have wrapped."""
    own = getattr(schedule, "optimizer", None)
    return optimizer in (own, getattr(own, "optimizer", None))
