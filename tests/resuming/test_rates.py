"""Real schedules are stepped, saved, and made anew: their counts tell which of them were lost."""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch.optim.lr_scheduler import (
    ExponentialLR,
    LambdaLR,
    LinearLR,
    MultiStepLR,
    ReduceLROnPlateau,
    SequentialLR,
    StepLR,
)

from preflight.resuming.moments import SAVE, STEP, Moment
from preflight.resuming.rates import of_counted
from preflight.scripts.saving.states.owners import owner_of

Make = Callable[[torch.optim.Optimizer], Any]

SAVED_AT, NEXT = 10, 16
"""Steps at the checkpoint, and at the next one of the first run."""


@pytest.fixture(autouse=True)
def _no_warnings() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # no optimizer takes a step here
        yield


class Job:
    """One process of training, whose rates a schedule moves."""

    def __init__(self, make: Make, rate: float = 0.1) -> None:
        self.optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(2))], rate)
        self.schedule = make(self.optimizer)
        self.steps = 0

    def train(self, steps: int, to: Callable[[int], tuple[Any, ...]] = lambda _: ()) -> None:
        """Take steps of the schedule."""
        for _ in range(steps):
            self.steps += 1
            self.schedule.step(*to(self.steps))

    def moment(self, what: str) -> Moment:
        """Give where it stands."""
        owner = owner_of(self.optimizer, None, [self.schedule])
        return Moment(what=what, steps=self.steps, owners=(owner,), path="last.pt")


def told(
    make: Make,
    again: Callable[[dict[str, Any]], Job],
    to: Callable[[int], tuple[Any, ...]] = lambda _: (),
    more: int = NEXT - SAVED_AT,
) -> list[str]:
    job = Job(make)
    first = [job.moment(STEP)]
    job.train(SAVED_AT, to)
    first.append(job.moment(SAVE))
    state = {"optimizer": job.optimizer.state_dict(), "schedule": job.schedule.state_dict()}
    job.train(NEXT - SAVED_AT, to)
    first.append(job.moment(SAVE))
    resumed = again(state)
    begun = resumed.moment(STEP)
    resumed.train(more, lambda step: to(step + SAVED_AT))
    found = of_counted(begun, first[1], first, [begun, resumed.moment(SAVE)])
    return [one.text for one in found]


def loses(make: Make) -> Callable[[dict[str, Any]], Job]:
    def again(state: dict[str, Any]) -> Job:
        job = Job(make)
        job.optimizer.load_state_dict(state["optimizer"])
        return job

    return again


def loads(make: Make) -> Callable[[dict[str, Any]], Job]:
    def again(state: dict[str, Any]) -> Job:
        job = loses(make)(state)
        job.schedule.load_state_dict(state["schedule"])
        return job

    return again


def milestones(optimizer: torch.optim.Optimizer) -> MultiStepLR:
    return MultiStepLR(optimizer, [4, 30, 60], 0.5)


def in_turn(optimizer: torch.optim.Optimizer) -> SequentialLR:
    warm = LinearLR(optimizer, 0.1, total_iters=3)
    return SequentialLR(optimizer, [warm, MultiStepLR(optimizer, [30, 60])], [3])


def every(optimizer: torch.optim.Optimizer) -> StepLR:
    return StepLR(optimizer, 9)


def by_function(optimizer: torch.optim.Optimizer) -> LambdaLR:
    args = argparse.Namespace(every=30)
    return LambdaLR(optimizer, lambda one: 0.1 ** (one // args.every))


def seldom(optimizer: torch.optim.Optimizer) -> StepLR:
    """Has not moved the rate as yet."""
    return StepLR(optimizer, 3000)


@pytest.mark.parametrize("more", [2, NEXT - SAVED_AT, SAVED_AT, NEXT - 1])
@pytest.mark.parametrize("make", [milestones, in_turn, every, by_function, seldom])
def test_a_schedule_that_is_lost_between_its_milestones_is_told(make: Make, more: int) -> None:
    (text,) = told(make, loses(make), more=more)

    name = type(Job(make).schedule).__name__
    assert text == f"counts its {name} from 0 on, and not from 10: its schedule begins anew"
    assert told(make, loads(make), more=more) == []


def test_a_schedule_that_was_brought_forward_by_hand_is_left_alone() -> None:
    def again(state: dict[str, Any]) -> Job:
        job = loses(milestones)(state)
        job.schedule.last_epoch = SAVED_AT
        return job

    assert told(milestones, again) == []


def test_a_schedule_that_is_made_for_what_is_left_is_left_alone() -> None:
    def rest(optimizer: torch.optim.Optimizer) -> MultiStepLR:
        return MultiStepLR(optimizer, [one - SAVED_AT for one in (30, 60)], 0.5)

    assert told(milestones, loses(rest)) == []


def test_a_schedule_by_a_function_may_count_from_there() -> None:
    def by(begin: int) -> Make:
        return lambda optimizer: LambdaLR(optimizer, lambda one: 0.5 ** (one + begin > 4))

    assert told(by(0), loses(by(SAVED_AT))) == []


def test_a_schedule_that_goes_by_what_is_not_seen_is_left_alone() -> None:
    stands = {"at": 0}

    def by(optimizer: torch.optim.Optimizer) -> LambdaLR:
        return LambdaLR(optimizer, lambda _: 0.5 ** (stands["at"] > 4))

    def by_another(optimizer: torch.optim.Optimizer) -> LambdaLR:
        return LambdaLR(optimizer, lambda one: 2 * by_hand(one))

    def by_hand(one: int) -> float:
        return 0.5 ** (one > 30)

    def moving(step: int) -> tuple[Any, ...]:
        stands["at"] = step
        return ()

    assert told(by, loses(by), to=moving) == []
    assert told(by_another, loses(by_another)) == []


def test_a_schedule_that_does_the_same_with_each_step_has_lost_nothing() -> None:
    def alike(optimizer: torch.optim.Optimizer) -> ExponentialLR:
        return ExponentialLR(optimizer, 0.9)

    def each(optimizer: torch.optim.Optimizer) -> StepLR:
        return StepLR(optimizer, 1, 0.9)

    for make in (alike, each):
        assert told(make, loses(make)) == []


def test_a_schedule_that_is_told_the_step_is_left_alone() -> None:
    assert told(milestones, loses(milestones), to=lambda step: (step,)) == []


def test_a_schedule_that_has_never_moved_the_rate_is_left_alone() -> None:
    def never(optimizer: torch.optim.Optimizer) -> MultiStepLR:
        return MultiStepLR(optimizer, [10**9])

    assert told(never, loses(never)) == []


def test_a_warm_up_that_is_over_is_made_and_not_stepped() -> None:
    def warm(optimizer: torch.optim.Optimizer) -> LinearLR:
        return LinearLR(optimizer, 0.1, total_iters=SAVED_AT)

    def again(state: dict[str, Any]) -> Job:
        job = loses(warm)(state)
        job.schedule.step = lambda: None
        return job

    assert told(warm, again) == []


def test_what_goes_by_the_loss_is_left_alone() -> None:
    def plateau(optimizer: torch.optim.Optimizer) -> ReduceLROnPlateau:
        return ReduceLROnPlateau(optimizer, patience=2)

    assert told(plateau, loses(plateau), to=lambda step: (float(step),)) == []
