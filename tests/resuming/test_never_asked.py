"""A schedule's state that nobody asks for, where others are loaded."""

from __future__ import annotations

import pytest

from preflight.resuming.moments import STEP, Moment, Owner
from preflight.resuming.never_asked import of_unread_schedules


@pytest.mark.parametrize(("count", "is_told"), [(0, True), (1, False)])
def test_one_of_two_that_begins_anew_is_told(*, count: int, is_told: bool) -> None:
    """And none that is moved up by hand."""
    owners = tuple(
        Owner(kind="Adam", scheduled=one, schedules={"StepLR 1": one}) for one in (count, 1)
    )
    resumed = Moment(what=STEP, owners=owners, unread_schedules={"first": 1})

    assert bool([*of_unread_schedules(resumed, [])]) == is_told
