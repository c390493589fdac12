"""What is written down of an optimizer: its rates, how far its schedule is, some of its weights."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from typing import Any

from preflight.resuming.moments import Owner
from preflight.scripts.saving.weight_samples import sample_of
from preflight.users_code.facts import Frame

# What is another after each step of a schedule.
_MOVING = {
    *("optimizer", "last_epoch", "verbose", "_step_count", "_last_lr"),
    *("_is_initial", "_get_lr_called_within_step"),
}


def owner_of(optimizer: Any, at: Frame | None, schedules: Sequence[Any]) -> Owner:
    """Give where one stands, which a line of the script has made."""
    every = [one for group in optimizer.param_groups for one in group["params"]]
    own = [one for one in schedules if _moves(one, optimizer)]
    return Owner(
        kind=type(optimizer).__name__,
        at=at,
        rates=tuple(float(group.get("lr", 0.0)) for group in optimizer.param_groups),
        scheduled=max((int(one.last_epoch) for one in own), default=0),
        schedules=_counts_of(own),
        has_state=any(map(bool, optimizer.state.values())),
        weights=sum(one.numel() for one in every),
        sample=sample_of(every),
    )


def _moves(schedule: Any, optimizer: Any) -> bool:
    """Whether it is of this optimizer, which accelerate may have wrapped."""
    own = getattr(schedule, "optimizer", None)
    return optimizer in (own, getattr(own, "optimizer", None))


def _counts_of(schedules: Sequence[Any]) -> dict[str, int]:
    found: dict[str, int] = {}
    for one in schedules:
        numbers = _numbers_of(one)
        if numbers is not None:
            name = f"{type(one).__name__} {zlib.crc32(repr(numbers).encode()):08x}"
            found[name] = max(int(one.last_epoch), found.get(name, 0))
    return found


def _numbers_of(schedule: Any) -> list[object] | None:
    """Give what a schedule goes by; None: not by numbers alone, but by a function."""
    found: list[object] = [type(schedule).__name__]
    for name, value in sorted(vars(schedule).items()):
        if name == "_schedulers":
            found += map(_numbers_of, value)
        elif name not in _MOVING:
            if not _is_plain(value):
                return None
            found.append((name, value))
    return None if None in found else found


def _is_plain(value: object) -> bool:
    if isinstance(value, Mapping):
        return all(map(_is_plain, (*value.keys(), *value.values())))
    if isinstance(value, (list, tuple)):
        return all(map(_is_plain, value))
    return value is None or isinstance(value, (bool, int, float, str))
