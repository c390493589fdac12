"""Two runs of a script are compared: only what is surely another is told."""

from __future__ import annotations

from dataclasses import replace

import pytest

from preflight.resuming.differences import chosen, differences, later_average
from preflight.resuming.moments import BEGIN, SAVE, STEP, Average, Moment, Owner

BEGAN = tuple(float(one) for one in range(20))
SAVED = tuple(one + 0.01 for one in BEGAN)


def owner(**more: object) -> Owner:
    given = {"kind": "AdamW", "rates": (0.1,), "weights": 20, "sample": BEGAN, **more}
    return Owner(**given)  # type: ignore[arg-type]


TRAINED = owner(sample=SAVED, has_state=True, rates=(0.05,))


def step(steps: int, one: Owner, batch: int | None) -> Moment:
    return Moment(what=STEP, steps=steps, owners=(one,), batch=batch)


def save(steps: int, one: Owner, **more: object) -> Moment:
    given = {"path": "last.pt", "holds_state": True, **more}
    return Moment(what=SAVE, steps=steps, owners=(one,), **given)  # type: ignore[arg-type]


FIRST = (
    step(0, owner(), 1),
    save(2, TRAINED, counts={"epoch": 0}),
    step(2, TRAINED, 2),
    save(4, TRAINED, counts={"epoch": 1}),
)


def said(*again: Moment) -> dict[str, bool]:
    return {one.what: one.is_fault for one in differences(FIRST, again)}


def test_a_run_that_goes_on_as_it_was_is_left_alone() -> None:
    assert said(step(0, TRAINED, 2), save(2, TRAINED, counts={"epoch": 1})) == {}


def test_what_was_saved_with_fewer_bits_is_left_alone() -> None:
    rounded = tuple(one * (1 + 2**-9) for one in SAVED)

    assert said(step(0, replace(TRAINED, sample=rounded), 2)) == {}


def test_an_average_of_the_weights_is_left_alone() -> None:
    average = tuple((one + two) / 2 for one, two in zip(BEGAN, SAVED, strict=True))

    assert said(step(0, replace(TRAINED, sample=average), 2)) == {}


@pytest.mark.parametrize("sample", [BEGAN, tuple(-one for one in BEGAN)])
def test_weights_that_are_not_those_saved_are_told(sample: tuple[float, ...]) -> None:
    """Those of the start, or others by chance."""
    assert said(step(0, replace(TRAINED, sample=sample), 2)) == {"weights": True}


def test_weights_that_training_has_not_moved_tell_nothing() -> None:
    still = [replace(one, owners=(owner(),)) for one in FIRST]

    assert differences(still, [step(0, owner(), 2)]) == []


def test_an_optimizer_that_has_forgotten_is_told() -> None:
    assert said(step(0, replace(TRAINED, has_state=False), 2)) == {"optimizer": True}


def test_an_optimizer_that_was_not_saved_is_told_as_such() -> None:
    first = [replace(one, holds_state=False) for one in FIRST]
    (told,) = differences(first, [step(0, replace(TRAINED, has_state=False), 2)])

    assert told.text == "goes on with an empty state of AdamW, which was not saved"


@pytest.mark.parametrize(("rate", "is_fault"), [(0.1, True), (0.07, False)])
def test_another_rate_is_told(rate: float, is_fault: bool) -> None:  # noqa: FBT001
    """That of the first step is worse than any other."""
    assert said(step(0, replace(TRAINED, rates=(rate,)), 2)) == {"rate": is_fault}


def test_the_rate_of_the_save_and_that_of_the_next_step_are_both_right() -> None:
    later = replace(TRAINED, rates=(0.04,))
    first = (*FIRST[:2], step(2, later, 2))

    assert differences(first, [step(0, TRAINED, 2)]) == []
    assert differences(first, [step(0, later, 2)]) == []


def scheduled(rate: float, count: int) -> Owner:
    return replace(TRAINED, rates=(rate,), scheduled=count)


MOVED = (
    step(0, owner(), 1),
    save(2, scheduled(0.05, 1)),
    step(2, scheduled(0.05, 1), 2),
    save(4, scheduled(0.02, 2)),
)


@pytest.mark.parametrize(
    "now",
    [
        scheduled(0.048, 1),  # it multiplies the rate that was loaded, as at its beginning
        scheduled(0.05, 1),  # it sets the rate, as at its beginning
    ],
)
def test_a_schedule_that_begins_anew_shows_itself_at_the_next_save(now: Owner) -> None:
    """The rate was right at the first step, since the optimizer was loaded."""
    (told,) = differences(MOVED, [step(0, scheduled(0.05, 0), 2), save(2, now)])

    assert (told.what, told.is_fault) == ("rate", True)
    rate = now.rates[0]
    assert told.text.startswith(f"has a learning rate of {rate} at its next save, not 0.02: its")


@pytest.mark.parametrize(
    "now",
    [
        scheduled(0.02, 2),
        scheduled(0.03, 3),  # it has taken other steps than the run before did
        scheduled(0.05, 1),  # it has not come to its next move yet
    ],
)
def test_a_schedule_that_goes_on_is_left_alone(now: Owner) -> None:
    assert differences(MOVED, [step(0, scheduled(0.05, 1), 2), save(2, now)]) == []


def test_a_schedule_of_the_scripts_own_is_told_where_it_is_as_at_first() -> None:
    """After as many steps, it has the rate that it had in the first run, and not the next one."""
    own = [replace(one, owners=(replace(one.owners[0], scheduled=0),)) for one in MOVED]
    begun = step(0, scheduled(0.05, 0), 2)

    assert [one.what for one in differences(own, (begun, save(2, scheduled(0.05, 0))))] == ["rate"]
    assert differences(own, (begun, save(2, scheduled(0.02, 0)))) == []
    assert differences(own, (begun, save(1, scheduled(0.05, 0)))) == []


def test_a_schedule_of_the_scripts_own_that_nobody_counts_tells_nothing() -> None:
    """Nor does one of which the script itself says where it is: it comes to the same rate."""
    own = [replace(one, owners=(replace(one.owners[0], scheduled=0),)) for one in MOVED]
    again = (step(0, scheduled(0.05, 0), 2), save(1, scheduled(0.03, 0)))

    assert differences(own, again) == []
    assert differences(MOVED, (again[0], save(2, scheduled(0.02, 1)))) == []


def test_a_schedule_that_has_not_moved_the_rate_tells_nothing() -> None:
    """It warms up for long, or waits for a plateau."""
    still = (*MOVED[:3], save(4, scheduled(0.05, 2)))

    assert differences(still, [step(0, scheduled(0.05, 0), 2), save(2, scheduled(0.04, 1))]) == []


def test_the_batch_of_the_beginning_is_told_where_another_would_come() -> None:
    assert said(step(0, TRAINED, 1)) == {"data": False}
    assert said(step(0, TRAINED, 3)) == {}
    assert said(step(0, TRAINED, None)) == {}


def test_the_order_of_the_first_epoch_is_told_where_whole_epochs_are_saved() -> None:
    first = [replace(one, in_epoch=False) for one in FIRST]

    (found,) = differences(first, [step(0, TRAINED, 1)])
    assert (found.what, found.is_fault) == ("order", False)
    assert found.text == "begins its next epoch with the batch that the run began with"
    assert differences(first, [step(0, TRAINED, 3)]) == []


def test_a_schedule_that_moves_the_rate_behind_the_checkpoint_is_told() -> None:
    """As one that falls after two epochs, of which the first one is saved."""
    first = (
        step(0, scheduled(0.1, 0), 1),
        save(2, scheduled(0.1, 1)),
        step(2, scheduled(0.1, 1), 2),
        save(4, scheduled(0.01, 2)),
    )

    again = (step(0, scheduled(0.1, 0), 2), save(2, scheduled(0.1, 1)))
    assert [one.what for one in differences(first, again)] == ["rate"]
    again = (step(0, scheduled(0.1, 1), 2), save(2, scheduled(0.01, 2)))
    assert differences(first, again) == []


def test_a_count_that_goes_back_is_told() -> None:
    first = (FIRST[0], replace(FIRST[1], counts={"epoch": 5}))
    (told,) = differences(first, [step(0, TRAINED, 2), save(2, TRAINED, counts={"epoch": 0})])

    assert (told.what, told.is_fault) == ("step", True)
    assert told.text == "saves `epoch` as 0 next, where the checkpoint has 5"


def test_a_count_that_stands_still_is_told_where_each_save_counted() -> None:
    again = (step(0, TRAINED, 2), save(2, TRAINED, counts={"epoch": 0}))
    within = [replace(one, counts={"epoch": 0}) for one in FIRST]

    assert said(*again) == {"step": False}
    assert differences(within, again) == []


@pytest.mark.parametrize(("taken", "is_fault"), [(1, False), (100, True)])
def test_a_step_that_is_taken_again_is_told_from_a_count_that_begins_anew(
    taken: int, *, is_fault: bool
) -> None:
    """Who saves the number of the step that was taken last goes on with that one."""
    first = (
        FIRST[0],
        save(100, TRAINED, counts={"step": 99}),
        step(100, TRAINED, 2),
        save(200, TRAINED, counts={"step": 199}),
    )
    again = (step(0, TRAINED, 2), save(taken, TRAINED, counts={"step": 99}))

    assert [(one.what, one.is_fault) for one in differences(first, again)] == [("step", is_fault)]


def test_what_is_loaded_may_be_saved_once_more_before_the_first_step() -> None:
    """As by a loop that evaluates and saves at its head, where the number of the step says so."""
    first = (
        FIRST[0],
        save(50, TRAINED, counts={"step": 50}),
        step(50, TRAINED, 2),
        save(100, TRAINED, counts={"step": 100}),
    )
    again = (save(0, TRAINED, counts={"step": 50}), step(0, TRAINED, 2))

    assert differences(first, (*again, save(50, TRAINED, counts={"step": 100}))) == []
    (told,) = differences(first, (*again, save(50, TRAINED, counts={"step": 50})))
    assert (told.what, told.is_fault) == ("step", True)


def test_rates_are_told_in_the_digits_in_which_they_differ() -> None:
    first = (
        step(0, scheduled(0.4, 0), 1),
        save(2, scheduled(0.40004, 2)),
        step(2, scheduled(0.40004, 2), 2),
    )
    (told,) = differences(first, [step(0, scheduled(0.4, 0), 2)])

    assert "a learning rate of 0.4, not 0.40004:" in told.text


def test_another_optimizer_is_not_compared() -> None:
    other = owner(kind="SGD", weights=7)

    assert said(step(0, other, 2)) == {}


def test_without_a_step_nothing_is_told() -> None:
    assert differences(FIRST, []) == []
    assert differences((), FIRST) == []


def test_a_checkpoint_is_what_was_saved_at_one_step_after_the_first() -> None:
    """The weights of the start are none."""
    early = save(0, owner(), path="init.pt")
    two = save(2, TRAINED, path="optimizer.pt")

    assert chosen([early, *FIRST[:2], two, FIRST[3]]) == [FIRST[1], two]


def test_a_whole_checkpoint_is_taken_before_weights_alone_and_samples_never() -> None:
    sample = save(1, TRAINED, path="sample.pt", counts={"step": 1}, is_sample=True)
    best = save(1, TRAINED, path="best.pt", holds_state=False)

    assert chosen([sample, best, *FIRST]) == [FIRST[1]]
    assert chosen([sample, best]) == [best]
    assert chosen([sample]) == []


@pytest.mark.parametrize(
    ("paths", "number"),
    [
        (("m_00000.pt", "m_00010.pt"), 1),
        (("run-7/epoch_0/m.pt", "run-7/epoch_1/m.pt"), 1),
        (("m_1.pt", "m_2.pt"), 0),
        (("m_0.pt", "last.pt"), 0),
        (("m.pt", "m.pt"), 0),
    ],
)
def test_a_checkpoint_0_of_the_very_first_step_is_passed_over(
    paths: tuple[str, str], number: int
) -> None:
    """Where another of its row follows, and a step behind that."""
    saves = [save(steps, TRAINED, path=path) for steps, path in zip((1, 3), paths, strict=True)]
    steps = [step(0, owner(), 1), step(3, TRAINED, 2)]

    assert chosen([steps[0], *saves, steps[1]]) == [saves[number]]
    assert chosen([steps[0], *saves]) == [saves[0]]
    late = [save(2, TRAINED, path=paths[0]), saves[1]]
    assert chosen([steps[0], *late, steps[1]]) == [late[0]]


def average(sample: tuple[float, ...], **more: bool) -> Average:
    return Average(kind="Net", weights=20, sample=sample, **more)


def beside(moment: Moment, *averages: Average) -> Moment:
    return replace(moment, averages=averages)


HALFWAY = tuple((one + two) / 2 for one, two in zip(BEGAN, SAVED, strict=True))
AVERAGED = (
    beside(FIRST[0], average(BEGAN, is_raw=True)),
    beside(FIRST[1], average(HALFWAY, follows=True)),
    beside(FIRST[2], average(HALFWAY, follows=True)),
)


@pytest.mark.parametrize(
    ("now", "told"),
    [
        (average(SAVED, is_raw=True), [("average", True)]),
        (average(BEGAN), [("average", True)]),
        (average(HALFWAY), []),
        (average(tuple(one * (1 + 2**-9) for one in HALFWAY)), []),
    ],
)
def test_an_average_that_is_the_weights_again_or_those_of_the_start_is_told(
    now: Average, told: list[tuple[str, bool]]
) -> None:
    found = differences(AVERAGED, [beside(step(0, TRAINED, 2), now)])

    assert [(one.what, one.is_fault) for one in found] == told


def test_a_copy_that_was_never_another_is_no_average() -> None:
    target = [
        beside(one, *(replace(each, follows=False) for each in one.averages)) for one in AVERAGED
    ]

    assert differences(target, [beside(step(0, TRAINED, 2), average(SAVED, is_raw=True))]) == []


def test_an_average_of_weights_that_were_not_loaded_is_not_told_beside_them() -> None:
    begun = owner(has_state=True, rates=(0.05,))
    found = differences(AVERAGED, [beside(step(0, begun, 2), average(BEGAN, is_raw=True))])

    assert [one.what for one in found] == ["weights"]


@pytest.mark.parametrize(
    ("kind", "moves_at", "told"),
    [
        ("AveragedModel", 4, ""),
        ("AveragedModel", 6, "AveragedModel"),
        ("ModelEma", 6, "ModelEma"),
        ("Teacher", 6, ""),  # which may stay as it is
    ],
)
def test_an_average_that_begins_behind_the_first_checkpoint_is_told(
    kind: str, moves_at: int, told: str
) -> None:
    """What a resume makes of it is not seen at a checkpoint from before."""
    still = Average(kind=kind, weights=20, sample=BEGAN)
    moved = replace(still, sample=SAVED, follows=True)
    first = [
        save(one, TRAINED, averages=(moved if one >= moves_at else still,)) for one in (2, 4, 6)
    ]

    assert later_average(first) == told
    assert later_average(first[:1]) == ""
    assert later_average(()) == ""


def test_saves_without_a_step_between_them_are_those_of_one_moment_until_one_is_made_again() -> (
    None
):
    """As epochs make them that only add up gradients: the first is what a resume begins with."""
    weights = save(2, TRAINED, path="best.pt", holds_state=False)
    last = save(2, TRAINED, counts={"epoch": 0})
    again = (weights, save(2, TRAINED, counts={"epoch": 1}))
    named = save(2, TRAINED, path="epoch-1.pt", counts={"epoch": 1})

    assert chosen((weights, last, *again)) == [weights, last]
    assert chosen((last, named)) == [last]
    assert chosen((last, weights)) == [last, weights]


def within(rate: float, **counts: int) -> tuple[Moment, Moment]:
    return (
        step(0, replace(TRAINED, rates=(rate,)), 3),
        save(2, replace(TRAINED, rates=(rate,)), counts=counts),
    )


@pytest.mark.parametrize("in_epoch", [True, False])
def test_a_run_that_goes_on_in_the_epoch_of_its_checkpoint_is_left_alone(in_epoch: bool) -> None:  # noqa: FBT001
    """Its rate is counted from epoch and step, and the first run was made to leave its epoch."""
    first = (
        FIRST[0],
        save(2, TRAINED, counts={"epoch": 0, "step": 2}, in_epoch=in_epoch),
        step(2, replace(TRAINED, rates=(0.02,)), 2),
        save(4, replace(TRAINED, rates=(0.01,)), counts={"epoch": 1, "step": 2}),
    )

    def told(*again: Moment) -> list[tuple[str, bool]]:
        return [(one.what, one.is_fault) for one in differences(first, again)]

    on = told(*within(0.048, epoch=0, step=4))
    assert on == ([] if in_epoch else [("rate", False), ("step", False)])
    assert ("rate", True) in told(*within(0.1, epoch=0, step=4))
    assert ("step", False) in told(*within(0.05, epoch=0, step=2))
    assert told(*within(0.02, epoch=1, step=2)) == []


LATE = replace(TRAINED, kind="Adam", weights=30)


@pytest.mark.parametrize(("has_state", "told"), [(True, []), (False, ["optimizer"])])
@pytest.mark.parametrize("is_made_at_once", [True, False])
def test_an_optimizer_that_is_made_behind_the_first_step_is_compared(
    has_state: bool,  # noqa: FBT001
    told: list[str],
    is_made_at_once: bool,  # noqa: FBT001
) -> None:
    """As it was before its own first step, or when it was made to be loaded."""
    both = (TRAINED, LATE)
    first = [
        FIRST[0],
        Moment(what=BEGIN, steps=1, owners=(TRAINED, replace(LATE, sample=BEGAN, has_state=False))),
        replace(FIRST[1], owners=both),
        replace(FIRST[2], owners=both),
        replace(FIRST[3], owners=both),
    ]
    now = (TRAINED, replace(LATE, has_state=has_state))
    again = [
        replace(step(0, TRAINED, 2), owners=now if is_made_at_once else (TRAINED,)),
        Moment(what=BEGIN, steps=1, owners=now),
        save(2, TRAINED, counts={"epoch": 1}),
    ]

    assert [one.what for one in differences(first, again)] == told


def test_an_optimizer_that_is_made_anew_in_each_epoch_begins_empty() -> None:
    fresh = replace(TRAINED, has_state=False)
    first = (*FIRST[:2], step(2, fresh, 2), FIRST[3])

    assert differences(first, [step(0, fresh, 2), save(2, TRAINED, counts={"epoch": 1})]) == []
