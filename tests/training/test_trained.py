"""Which parameters are trained: healthy models first, as trainers have them."""

from __future__ import annotations

import copy
import gc
import weakref
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

from preflight.training.facts import Idle
from preflight.training.trained import Trained
from tests.conftest import ROOT


class Net(nn.Module):
    """A body and a head."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Linear(4, 4)
        self.head = nn.Linear(4, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Use both."""
        return self.head(torch.relu(self.body(x)))


class WithSpare(Net):
    """One more layer, which is not used."""

    def __init__(self) -> None:
        super().__init__()
        self.spare = nn.Linear(4, 2)


X = torch.ones(3, 4)


def of(*models: nn.Module, seen: Trained) -> list[Idle]:
    """What is told of these models; the process has those of other tests, too."""
    names = {type(one).__name__ for one in models}
    return [one for one in seen.idle() if one.model in names]


def trained(step: Callable[[], object], *optimizers: torch.optim.Optimizer, steps: int = 2) -> Any:
    """Take steps, looked at as a rehearsal does."""
    seen = Trained(str(ROOT), lambda: None)
    for one in optimizers:
        seen.given(one)
    for _ in range(steps):
        step()
        for one in optimizers:
            seen.look(one)
            one.step()
            seen.stepped(one)
            one.zero_grad()
    return seen


def adam(*models: nn.Module) -> torch.optim.Optimizer:
    return torch.optim.Adam(p for model in models for p in model.parameters())


def test_a_model_that_is_trained_whole_is_left_alone() -> None:
    model = Net()
    seen = trained(lambda: model(X).sum().backward(), adam(model))

    assert of(model, seen=seen) == []


def test_a_layer_that_is_not_used_is_told_with_the_line_that_keeps_it() -> None:
    model = WithSpare()
    (idle,) = of(model, seen=trained(lambda: model(X).sum().backward(), adam(model)))

    assert (idle.fault, idle.names) == ("without gradient", ("spare.weight", "spare.bias"))
    assert (idle.count, idle.of, idle.numbers, idle.steps) == (2, 6, 10, 2)
    assert idle.defined.line_text == "self.spare = nn.Linear(4, 2)"
    assert not idle.replicated


def test_what_is_frozen_is_left_alone_though_an_optimizer_has_it() -> None:
    model = WithSpare()
    model.spare.requires_grad_(requires_grad=False)
    seen = trained(lambda: model(X).sum().backward(), adam(model))

    assert of(model, seen=seen) == []


def test_what_is_used_in_one_of_several_steps_is_left_alone() -> None:
    model, turns = WithSpare(), iter([False, True])

    def step() -> None:
        (model(X) + (model.spare(X) if next(turns) else 0)).sum().backward()

    assert of(model, seen=trained(step, adam(model))) == []


def test_a_copy_that_keeps_an_average_is_left_alone() -> None:
    model = Net()
    average = copy.deepcopy(model)
    seen = trained(lambda: model(X).sum().backward(), adam(model))

    assert of(model, average, seen=seen) == []


def test_a_teacher_that_was_not_frozen_is_left_alone() -> None:
    model, teacher = Net(), WithSpare()

    def step() -> None:
        with torch.no_grad():
            aim = teacher(X)
        (model(X) - aim).square().sum().backward()

    assert of(model, teacher, seen=trained(step, adam(model))) == []


def test_a_frozen_opinion_that_lets_gradients_through_is_left_alone_in_eval_mode() -> None:
    """As a perceptual loss does: its own gradients are of no use, and no harm."""
    model, opinion = Net(), nn.Sequential(nn.Linear(2, 1)).eval()
    seen = trained(lambda: opinion(model(X)).sum().backward(), adam(model))

    assert of(model, opinion, seen=seen) == []


def test_a_model_that_was_forgotten_is_told() -> None:
    class Projection(nn.Linear):
        pass

    model, forgotten = Net(), Projection(2, 1)
    seen = trained(lambda: forgotten(model(X)).sum().backward(), adam(model))
    (idle,) = of(forgotten, seen=seen)

    assert (idle.fault, idle.names, idle.of) == ("without optimizer", ("weight", "bias"), 2)


def test_a_layer_that_was_forgotten_is_told() -> None:
    model = Net()
    seen = trained(lambda: model(X).sum().backward(), adam(model.body))
    (idle,) = of(model, seen=seen)

    assert (idle.fault, idle.names) == ("without optimizer", ("head.weight", "head.bias"))
    assert idle.defined.line_text == "self.head = nn.Linear(4, 2)"


def test_a_layer_that_is_given_later_is_left_alone() -> None:
    model = Net()
    optimizer = adam(model.body)
    seen = trained(lambda: model(X).sum().backward(), optimizer)
    seen.given(optimizer)
    optimizer.add_param_group({"params": list(model.head.parameters())})
    model(X).sum().backward()
    seen.look(optimizer)
    optimizer.step()
    seen.stepped(optimizer)

    assert of(model, seen=seen) == []


def test_an_optimizer_that_is_gone_has_trained_what_it_had() -> None:
    """One for a first phase, another one for the second."""
    model = Net()
    seen = Trained(str(ROOT), lambda: None)
    for part in (model.body, model.head):
        optimizer = adam(part)
        seen.given(optimizer)
        model(X).sum().backward()
        seen.look(optimizer)
        optimizer.step()
        seen.stepped(optimizer)
        del optimizer

    assert of(model, seen=seen) == []


def test_an_optimizer_that_took_no_step_has_nothing_told_of_it() -> None:
    """The second network of a pair may be trained later."""
    model, later = Net(), WithSpare()
    seen = trained(lambda: model(X).sum().backward(), adam(model))
    seen.given(adam(later))

    assert of(model, later, seen=seen) == []


def test_tied_weights_are_one() -> None:
    model = Net()
    model.head = nn.Linear(4, 4)
    model.head.weight = model.body.weight
    seen = trained(lambda: model(X).sum().backward(), adam(model))

    assert of(model, seen=seen) == []


def test_a_closure_computes_gradients_within_the_step() -> None:
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    seen = Trained(str(ROOT), lambda: None)
    seen.given(optimizer)
    seen.look(optimizer)
    optimizer.step(lambda: [model(X).sum().backward(), 0.0][1])
    seen.stepped(optimizer)

    assert of(model, seen=seen) == []


def test_a_tensor_of_no_model_is_named_by_its_optimizer() -> None:
    """As an image that is painted, or an embedding that is learnt."""
    used, unused = (torch.zeros(3, requires_grad=True) for _ in range(2))
    seen = trained(lambda: used.sum().backward(), torch.optim.Adagrad([used, unused]))
    idle = [one for one in seen.idle() if one.model == "Adagrad"]

    assert [(one.names, one.in_model) for one in idle] == [(("Adagrad, parameter 1",), False)]


def test_nothing_is_kept_alive() -> None:
    def train() -> tuple[Trained, weakref.ref[Any]]:
        model = Net()
        seen = trained(lambda: model(X).sum().backward(), adam(model))
        return seen, weakref.ref(model)

    _seen, model = train()
    gc.collect()

    assert model() is None


def test_names_leave_out_what_a_model_is_wrapped_in() -> None:
    model = WithSpare()
    wrapped = nn.DataParallel(model)
    seen = trained(lambda: wrapped(X).sum().backward(), adam(wrapped))
    (idle,) = of(model, seen=seen)

    assert idle.names == ("spare.weight", "spare.bias")
    assert seen.name(model.head.weight) == "WithSpare.head.weight"


def test_masters_of_higher_precision_train_the_model_that_they_are_copies_of() -> None:
    model = Net()
    copies = [one.detach().clone().requires_grad_() for one in model.parameters()]

    def step() -> None:
        model(X).sum().backward()
        for ours, own in zip(copies, model.parameters(), strict=True):
            ours.grad = own.grad

    assert of(model, seen=trained(step, torch.optim.SGD(copies, lr=0.1))) == []


@pytest.mark.parametrize("kind", [nn.LazyLinear])
@pytest.mark.filterwarnings("ignore:Lazy modules are a new feature")
def test_a_layer_without_a_shape_yet_is_left_alone(kind: Any) -> None:
    class Lazy(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.used = nn.Linear(4, 2)
            self.later = kind(3)

    model = Lazy()
    seen = trained(lambda: model.used(X).sum().backward(), adam(model.used))

    assert of(model, seen=seen) == []
