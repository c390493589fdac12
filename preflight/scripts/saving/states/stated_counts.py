"""What a checkpoint says of how far training is, at its top or in the parts that it is made of."""

from __future__ import annotations

import argparse
import types
from collections.abc import Iterator, Mapping
from typing import Any

from preflight.objects.attributes import classes, own_attributes

COUNTS = (
    *("epoch", "step", "global_step", "iteration", "iter", "steps", "global_steps", "it"),
    *("iter_num", "train_steps", "global_iter"),
)
"""Names by which checkpoints say how far training is."""

# So many levels are looked through, of so many parts each.
_LEVELS, _PARTS = 4, 200

# What says how training is to be, and not how far it is.
_SETTINGS = {
    *("args", "arguments", "opt", "opts", "options", "flags", "params", "settings"),
    *("cfg", "conf", "config", "hparams", "hyper_parameters", "hyperparameters"),
}


def counts_in(state: object) -> dict[str, int]:
    """Give how far training is, `{"trainer.epoch": 3}`: by what is least deep in a checkpoint."""
    for level in _levels(state):
        found = {
            within + name: count
            for within, part in level
            for name in COUNTS
            if type(count := dict.get(part, name)) is int and count >= 0  # -1: it is the last one
        }
        if found:
            return found
    return {}


def holds_optimizer(state: object) -> bool:
    """Whether the state of an optimizer is in a checkpoint."""
    every = [state, *(one for level in _levels(state) for _, part in level for one in _held(part))]
    return any(map(_is_optimizer, every))


def schedules_in(state: object) -> dict[str, int]:
    """Give the states of schedules in a checkpoint: how often each had moved."""
    every = (
        (within + name, _moved(one))
        for level in _levels(state)
        for within, part in level
        for name, one in dict.items(part)
        if isinstance(name, str)
    )
    return {name: moved for name, moved in every if moved is not None}


def is_part(name: object, held: object) -> bool:
    """Whether a checkpoint may say in it how far training is."""
    if name in _SETTINGS or isinstance(held, argparse.Namespace) or _is_optimizer(held):
        return False
    return _moved(held) is None and _named(held) is not None


def _levels(state: object) -> Iterator[list[tuple[str, dict[Any, Any]]]]:
    top = _named(state)
    level = [] if top is None or _is_optimizer(state) else [("", top)]
    for _ in range(_LEVELS):
        if not level:
            return
        yield level
        inner = (
            (f"{within}{name}.", _named(held))
            for within, part in level
            for name, held in [*dict.items(part)][:_PARTS]
            if isinstance(name, str) and is_part(name, held)
        )
        level = [(within, part) for within, part in inner if part][:_PARTS]


def _named(state: object) -> dict[Any, Any] | None:
    """Give the parts of a dict or of a plain object, by their names."""
    if isinstance(state, dict):
        return state
    others = (*classes("torch", "Tensor"), *classes("torch.nn", "Module"), type)
    if isinstance(state, (*others, types.FunctionType, types.ModuleType)):
        return None
    return dict(own_attributes(state)) or None


def _held(part: dict[Any, Any]) -> Iterator[Any]:
    for one in [*dict.values(part)]:
        yield one
        if isinstance(one, (list, tuple)):
            yield from one[:4]


def _is_optimizer(one: object) -> bool:
    if isinstance(one, Mapping):
        return {"state", "param_groups"} <= one.keys()
    return isinstance(one, classes("torch.optim", "Optimizer"))  # which Fabric saves as one


def _moved(state: object) -> int | None:
    """Say how often a schedule had moved of which this is the state, or those of several."""
    every = state if isinstance(state, (list, tuple)) else [state]
    counts = [
        one["last_epoch"]
        for one in every
        if isinstance(one, Mapping) and {"last_epoch", "_step_count"} <= one.keys()
    ]
    return min(counts) if counts and all(type(one) is int for one in counts) else None
