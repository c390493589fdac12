"""What the copy of an object is made of: its state, or what its own `__deepcopy__` goes on to."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any, TypeAlias

from preflight.objects.attributes import own_attributes
from preflight.objects.copying.copy_trial import attempt
from preflight.objects.paths import attribute

Steps: TypeAlias = list[tuple[str, object]]


def of_state(state: Any) -> Iterator[tuple[str, object]]:
    """Give the attributes that a state holds: a dict, or one with another for the slots."""
    if type(state) is tuple and len(state) == 2 and type(state[1]) is dict:
        for part in state:
            yield from of_state(part)
    elif isinstance(state, dict):
        for key, value in list(state.items()):
            yield attribute(key), value
    elif state is not None:
        yield ".<state>", state


def own_copier(thing: object) -> Any:
    """Find `__deepcopy__` on the type, where asking the instance might run its `__getattr__`."""
    for cls in type.__dict__["__mro__"].__get__(type(thing)):
        own = type.__dict__["__dict__"].__get__(cls).get("__deepcopy__")
        if own is not None:
            return own
    return own_attributes(thing).get("__deepcopy__")  # where `FSDP` and `torch.fx` put one


def of_copier(thing: Any, own: Any) -> Steps:
    """Give what an object goes on to that brings its own `__deepcopy__`."""
    function = getattr(own, "__func__", own)
    torch: Any = sys.modules.get("torch")
    if torch is not None:
        if function is torch.nn.Parameter.__deepcopy__:
            return []  # which leaves its attributes behind
        if type(thing) is torch.Tensor and thing.is_leaf:
            return list(of_state(own_attributes(thing)))
    trial = attempt(thing, {})
    if trial.error is None:
        return []
    inner = [one for one in trial.chain if one is not thing]
    steps: Steps = list(of_state(own_attributes(thing)))
    if inner and steps:
        return steps
    if inner:
        return [(".<copied by __deepcopy__>", inner[-1])]
    raise trial.error
