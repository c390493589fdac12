"""Losses, weights and time of steps, as torch computes them."""

from __future__ import annotations

import math

import pytest
import torch

from preflight.training.step_numbers import StepNumbers


def numbers() -> StepNumbers:
    return StepNumbers(lambda: None)


def backward(seen: StepNumbers, loss: object) -> None:
    with seen.backward(loss):
        pass


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_loss_that_is_no_number_is_noted_once(value: float) -> None:
    seen = numbers()
    for one in (1.0, value, value):
        backward(seen, torch.tensor(one))

    assert seen.bad_loss is not None
    assert (seen.bad_loss.backward, seen.bad_loss.value) == (2, str(value))
    assert not seen.recovered


def test_a_loss_that_is_finite_again_has_recovered() -> None:
    seen = numbers()
    for one in (math.nan, 1.0):
        backward(seen, torch.tensor(one))

    assert seen.recovered


def test_a_scaled_loss_counts_as_what_it_was_before() -> None:
    seen = numbers()
    loss = torch.tensor(3.0)
    scaled = loss * math.inf
    seen.scaled(loss, scaled)
    backward(seen, scaled)

    assert seen.losses == [3.0]
    assert seen.bad_loss is None


def test_gradients_within_gradients_are_no_losses() -> None:
    """Reentrant checkpointing computes them of activations."""
    seen = numbers()
    with seen.backward(torch.tensor(1.0)):
        backward(seen, [torch.tensor(math.inf)])

    assert (seen.backwards, seen.losses, seen.bad_loss) == (1, [1.0], None)


def test_what_is_no_single_number_is_no_loss() -> None:
    seen = numbers()
    backward(seen, torch.full((2, 2), math.inf))

    assert (seen.backwards, seen.losses) == (1, [])


def test_weights_that_are_no_numbers_are_named() -> None:
    good, bad = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    optimizer = torch.optim.SGD([good, bad], lr=0.1)
    with torch.no_grad():
        bad[0] = math.nan
    seen = numbers()
    seen.stepped(optimizer, lambda one: "bad" if one is bad else "good")

    assert seen.bad_weights is not None
    assert (seen.bad_weights.names, seen.bad_weights.of) == (("bad",), 2)


def test_frozen_weights_are_not_asked() -> None:
    """A mask may hold an infinite value on purpose."""
    mask = torch.full((2,), -math.inf)
    optimizer = torch.optim.SGD([mask, torch.ones(1, requires_grad=True)], lr=0.1)
    seen = numbers()
    seen.stepped(optimizer, lambda _: "")

    assert seen.bad_weights is None


def test_time_goes_from_step_to_step_of_one_optimizer() -> None:
    one, two = (torch.optim.SGD([torch.ones(1, requires_grad=True)]) for _ in range(2))
    seen = numbers()
    seen.stepped(one, lambda _: "")
    seen.stepped(two, lambda _: "")
    assert seen.seconds is None

    seen.stepped(one, lambda _: "")
    assert seen.seconds is not None
    assert seen.steps == 3


def test_seconds_are_those_of_the_clock_that_is_given() -> None:
    """Which stands still while somebody looks at the script."""
    times = iter((1.0, 1.0, 3.0, 3.0))
    seen = StepNumbers(lambda: None, lambda: next(times))
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)])
    seen.stepped(optimizer, str)
    seen.stepped(optimizer, str)

    assert seen.seconds == 2.0
