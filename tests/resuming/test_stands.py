"""What checkpoints say of how far training is, where only some of it begins anew."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from preflight.resuming.begun_anew import of_loops, of_names
from preflight.resuming.facts import Difference
from preflight.resuming.moments import SAVE, Moment, Owner
from preflight.resuming.stands import of_counts

TWO = (Owner(kind="AdamW", weights=20), Owner(kind="AdamW", weights=30))


def save(steps: int, epoch: int, count: int) -> Moment:
    return Moment(what=SAVE, steps=steps, owners=TWO, counts={"epoch": epoch, "steps": count})


def told(first: list[Moment], again: Moment) -> list[tuple[str, bool]]:
    found: list[Difference] = [*of_counts(first[:1], first, [again])]
    return [(one.text.split("`")[1], one.is_fault) for one in found]


RUNS_ON = [save(6, 0, 2), save(10, 1, 4), save(14, 3, 6)]


def test_steps_that_begin_anew_are_told_where_the_epoch_goes_on() -> None:
    assert told(RUNS_ON, save(6, 1, 2)) == [("steps", True)]
    assert told(RUNS_ON, save(4, 1, 4)) == []


@pytest.mark.parametrize(
    "first",
    [
        [save(4, 0, 2), save(8, 0, 4)],  # it has not come to another epoch
        [save(4, 0, 2), save(8, 0, 4), save(12, 1, 2), save(16, 1, 4)],
        [save(4, 0, 2), save(8, 0, 4), save(12, 1, 4)],
    ],
)
def test_steps_that_are_counted_within_each_epoch_are_left_alone(first: list[Moment]) -> None:
    """It goes on with the next epoch, and not within that of the checkpoint."""
    assert told(first, save(4, 1, 2)) == []


def test_a_step_that_two_optimizers_take_again_is_no_more_than_a_warning() -> None:
    assert told(RUNS_ON, save(2, 0, 2)) == [("steps", False)]
    assert told(RUNS_ON, save(2, 1, 2)) == []
    assert told(RUNS_ON, save(6, 0, 2)) == [("steps", True)]


WITHIN_EPOCHS = [save(6, 0, 3), save(12, 1, 3), save(18, 2, 3)]


@pytest.mark.parametrize(("epoch", "count", "is_told"), [(1, 2, False), (0, 2, True)])
def test_steps_of_a_later_epoch_may_be_fewer(*, epoch: int, count: int, is_told: bool) -> None:
    assert bool(told(WITHIN_EPOCHS, save(4, epoch, count))) == is_told
    assert told(RUNS_ON, save(4, epoch, 1)) == [("steps", True)]


def epochs(steps: int, epoch: int, passes: int) -> Moment:
    return Moment(what=SAVE, steps=steps, passes=passes, counts={"epoch": epoch})


@pytest.mark.parametrize("loops", [1, 2])
def test_an_epoch_that_is_come_to_from_the_beginning_is_told_from_one_begun_again(
    loops: int,
) -> None:
    """One of two loops begins its epochs with the one and with the other."""
    seldom = [epochs(7, 4, 5 * loops), epochs(12, 9, 10 * loops)]

    assert told(seldom, epochs(6, 4, 5 * loops)) == [("epoch", True)]
    assert told(seldom, epochs(6, 4, loops)) == [("epoch", False)]
    assert told(seldom, epochs(6, 9, 5 * loops)) == []
    each = [epochs(2, 1, loops), epochs(4, 2, 2 * loops)]
    assert told(each, epochs(2, 1, loops)) == [("epoch", False)]


def test_an_epoch_whose_passes_nobody_counts_is_no_more_than_a_warning() -> None:
    assert told([epochs(7, 4, 0), epochs(12, 9, 0)], epochs(6, 4, 0)) == [("epoch", False)]
    assert told([epochs(7, 4, 1), epochs(12, 9, 1)], epochs(6, 4, 1)) == [("epoch", False)]


def test_an_epoch_of_many_short_passes_is_begun_again() -> None:
    """It counts epochs by steps, and the first run was given longer passes."""
    first = [epochs(100, 1, 1), epochs(200, 2, 2)]

    assert told(first, epochs(100, 1, 99)) == [("epoch", False)]


@pytest.mark.parametrize(
    ("held", "later", "now", "told"),
    [
        ("step_2", "step_4", "step_2", True),
        ("step_2", "step_4", "step_4", False),
        ("step_2", "step_4", "step_3", False),
        ("last", "last", "last", False),
        ("step_2", "final", "step_2", False),
        ("slot_1", "slot_0", "slot_1", False),
    ],
)
def test_a_count_in_names_alone_that_begins_anew_is_a_guess(
    *, held: str, later: str, now: str, told: bool
) -> None:
    saved = Moment(what=SAVE, steps=3, path=f"/job/{held}", is_folder=True)
    next_one = Moment(what=SAVE, steps=6, path=f"/job/{later}", is_folder=True)
    again = Moment(what=SAVE, steps=3, path=f"/job/{now}", is_folder=True)

    found = [*of_names([saved], [saved, next_one], [again])]

    said = "saves step_2 once more, and not step_4: it may begin its count anew"
    assert [(one.text, one.is_fault) for one in found] == ([(said, False)] if told else [])


def test_a_count_that_is_never_asked_for_and_stands_has_begun_anew() -> None:
    first = [epochs(2, 0, 1), epochs(4, 1, 2)]
    unread: dict[str, int]

    for unread in ({}, {"epoch": 0}):
        (one,) = of_counts(first[:1], first, [epochs(2, 0, 1)], unread)
        assert one.is_fault == bool(unread)


def in_names(steps: int, number: int, **more: Any) -> Moment:
    path = f"/job/out/step_{number}/last.pt"
    return Moment(what=SAVE, steps=steps, owners=TWO, path=path, holds_state=True, **more)


@pytest.mark.parametrize(
    ("steps", "taken", "is_sure"), [((8, 16), 8, True), ((6, 16), 6, False), ((8, 16), 4, False)]
)
def test_a_number_in_names_that_is_that_of_the_steps_has_begun_anew(
    steps: tuple[int, int], taken: int, *, is_sure: bool
) -> None:
    """And one in a name that stays as it is, where the epoch is that of the checkpoint."""
    first = [in_names(steps[0], 4, counts={"epoch": 0}), in_names(steps[1], 8, counts={"epoch": 0})]

    (one,) = of_names(first[:1], first, [in_names(taken, 4, counts={"epoch": 0})])
    assert one.is_fault == is_sure
    assert one.text.startswith("saves step_4 once more, and not step_8: ")
    assert [*of_names(first[:1], first, [in_names(taken, 8, counts={"epoch": 0})])] == []
    assert [*of_names(first[:1], first, [in_names(taken, 4, counts={"epoch": 1})])] == []


@pytest.mark.parametrize(
    ("now", "is_told"), [({"e of 20": 0}, True), ({"e of 20": 1}, False), ({"e of 19": 0}, False)]
)
def test_a_loop_that_always_begins_anew_shows_what_does(
    now: dict[str, int], *, is_told: bool
) -> None:
    def found(**counts: int) -> list[tuple[str, bool]]:
        first = [in_names(2 * n, n, loops={"e of 20": n - 1}, counts=counts) for n in (1, 2)]
        names = [one if counts else replace(one, path="/job/last.pt") for one in first]
        again = [replace(names[0], loops=now)]
        told = [*of_names(names[:1], names, again), *of_loops(names[:1], names, again)]
        return [(one.text.partition(",")[0], one.is_fault) for one in told]

    assert found() == ([("begins its loop over `e` anew", False)] if is_told else [])
    assert found(epoch=3) == [("saves step_1 once more", is_told)]


@pytest.mark.parametrize(("counts", "is_told"), [((4, 0, 4), False), ((4, 8, 12), True)])
def test_a_count_that_is_less_again_in_the_first_run_is_none_of_all_training(
    counts: tuple[int, ...], *, is_told: bool
) -> None:
    first = [
        Moment(what=SAVE, steps=2 * n, counts={"step": one}) for n, one in enumerate(counts, 1)
    ]
    found = of_counts(first[:1], first, [Moment(what=SAVE, steps=2, counts={"step": 0})])

    assert bool([*found]) == is_told


def between(steps: int, epoch: int, passes: int) -> Moment:
    return replace(epochs(steps, epoch, passes), in_epoch=False)


@pytest.mark.parametrize("loops", [1, 2])
@pytest.mark.parametrize(
    ("epoch", "said"),
    [(0, "trains an epoch again that was over"), (1, ""), (2, "leaves out an epoch")],
)
def test_an_epoch_that_was_over_is_neither_trained_again_nor_left_out(
    loops: int, epoch: int, said: str
) -> None:
    """Whichever the checkpoint names: the one that was over, or the next one."""
    for shift in (0, 1):
        first = [between(2 * n, n - 1 + shift, n * loops) for n in (1, 2, 3)]

        found = [*of_counts(first[:1], first, [between(2, epoch + shift, loops)])]

        told = [(one.text.partition(":")[0], one.is_fault) for one in found]
        assert told == ([(said, True)] if said else [])


def test_of_an_epoch_of_two_loops_the_first_alone_is_no_whole_one() -> None:
    """It is saved between them, and goes on with the first one again, or with that of the next."""
    first = [between(2, 0, 1), between(6, 1, 3)]

    assert told(first, between(2, 0, 1)) == [("epoch", False)]
    assert told(first, between(2, 1, 1)) == []


def test_an_epoch_that_is_counted_by_steps_may_be_come_to_sooner() -> None:
    """Of three steps each; the passes of the two runs are not of equal length."""
    first = [between(5, 1, 3), between(8, 2, 6)]

    assert told(first, between(4, 3, 3)) == []


def test_an_epoch_in_which_it_was_saved_may_be_begun_again() -> None:
    first = [epochs(2, 0, 1), epochs(4, 1, 2)]

    assert told(first, epochs(2, 0, 1)) == [("epoch", False)]
    assert told(first, epochs(2, 2, 1)) == []
