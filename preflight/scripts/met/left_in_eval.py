"""Models that are set to evaluate, and are trained on as they were left behind the evaluation."""

from __future__ import annotations

import functools
import sys
import weakref
from collections import Counter
from dataclasses import dataclass
from typing import Any

from preflight.scripts.facts import LEFT, Met
from preflight.scripts.failing import guarded
from preflight.scripts.watch import Watch
from preflight.training.parameters import models
from preflight.users_code.facts import Frame
from preflight.values.names import counted, first_of

# Of libraries of models, which torch has no class of.
_BY_NAME = ("DropPath", "StochasticDepth")


@dataclass(slots=True, kw_only=True, eq=False)
class _Left:
    """A model that a line of the script's has set to evaluate."""

    module: weakref.ref[Any]
    at: Frame
    kinds: Counter[str]
    """What of it evaluates otherwise than it trains, and was training."""

    began: int
    """How many steps were taken by then."""

    times: int = 1
    """How often that line has set it so."""

    waits: bool = True
    """Whether it was called since by nobody."""

    has_evaluated: bool = False
    has_gradients: bool = False
    """Whether gradients were computed of it as it was left."""

    steps: int = 0
    of: str = ""
    """The class of the model that was trained so, where it is a whole one; it may be gone since."""


class LeftInEval:
    """Follows all models that are set to evaluate."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._left: dict[int, _Left] = {}
        self._calls: Any = None
        """By which calls of modules are heard, while one of these waits for its first."""

        watch.on_stop.append(self.tell)

    def evaluates(self, module: Any, at: Frame | None, steps: int) -> None:
        """Note that a line is about to set a model to evaluate, which an optimizer trains."""
        known, is_training = self._left.get(id(module)), module.training
        if known is not None and known.module() is module and (known.steps or not is_training):
            known.times += at == known.at
        elif at is not None and is_training:
            kinds = Counter(map(_kind, filter(_is_other, module.modules())))
            if kinds:
                left = _Left(module=weakref.ref(module), at=at, kinds=kinds, began=steps)
                self._left[id(module)] = left
                self._hear_calls()

    def _hear_calls(self) -> None:
        """Hear of the first call; nothing of that is to be seen in code that torch compiles."""
        from torch.nn.modules.module import register_module_forward_pre_hook

        if self._calls is None and not _has_compiled():
            self._calls = register_module_forward_pre_hook(guarded(self._called, self._watch))

    def _called(self, module: Any, *_: Any) -> None:
        import torch

        one = self._left.get(id(module))
        if one is not None and one.waits and id(one.module()) == id(module):
            one.waits = False
            one.has_evaluated |= not (module.training or torch.is_grad_enabled())
        if self._calls is not None and not any(one.waits for one in self._left.values()):
            self._calls.remove()
            self._calls = None

    def has_evaluated(self) -> None:
        """Note that a batch was given without gradients."""
        for one in self._left.values():
            one.has_evaluated = True

    def backward(self) -> None:
        """Note which of them are so while gradients are computed; one that is set back is over."""
        if self._left and not self._watch.left:
            for number, one in [*self._left.items()]:
                module = one.module()
                if not one.steps and (module is None or module.training):
                    del self._left[number]
                one.has_gradients = module is not None and not module.training

    def stepped(self, optimizer: Any) -> None:
        """Note whose optimizer has stepped then."""
        for one in self._left.values() if self._left and not self._watch.left else ():
            if one.has_gradients and one.has_evaluated and (one.began or one.times > 1):
                module = one.module()
                one.steps += _trains_all_of(optimizer, module)
                if one.steps == 1:
                    one.of = _kind(module) if _is_whole(module) else ""
                    if not self._watch.given:
                        self._watch.evaluates(one.at)

    def tell(self) -> None:
        """Tell of those that were trained on so."""
        for one in self._left.values():
            if one.of:
                kinds = [counted(many, kind, kind) for kind, many in one.kinds.items()]
                name = f"{first_of(kinds, len(kinds))} of {one.of}"
                self._watch.met(Met(what=LEFT, at=one.at, name=name, count=one.steps))


def _is_other(module: Any) -> bool:
    """Whether it evaluates otherwise than it trains, and is set to train."""
    from torch.nn.modules import batchnorm, dropout, instancenorm

    if not module.training:
        return False
    if isinstance(module, dropout._DropoutNd):  # noqa: SLF001  what all kinds have in common
        return bool(module.p)
    if isinstance(module, instancenorm._InstanceNorm):  # noqa: SLF001
        return bool(module.track_running_stats)
    if isinstance(module, batchnorm._BatchNorm):  # noqa: SLF001
        return module.running_mean is not None
    return type(module).__name__ in _BY_NAME


def _has_compiled() -> bool:
    frames = getattr(sys.modules.get("torch._dynamo.convert_frame"), "FRAME_COUNTER", 0)
    return bool(frames)


def _kind(module: Any) -> str:
    return type(module).__name__


def _trains_all_of(optimizer: Any, module: Any) -> bool:
    """Whether all that it trains is of the model: else a part of one may stay so on purpose."""
    own = {id(one) for one in module.parameters()} if module is not None else set()
    trained = [one for group in optimizer.param_groups for one in group["params"]]
    return bool(trained) and all(id(one) in own for one in trained if one.requires_grad)


def _is_whole(module: Any) -> bool:
    """Whether it is no part of a model of which more is trained."""
    own = {id(one) for one in module.parameters()}
    for found in models():
        every = [one.parameter for one in found.parameters]
        if any(id(one) in own for one in every) and any(
            id(one) not in own and one.requires_grad for one in every
        ):
            return False
    return True


@functools.lru_cache(maxsize=1)
def left_of(watch: Watch) -> LeftInEval:
    """Give the one record of a process."""
    return LeftInEval(watch)
