"""The numbers of a script's steps: losses, weights, seconds and bytes."""

from __future__ import annotations

import math
import sys
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from preflight.training.facts import NotFinite
from preflight.training.finite import not_finite
from preflight.training.origins import Origin
from preflight.users_code.facts import Frame

# First gradients whose losses are looked at: to ask for them takes time.
_LOOKED_AT = 16

# Steps after which all weights are read, which takes part of a step: later, the next loss tells.
_WEIGHTS_AT = (1, 2, 4)

_NAMES = 8


class StepNumbers:
    """What the steps of a script compute."""

    def __init__(
        self,
        place: Callable[[], Frame | None],
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._place = place
        self._clock = clock
        self.steps = 0
        self.backwards = 0
        self.losses: list[float] = []
        self.bad_loss: NotFinite | None = None
        self.bad_weights: NotFinite | None = None
        self._evaluated: dict[tuple[str, Frame | None], NotFinite | None] = {}
        self.origin_of: Callable[[Any], Origin | None] = lambda _: None
        self._is_within = False
        self._unscaled: dict[int, tuple[weakref.ref[Any], list[float]]] = {}
        self._last: dict[int, float] = {}
        self._taken: dict[int, int] = {}
        self._took: list[float] = []

    @property
    def recovered(self) -> bool:
        """Whether the last loss was finite again, and the weights stayed so."""
        return bool(self.losses and self.bad_loss) and math.isfinite(self.losses[-1])

    @property
    def seconds(self) -> float | None:
        """Seconds from step to step; the median, so that what lies between epochs is left out."""
        took = sorted(self._took)
        return round(took[(len(took) - 1) // 2], 6) if took else None

    def gpu_bytes(self) -> int | None:
        """Give the most that was allocated on a GPU."""
        torch: Any = sys.modules["torch"]
        return torch.cuda.max_memory_allocated() if torch.cuda.is_initialized() else None

    def scaled(self, before: Any, after: Any) -> None:
        """Note a loss that is scaled for half precision: what counts is what it was before."""
        if len(self.losses) < _LOOKED_AT and hasattr(after, "backward"):
            self._unscaled[id(after)] = (weakref.ref(after), _values([before]))

    @contextmanager
    def backward(self, tensors: Any) -> Iterator[None]:
        """Look at a loss of which gradients are computed; of those within, at none."""
        if self._is_within:
            yield
            return
        self.backwards += 1
        if len(self.losses) < _LOOKED_AT:
            self._look(tensors)
        self._is_within = True
        try:
            yield
        finally:
            self._is_within = False

    def evaluated(self, name: str, value: float, at: Frame | None) -> None:
        """Note a loss of an evaluation; that of the same name and line before is forgotten."""
        bad = NotFinite(step=self.steps, value=str(value), names=(name,), at=at)
        self._evaluated[name, at] = None if math.isfinite(value) else bad

    @property
    def has_evaluated(self) -> bool:
        """Whether a loss of an evaluation was looked at."""
        return bool(self._evaluated)

    @property
    def bad_evaluation(self) -> NotFinite | None:
        """A loss of an evaluation that is no number, and was none in the last of its kind."""
        return next((one for one in self._evaluated.values() if one is not None), None)

    def _look(self, tensors: Any) -> None:
        several = tensors if isinstance(tensors, (tuple, list)) else [tensors]
        for one in several:
            ref, unscaled = self._unscaled.pop(id(one), (None, []))
            for value in unscaled if ref is not None and ref() is one else _values([one]):
                self.losses.append(value)
                if self.bad_loss is None and not math.isfinite(value):
                    origin = self.origin_of(one)
                    self.bad_loss = NotFinite(
                        step=self.steps + 1,
                        backward=len(self.losses),
                        value=str(value),
                        at=self._place(),
                        made=None if origin is None else origin.at,
                        by="" if origin is None else origin.by,
                    )

    def stepped(self, optimizer: Any, name: Callable[[Any], str]) -> None:
        """Look at the weights after a step, and at the time."""
        self.steps += 1
        now = self._clock()
        if id(optimizer) in self._last:
            self._took.append(now - self._last[id(optimizer)])
        taken = self._taken[id(optimizer)] = self._taken.get(id(optimizer), 0) + 1
        if self.bad_weights is None and taken in _WEIGHTS_AT and not is_captured():
            own = [
                one
                for group in optimizer.param_groups
                for one in group["params"]
                if one.requires_grad
            ]
            bad = not_finite(own)
            if bad:
                self.bad_weights = NotFinite(
                    step=self.steps,
                    names=tuple(name(own[place]) for place in bad[:_NAMES]),
                    count=len(bad),
                    of=len(own),
                    at=self._place(),
                )
        self._last[id(optimizer)] = self._clock()  # our own look does not count


def _values(tensors: list[Any]) -> list[float]:
    """Give the values of those that are single numbers, as losses are."""
    return [
        float(one.detach())
        for one in tensors
        if hasattr(one, "detach") and one.numel() == 1 and not one.is_complex()
    ]


def is_captured() -> bool:
    """Whether a CUDA graph is being recorded, in which no value can be asked for."""
    torch: Any = sys.modules["torch"]
    return bool(torch.cuda.is_initialized() and torch.cuda.is_current_stream_capturing())
