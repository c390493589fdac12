"""A copy that still uses the original's weights is told by what its functions were made with.

Each model is really copied, the original's weights are changed, and what the copy then computes
decides.
"""

# ruff: noqa: D101, D102, PLC3002, PLW0108  the models stand for a user's

from __future__ import annotations

import copy
import functools
import types
import weakref
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from preflight.objects.copying.copying import try_copy

pytestmark = pytest.mark.filterwarnings(  # of torch, while it compiles
    "ignore::DeprecationWarning", "ignore::UserWarning", "ignore:Guards may run:RuntimeWarning"
)


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 4)
        self.ratio = 0.5

    def forward(self, x: Any) -> Any:
        return self.layer(x)

    def twice(self, x: Any) -> Any:
        return self.layer(x) * 2

    @staticmethod
    def doubled(x: Any) -> Any:
        return x * 2


class Keeps(Net):
    def __init__(self, make: Callable[[Any], Any]) -> None:
        super().__init__()
        self.kept = make(self)

    def forward(self, x: Any) -> Any:
        return self.kept(x)


class Child(nn.Module):
    def __init__(self, parent: nn.Module) -> None:
        super().__init__()
        self.parent = weakref.ref(parent)

    def forward(self, x: Any) -> Any:
        return self.parent().layer(x)


class ChildOfSettings(Child):
    def forward(self, x: Any) -> Any:
        return x * self.parent().ratio


class GivesItself(Net):
    def __deepcopy__(self, _memo: object) -> Any:
        return self


class KeepsTables(Net):
    def __deepcopy__(self, _memo: object) -> Any:
        made = type(self).__new__(type(self))
        made.__dict__.update(self.__dict__)
        return made


class Registry:
    """Of the job: what a copy of a model finds in it is not computed with."""

    def __init__(self, *models: nn.Module) -> None:
        self.models = models

    def __deepcopy__(self, _memo: object) -> Any:
        return self


class SetsItAgain(Keeps):
    def __setstate__(self, state: Any) -> None:
        super().__setstate__(state)
        self.kept = lambda x: self.layer(x)


def with_forward(make: Callable[[Any], Any]) -> nn.Module:
    net = Net()
    net.forward = make(net)  # type: ignore[method-assign]
    return net


def with_hook(hook: Callable[[Net], Callable[..., Any]], **notes: Any) -> nn.Module:
    net = Net()
    vars(net).update(notes)
    net.layer.register_forward_hook(hook(net))
    return net


def of_layers_alike() -> nn.Module:
    """Make what `nn.TransformerEncoder(layer, n)` makes: copies of one layer."""
    layer = Keeps(lambda net: torch.no_grad()(net.twice))
    return nn.Sequential(layer, copy.deepcopy(layer))


MODELS: dict[str, Callable[[], nn.Module]] = {
    # Sound: the copy follows its own weights.
    "a plain one": Net,
    "a bound method": lambda: Keeps(lambda net: net.twice),
    "a function that is bound": lambda: with_forward(
        lambda net: types.MethodType(lambda self, x: self.layer(x) + 1, net)
    ),
    "a partial": lambda: with_forward(lambda net: functools.partial(Net.twice, net)),
    "a partial of a bound method": lambda: Keeps(lambda net: functools.partial(net.twice)),
    "a static method in a decorator": lambda: Keeps(lambda net: torch.no_grad()(net.doubled)),
    "a function of its argument": lambda: Keeps(lambda _net: lambda x: torch.relu(x)),
    "the weights of another": lambda: (lambda other: Keeps(lambda _: lambda x: other(x)))(Net()),
    "the shape of a weight": lambda: Keeps(lambda net: lambda x: x * net.layer.weight.shape[0]),
    "whether it trains": lambda: Keeps(lambda net: lambda x: x * 2 if net.training else x),
    "whether there is a layer": lambda: Keeps(lambda net: lambda x: x if net.layer is None else -x),
    "a hook that notes": lambda: with_hook(
        lambda net: lambda _module, _x, y: net.noted.append(y.detach()), noted=[]
    ),
    "a hook that uses its module": lambda: with_hook(
        lambda _net: lambda module, _x, y: y * module.weight.sum()
    ),
    "a compiled model": lambda: torch.compile(Net(), backend="eager"),  # type: ignore[return-value]
    "a reference for its settings": lambda: parent_of(ChildOfSettings),
    "a copy that sets it again": lambda: SetsItAgain(lambda net: lambda x: net.layer(x)),
    "a hook of states": lambda: with_state_hook(),
    # Broken: the copy computes with the original's.
    "a lambda for forward": lambda: with_forward(lambda net: lambda x: net.layer(x)),
    "a lambda of a layer": lambda: with_forward(lambda net: (lambda f: lambda x: f(x))(net.layer)),
    "a lambda of a weight": lambda: Keeps(
        lambda net: (lambda w: lambda x: x @ w)(net.layer.weight)
    ),
    "a compiled method": lambda: Keeps(lambda net: torch.compile(net.twice, backend="eager")),
    "a method without gradient": lambda: Keeps(lambda net: torch.no_grad()(net.twice)),
    "a method in autocast": lambda: Keeps(lambda net: torch.autocast("cpu")(net.twice)),
    "a cached method": lambda: Keeps(lambda net: functools.lru_cache(maxsize=1)(net.twice)),
    "a mapped method": lambda: Keeps(lambda net: torch.vmap(net.twice)),
    "a checkpointed layer": lambda: Keeps(
        lambda net: lambda x: checkpoint(net.layer, x, use_reentrant=False)
    ),
    "a function in a list": lambda: Keeps(lambda net: Applied([lambda x: net.layer(x)])),
    "a hook with a layer from outside": lambda: with_hook(
        lambda net: lambda _module, _x, y: net.layer.forward(y)
    ),
    "a reference that is used": lambda: parent_of(Child),
    "layers that were one": of_layers_alike,
    "a model that gives itself": GivesItself,
    "a layer that gives itself": lambda: nn.Sequential(nn.ReLU(), GivesItself()),
    "a copy with the tables of the original": lambda: nn.Sequential(KeepsTables()),
}
BROKEN = list(MODELS)[list(MODELS).index("a lambda for forward") :]


class Applied:
    def __init__(self, functions: list[Callable[..., Any]]) -> None:
        self.functions = functions

    def __call__(self, x: Any) -> Any:
        return functools.reduce(lambda y, function: function(y), self.functions, x)


def parent_of(child: type[Child]) -> nn.Module:
    net = Keeps(lambda _net: None)
    net.kept = child(net)
    return net


def with_state_hook() -> nn.Module:
    net = Net()
    net._register_load_state_dict_pre_hook(  # type: ignore[no-untyped-call]
        lambda state, *_: state.setdefault("layer.bias", net.layer.bias)
    )
    return net


@pytest.mark.parametrize("name", MODELS)
def test_what_a_copy_computes_with_is_told(name: str) -> None:
    told = [one.path for one in try_copy(MODELS[name]()).shared]

    assert bool(told) == (name in BROKEN), told


@pytest.mark.parametrize("name", MODELS)
def test_a_real_copy_computes_as_is_told(name: str) -> None:
    assert follows(MODELS[name]()) == (name in BROKEN)


def follows(model: nn.Module) -> bool:
    """Whether what a copy computes changes with the weights of the original."""
    copied, x = copy.deepcopy(model), torch.ones(2, 4)
    with torch.no_grad():
        before = copied(x)
        for one in model.parameters():
            one.mul_(0.5).add_(1)
        after = copied(x + 0)
    return not torch.equal(before, after)


def test_the_way_to_it_and_what_it_uses_are_named() -> None:
    model = nn.Sequential(nn.Identity(), Keeps(lambda net: torch.no_grad()(net.twice)))
    (one,) = try_copy(model).shared

    assert (one.path, one.uses, one.is_called) == ("[1].kept", "[1].layer", True)
    assert one.holders[0] == (one.holders[0][0], "kept")


def test_what_no_method_asks_for_is_not_called() -> None:
    net = Net()
    net.extra = lambda x: net.layer(x)  # type: ignore[assignment]
    (one,) = try_copy(net).shared

    assert not one.is_called


def test_a_hook_of_gradients_is_not_called_where_a_copy_is_evaluated() -> None:
    net = Net()
    net.layer.register_full_backward_hook(lambda _module, _x, _y: net.layer.weight.norm())
    (one,) = try_copy(net).shared

    assert not one.is_called


def test_weights_that_a_copy_is_given_are_named() -> None:
    (whole,) = try_copy(GivesItself()).shared
    (layer,) = try_copy(nn.Sequential(GivesItself())).shared
    (table,) = try_copy(nn.Sequential(KeepsTables())).shared

    assert (whole.path, layer.path, table.path) == ("the model itself", "[0]", "[0].layer")
    assert (whole.uses, layer.uses, table.uses) == ("the model itself", "[0]", "[0].layer")
    assert all(one.is_called for one in (whole, layer, table))


def test_frozen_layers_and_what_is_no_part_of_a_copy_may_be_shared() -> None:
    registered = Net()
    registered.registry = Registry(registered)  # type: ignore[assignment]

    assert try_copy(nn.Sequential(GivesItself().requires_grad_(requires_grad=False))).shared == ()
    assert try_copy(registered).shared == ()


def test_it_is_told_beside_what_cannot_be_copied() -> None:
    net = Keeps(lambda net: torch.no_grad()(net.twice))
    net.rows = (one for one in [1])  # type: ignore[assignment]
    copied = try_copy(net)

    assert copied.error is not None
    assert [one.path for one in copied.shared] == ["kept"]


def test_neither_weights_nor_random_numbers_are_changed_by_it() -> None:
    net = Keeps(lambda net: torch.no_grad()(net.twice))
    before, drawn = copy.deepcopy(net.state_dict()), torch.get_rng_state()
    try_copy(net)

    assert all(torch.equal(before[name], now) for name, now in net.state_dict().items())
    assert torch.equal(drawn, torch.get_rng_state())
