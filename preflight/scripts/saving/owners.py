"""What is written down of an optimizer: its rates, how far its schedule is, some of its weights."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from preflight.resuming.moments import Owner
from preflight.scripts.saving.weight_samples import sample_of
from preflight.users_code.facts import Frame


def owner_of(optimizer: Any, at: Frame | None, schedules: Sequence[Any]) -> Owner:
    """Give where one stands, which a line of the script has made."""
    every = [one for group in optimizer.param_groups for one in group["params"]]
    return Owner(
        kind=type(optimizer).__name__,
        at=at,
        rates=tuple(float(group.get("lr", 0.0)) for group in optimizer.param_groups),
        scheduled=max(_counts_of(optimizer, schedules), default=0),
        has_state=any(map(bool, optimizer.state.values())),
        weights=sum(one.numel() for one in every),
        sample=sample_of(every),
    )


def _counts_of(optimizer: Any, schedules: Sequence[Any]) -> Iterator[int]:
    """Give how often each schedule moved an optimizer, which accelerate may have wrapped."""
    for schedule in schedules:
        own = getattr(schedule, "optimizer", None)
        if optimizer in (own, getattr(own, "optimizer", None)):
            yield int(schedule.last_epoch)
