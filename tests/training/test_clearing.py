"""Gradients that nobody clears are told of real loops, and cleared ones of no kind are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

from preflight.training.clearing import Clearing

STEPS = 4


class Loop:
    """A loop that trains, with the look at what it does."""

    def __init__(self) -> None:
        self.model = nn.Linear(4, 2)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.01)
        self.seen = Clearing(lambda: None)

    def backward(self, model: Any = None) -> None:
        """Compute gradients of a model, else of its own."""
        self.seen.backward()
        (model or self.model)(torch.ones(3, 4)).sum().backward()

    def step(self, optimizer: Any = None) -> None:
        """Have an optimizer step, else its own."""
        (optimizer or self.optimizer).step()
        self.seen.stepped(optimizer or self.optimizer)


def cleared_first(loop: Loop) -> None:
    for _ in range(STEPS):
        loop.optimizer.zero_grad()
        loop.backward()
        loop.step()


def set_to_zeros(loop: Loop) -> None:
    for _ in range(STEPS):
        loop.backward()
        loop.step()
        loop.optimizer.zero_grad(set_to_none=False)


def cleared_by_hand(loop: Loop) -> None:
    for _ in range(STEPS):
        loop.backward()
        loop.step()
        for one in loop.model.parameters():
            one.grad = None


def summed_up(loop: Loop) -> None:
    for number in range(2 * STEPS):
        loop.backward()
        if number % 2:
            loop.step()
            loop.model.zero_grad()


def two_by_turns(loop: Loop) -> None:
    """As generators and their critics are trained: each is cleared only before its own turn."""
    critic = nn.Linear(2, 1)
    second = torch.optim.SGD(critic.parameters(), lr=0.01)
    both = nn.Sequential(loop.model, critic)
    for _ in range(STEPS):
        second.zero_grad()
        loop.backward(both)
        loop.step(second)
        loop.optimizer.zero_grad()
        loop.backward(both)
        loop.step()


def copies_of_higher_precision(loop: Loop) -> None:
    """The optimizer has copies, whose gradients are written over and never cleared."""
    copies = [one.detach().double().requires_grad_() for one in loop.model.parameters()]
    optimizer = torch.optim.SGD(copies, lr=0.01)
    for _ in range(STEPS):
        loop.model.zero_grad()
        loop.backward()
        for own, one in zip(copies, loop.model.parameters(), strict=True):
            assert one.grad is not None
            if own.grad is None:
                own.grad = torch.empty_like(own)
            own.grad.copy_(one.grad)
        loop.step(optimizer)


def within_a_closure(loop: Loop) -> None:
    optimizer = torch.optim.LBFGS(loop.model.parameters(), lr=0.01, max_iter=2)

    def closure() -> Any:
        optimizer.zero_grad()
        loop.seen.backward()
        loss = loop.model(torch.ones(3, 4)).pow(2).sum()
        loss.backward()
        return loss

    for _ in range(STEPS):
        optimizer.step(closure)
        loop.seen.stepped(optimizer)


def a_start_that_is_late(loop: Loop) -> None:
    """Two batches before the first step are summed up on purpose."""
    loop.backward()
    cleared_first(loop)


def too_few(loop: Loop) -> None:
    for _ in range(2):
        loop.backward()
        loop.step()


def sparse(loop: Loop) -> None:
    table = nn.Embedding(5, 2, sparse=True)
    optimizer = torch.optim.SGD(table.parameters(), lr=0.01)
    for _ in range(STEPS):
        optimizer.zero_grad()
        loop.seen.backward()
        table(torch.tensor([1, 2])).sum().backward()
        loop.step(optimizer)


def never_cleared(loop: Loop) -> None:
    for _ in range(STEPS):
        loop.backward()
        loop.step()


def cleared_for_another(loop: Loop) -> None:
    other = torch.optim.SGD(nn.Linear(2, 2).parameters(), lr=0.01)
    for _ in range(STEPS):
        other.zero_grad()
        loop.backward()
        loop.step()


def summed_up_without_end(loop: Loop) -> None:
    for number in range(2 * STEPS):
        loop.backward()
        if number % 2:
            loop.step()


HEALTHY = [
    cleared_first,
    set_to_zeros,
    cleared_by_hand,
    summed_up,
    two_by_turns,
    copies_of_higher_precision,
    within_a_closure,
    a_start_that_is_late,
    too_few,
    sparse,
]
DAMAGED = [
    never_cleared,
    cleared_for_another,
    summed_up_without_end,
]


@pytest.mark.parametrize("run", HEALTHY)
def test_what_is_cleared_is_left_alone(run: Callable[[Loop], None]) -> None:
    loop = Loop()
    run(loop)

    assert loop.seen.stop() == ()


@pytest.mark.parametrize("run", DAMAGED)
def test_what_nobody_clears_is_told_once(run: Callable[[Loop], None]) -> None:
    loop = Loop()
    run(loop)
    (one,) = loop.seen.stop()

    assert (one.optimizer, one.steps) == ("SGD", STEPS)


def test_it_is_told_when_the_optimizer_is_gone() -> None:
    """A script's `main` has returned by then."""
    loop = Loop()
    never_cleared(loop)
    del loop.optimizer, loop.model

    assert [one.optimizer for one in loop.seen.stop()] == ["SGD"]


def test_nothing_is_left_on_the_parameters_and_it_may_be_told_twice() -> None:
    loop = Loop()
    never_cleared(loop)
    told = loop.seen.stop()

    assert loop.seen.stop() == told
    hooks = [getattr(one, "_post_accumulate_grad_hooks", None) for one in loop.model.parameters()]
    assert not any(hooks)
