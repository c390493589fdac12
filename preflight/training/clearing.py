"""Whether gradients are cleared between the steps of each optimizer."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from preflight.training.facts import Uncleared
from preflight.training.step_numbers import is_captured
from preflight.users_code.facts import Frame

_TRIES = 4
_STEPS = 3
"""Steps in a row with the same gradients, and more to them, that are no chance."""


@dataclass(slots=True, kw_only=True, eq=False)
class _Optimizer:
    ref: weakref.ref[Any]
    name: str
    at: Frame | None
    """The line of the script that has it step."""

    probe: weakref.ref[Any] | None = None
    """A small parameter that had a gradient at the last step; None: there was none."""

    handle: Any = None
    kept: int = 0
    """Steps in a row that took on what was there at the one before."""

    is_added: bool = False
    """Whether a gradient was added to that of the probe since the last step."""


class Clearing:
    """Looks at one gradient of each optimizer as the next ones begin to be computed.

    Another model's may be computed first, with those of this one still there: it counts whether
    they were gone at any of these moments before its next step. What is put there without being
    computed, such as the gradients of copies of higher precision, adds nothing.
    """

    def __init__(self, place: Callable[[], Frame | None]) -> None:
        self._place = place
        self._waiting: dict[int, _Optimizer] = {}
        self._known: weakref.WeakSet[Any] = weakref.WeakSet()
        """Optimizers whose gradients somebody clears."""

    def backward(self) -> None:
        """Look before gradients are computed."""
        for key, one in list(self._waiting.items()) if not is_captured() else ():
            parameter = None if one.probe is None else one.probe()
            if parameter is not None and not _has_values(parameter.grad):
                self._release(one)
                del self._waiting[key]
                optimizer = one.ref()
                if optimizer is not None:
                    self._known.add(optimizer)

    def stepped(self, optimizer: Any) -> None:
        """Count a step whose gradients were added to those of the step before."""
        if optimizer in self._known or is_captured():
            return
        one = self._waiting.get(id(optimizer))
        if one is None or one.ref() is not optimizer:
            name = type(optimizer).__name__
            one = _Optimizer(ref=weakref.ref(optimizer), name=name, at=self._place())
            self._waiting[id(optimizer)] = one
        one.kept = one.kept + 1 if one.is_added else 0
        self._listen(one, optimizer)

    def stop(self) -> tuple[Uncleared, ...]:
        """Listen no more, and give those whose gradients were there in three steps or more."""
        for one in self._waiting.values():
            self._release(one)
        return tuple(
            Uncleared(optimizer=one.name, steps=one.kept + 1, at=one.at)
            for one in self._waiting.values()
            if one.kept >= _STEPS - 1
        )

    def _listen(self, one: _Optimizer, optimizer: Any) -> None:
        one.is_added = False
        known = None if one.probe is None else one.probe()
        if known is not None and _has_values(known.grad):
            return
        self._release(one)
        parameter = _smallest(optimizer)
        if parameter is not None:

            def added(_parameter: Any) -> None:
                one.is_added = True

            one.probe = weakref.ref(parameter)
            one.handle = parameter.register_post_accumulate_grad_hook(added)

    def _release(self, one: _Optimizer) -> None:
        if one.handle is not None:
            one.handle.remove()
        one.handle = one.probe = None


def _smallest(optimizer: Any) -> Any:
    """Choose the smallest parameter that has a gradient which is not all zeros; older torch: none.

    Of a tensor that is spread over ranks, to ask for a value would have them wait for each other.
    """
    torch: Any = sys.modules["torch"]
    kinds = (torch.Tensor, torch.nn.Parameter)
    having = [
        one
        for group in optimizer.param_groups
        for one in group["params"]
        if one.grad is not None
        and not one.grad.is_sparse
        and type(one) in kinds
        and hasattr(one, "register_post_accumulate_grad_hook")
    ]
    having.sort(key=lambda one: one.numel())
    return next((one for one in having[:_TRIES] if _has_values(one.grad)), None)


def _has_values(gradient: Any) -> bool:
    return gradient is not None and bool(gradient.detach().any())
