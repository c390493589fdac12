"""What nobody asks for, or loads into, where others are loaded."""

from __future__ import annotations

from dataclasses import replace

import pytest

from preflight.resuming.moments import STEP, Moment, Owner
from preflight.resuming.never_asked import of_late, of_unread_schedules


@pytest.mark.parametrize(("count", "is_told"), [(0, True), (1, False)])
def test_one_of_two_that_begins_anew_is_told(*, count: int, is_told: bool) -> None:
    """And none that is moved up by hand."""
    owners = tuple(
        Owner(kind="Adam", scheduled=one, schedules={"StepLR 1": one}) for one in (count, 1)
    )
    resumed = Moment(what=STEP, owners=owners, unread_schedules={"first": 1})

    assert bool([*of_unread_schedules(resumed, [])]) == is_told


TRAINED = Owner(kind="Adam", has_state=True, sample=(2.0,), is_loaded=True, has_loaded_state=True)
LATE = Owner(kind="Adam", sample=(1.0,), is_loaded=True, has_loaded_state=True)


@pytest.mark.parametrize(
    ("other", "late", "told"),
    [
        (TRAINED, LATE, []),
        (TRAINED, replace(LATE, is_loaded=False, has_loaded_state=False), ["weights"]),
        (TRAINED, replace(LATE, has_loaded_state=False), ["optimizer"]),
        (TRAINED, replace(LATE, kind="SGD", has_loaded_state=False), []),
        (TRAINED, replace(LATE, has_state=True, is_loaded=False), []),
        # It loads in a way of its own.
        (replace(TRAINED, is_loaded=False), replace(LATE, is_loaded=False), []),
        (replace(TRAINED, has_loaded_state=False), replace(LATE, has_loaded_state=False), []),
    ],
)
def test_what_begins_later_is_to_be_loaded_as_the_others_are(
    other: Owner, late: Owner, told: list[str]
) -> None:
    begun = Owner(kind="Adam", sample=(1.0,))
    pairs = [(begun, TRAINED, other), (begun, replace(LATE, is_loaded=False), late)]

    found = [*of_late(pairs, Moment(what=STEP, owners=(other, late)))]

    assert [one.what for one in found if not one.is_fault] == told
