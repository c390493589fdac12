"""What the code of a function uses is told by its names, and nothing of it is called.

Nothing here needs torch: whatever is known by its id may stand for a layer.
"""

# ruff: noqa: ARG005, D101, D102, PLC3002, PLW0108  the functions stand for a user's

from __future__ import annotations

import functools
import itertools
import types
import weakref
from collections.abc import Callable
from typing import Any

import pytest

from preflight.objects.copying.code_uses import used_of


class Layer:
    width = 4

    def __call__(self, x: Any) -> Any:
        raise AssertionError("nothing is called")


class Net:
    def __init__(self) -> None:
        self.layer = Layer()
        self.layers = [self.layer]
        self.seen: list[object] = []
        self.scale = 2

    @property
    def first(self) -> Any:
        return self.layers[0]

    def plain(self, x: Any) -> Any:
        return x * self.scale

    def through(self, x: Any) -> Any:
        return self.layer(x)

    def further(self, x: Any) -> Any:
        return self.through(x) + 1

    @staticmethod
    def apart(x: Any) -> Any:
        return x

    def count(self, x: Any) -> Any:
        self.scale += 1
        self.seen = [x]
        return x

    def again(self, x: Any) -> Any:
        return self.again(x)


def wrapped(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    return call


NET = Net()


def of_globals(x: Any) -> Any:
    return NET.layer(x)


def beside(x: Any) -> Any:
    return of_globals(x)


USES: dict[str, Callable[[Net], Any]] = {
    "an attribute": lambda net: lambda x: net.layer(x),
    "a layer by itself": lambda net: (lambda layer: lambda x: layer(x))(net.layer),
    "a list of layers": lambda net: lambda x: [layer(x) for layer in net.layers],
    "one of a list": lambda net: lambda x: net.layers[0](x),
    "a list that is held itself": lambda net: (lambda held: lambda x: held[0](x))([net.layer]),
    "a dict that is held itself": lambda net: (lambda held: lambda x: held["a"](x))(
        {"a": net.layer}
    ),
    "a default": lambda net: lambda x, layer=net.layer: layer(x),
    "a default by name": lambda net: lambda x, *, layer=net.layer: layer(x),
    "a property": lambda net: lambda x: net.first(x),
    "a method": lambda net: lambda x: net.through(x),
    "a method of a method": lambda net: lambda x: net.further(x),
    "a bound method in a wrapper": lambda net: wrapped(net.through),
    "a wrapper in a wrapper": lambda net: wrapped(wrapped(net.further)),
    "a cached method": lambda net: functools.lru_cache(net.through),
    "a partial of a bound method": lambda net: wrapped(functools.partial(net.through, 1)),
    "an argument of a partial": lambda net: wrapped(functools.partial(print, net.layer)),
    "a function within": lambda net: lambda x: (lambda y: net.layer(y))(x),
    "a generator within": lambda net: lambda x: sum(net.layer(y) for y in x),
    "a loop": lambda net: lambda x: functools.reduce(lambda y, f: f(y), net.layers, x),
    "what is handed on": lambda net: lambda x: map(net.layer, x),
    "what is got by name": lambda net: lambda x: getattr(net.layer, "weight") * x,  # noqa: B009
    "a weak reference": lambda net: (lambda held: lambda x: held().layer(x))(weakref.ref(net)),
    "what an object keeps": lambda net: (lambda kept: lambda x: kept.net.layer(x))(
        types.SimpleNamespace(net=net)
    ),
    "what is called where it is made": lambda net: Kept(net),
}


class Kept:
    def __init__(self, net: Net) -> None:
        self.net = net

    def __call__(self, x: Any) -> Any:
        return self.net.layer(x)


LEAVES: dict[str, Callable[[Net], Any]] = {
    "its argument": lambda _net: lambda x: x.layer(x),
    "an argument by the same name": lambda net: (lambda layer: lambda layer: layer(1))(net.layer),
    "another net": lambda _net: (lambda other: lambda x: other.layer(x))(Net()),
    "a setting": lambda net: lambda x: x * net.scale,
    "a setting of the layer": lambda net: lambda x: x * net.layer.width,
    "what it notes": lambda net: lambda x: net.seen.append(x),
    "what it counts": lambda net: lambda x: net.count(x),
    "a method without layers": lambda net: wrapped(net.plain),
    "a static method": lambda net: wrapped(net.apart),
    "whether there is one": lambda net: lambda x: x if net.layer is not None else 0,
    "whether it is the same": lambda net: lambda x: x is net.layer,
    "what class it is of": lambda net: lambda x: x if isinstance(net.layer, Layer) else 0,
    "how many there are": lambda net: lambda x: x * len(net.layers),
    "what is put in its place": lambda net: (lambda layer: lambda x: put(layer, x))(net.seen),
    "one that calls itself": lambda net: lambda x: net.again(x),
    "no closure": lambda _net: abs,
    "a weak reference to something else": lambda _net: (lambda held: lambda x: held().layer(x))(
        weakref.ref(NET)
    ),
}


def put(layer: Any, x: Any) -> None:
    layer = x
    layer(1)


@pytest.mark.parametrize("name", USES)
def test_what_uses_a_layer_is_told(name: str) -> None:
    net = Net()

    assert used_of(USES[name](net), {id(net.layer): "layer"}) == "layer"


@pytest.mark.parametrize("name", LEAVES)
def test_what_uses_none_is_left_alone(name: str) -> None:
    net = Net()

    assert used_of(LEAVES[name](net), {id(net.layer): "layer"}) is None


@pytest.mark.parametrize("function", [of_globals, beside])
def test_what_is_found_among_the_globals_is_told(function: Callable[..., Any]) -> None:
    assert used_of(function, {id(NET.layer): "layer"}) == "layer"


def test_a_cell_that_is_still_empty_is_left_alone() -> None:
    def early() -> Any:
        return late

    assert used_of(early, {1: "layer"}) is None
    late = 1
    assert early() == 1


def test_a_chain_of_wrappers_without_an_end_is_left_alone() -> None:
    net = Net()
    deep = functools.reduce(lambda f, _: wrapped(f), itertools.repeat(0, 500), net.through)

    assert used_of(deep, {id(net.layer): "layer"}) is None
