"""Steps of optimizers and gradients: who is trained, by which numbers, and how long it takes."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from preflight.scripts.facts import TRAINING, Met
from preflight.scripts.failing import guarded
from preflight.scripts.met.left_in_eval import left_of
from preflight.scripts.met.own_steps import OwnSteps
from preflight.scripts.met.seeking import seeking, slopes
from preflight.scripts.points import Point
from preflight.scripts.watch import Watch
from preflight.training.clearing import Clearing
from preflight.training.facts import UNUSED, Idle, Steps
from preflight.training.step_numbers import StepNumbers
from preflight.training.trained import Trained
from preflight.values.names import name_of
from preflight.values.this_process import full_path


class MetSteps:
    """All that is seen of the steps of one script; told when it ends."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self.trained = Trained(watch.root, watch.place)
        self.numbers = StepNumbers(watch.place, watch.clock)
        self.clearing = Clearing(watch.place)
        self.left = left_of(watch)
        self._own = OwnSteps(watch)
        self._handles: list[Any] = []
        watch.on_stop.append(self.tell)

    def listen(self) -> None:
        """Hear of all steps of all optimizers, as torch offers it."""
        from torch.optim import optimizer as torch_optimizer

        if not self._handles:
            self._handles = [
                torch_optimizer.register_optimizer_step_pre_hook(
                    guarded(self._before, self._watch)
                ),
                torch_optimizer.register_optimizer_step_post_hook(
                    guarded(self._after, self._watch)
                ),
            ]

    def _before(self, optimizer: Any, _args: Any, _kwargs: Any) -> None:
        if self._watch.is_here:
            self.trained.look(optimizer)
            self.left.stepped(optimizer)

    def _after(self, optimizer: Any, _args: Any, _kwargs: Any) -> None:
        if not self._watch.is_here:
            return
        self.trained.stepped(optimizer)
        self.numbers.stepped(optimizer, self.trained.name)
        self.clearing.stepped(optimizer)
        self._own.stepped()

    def computed(self) -> None:
        """Take gradients for a step where no optimizer makes one: a script may do so by hand."""
        if not self.trained.has_optimizer:
            self._own.stepped()

    def tell(self) -> None:
        """Tell of it, and hear no more."""
        while self._handles:
            self._handles.pop().remove()
        numbers = self.numbers
        if numbers.has_evaluated:
            self._watch.met(Met(what="loss"))
        self._watch.gave(
            Steps(
                name=_script(self._watch),
                steps=numbers.steps,
                backwards=numbers.backwards,
                losses=tuple(numbers.losses),
                loss=numbers.bad_loss,
                weights=numbers.bad_weights,
                recovered=numbers.recovered,
                evaluation=numbers.bad_evaluation,
                idle=tuple(one for one in self.trained.idle() if self._is_sure(one)),
                uncleared=self.clearing.stop(),
                seconds=numbers.seconds,
                gpu_bytes=numbers.gpu_bytes(),
            ),
            key="steps",
        )

    def _is_sure(self, idle: Idle) -> bool:
        """Whether there were steps enough to say that none gave it a gradient."""
        is_first = idle.fault == UNUSED and idle.steps < 2 and not idle.replicated
        return not (is_first and self._watch.has_raised)


def _script(watch: Watch) -> str:
    file = getattr(sys.modules["__main__"], "__file__", None)
    return name_of(full_path(file), watch.root) if file else "script"


def sought(watch: Watch) -> AbstractContextManager[None]:
    """Look at all that the script computes."""
    return seeking(watch, _of(watch).numbers)


def numbers_of(watch: Watch) -> StepNumbers:
    """Give what the steps of the script compute."""
    return _of(watch).numbers


def trained_of(watch: Watch) -> Trained:
    """Give the parameters that the script trains."""
    return _of(watch).trained


@functools.lru_cache(maxsize=1)
def _of(watch: Watch) -> MetSteps:
    return MetSteps(watch)


def _add_param_group(original: Callable[..., Any], watch: Watch) -> Callable[..., Any]:
    @functools.wraps(original)
    def add_param_group(optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        if watch.is_here:
            seen = _of(watch)
            seen.listen()
            seen.trained.given(optimizer)
        return original(optimizer, *args, **kwargs)

    return add_param_group


def _backward(original: Callable[..., Any], watch: Watch) -> Callable[..., Any]:
    _of(watch)  # which tells at the end that there was none

    @functools.wraps(original)
    def backward(tensors: Any, *args: Any, **kwargs: Any) -> Any:
        if not watch.is_here:
            return original(tensors, *args, **kwargs)
        seen = _of(watch)
        seen.left.backward()
        seen.clearing.backward()
        numbers, sought = seen.numbers, watch.options.get("seeking")
        with numbers.backward(tensors), slopes(watch, numbers) if sought else nullcontext():
            if sought and numbers.bad_loss is not None:
                watch.stop("what was sought is found")
            given = original(tensors, *args, **kwargs)
        seen.computed()
        return given

    return backward


def _scale(original: Callable[..., Any], watch: Watch) -> Callable[..., Any]:
    @functools.wraps(original)
    def scale(scaler: Any, outputs: Any) -> Any:
        scaled = original(scaler, outputs)
        _of(watch).numbers.scaled(outputs, scaled)
        return scaled

    return scale


def _validity(original: Callable[..., Any], watch: Watch) -> Callable[..., Any]:
    """Note where activations are to be computed again, and nothing that goes in needs gradients."""

    @functools.wraps(original)
    def check_backward_validity(inputs: Any) -> Any:
        inputs = list(inputs)
        tensors = [one for one in inputs if hasattr(one, "requires_grad")]
        is_idle = tensors and not any(one.requires_grad for one in tensors)
        if is_idle and watch.while_at == TRAINING:
            _of(watch).trained.detached(watch.place())
        return original(inputs)

    return check_backward_validity


POINTS = (
    Point(module="torch.optim.optimizer", name="Optimizer.add_param_group", wrap=_add_param_group),
    Point(module="torch.autograd", name="backward", wrap=_backward),
    Point(module="torch.amp.grad_scaler", name="GradScaler.scale", wrap=_scale),
    Point(module="torch.cuda.amp.grad_scaler", name="GradScaler.scale", wrap=_scale),
    Point(module="torch.utils.checkpoint", name="check_backward_validity", wrap=_validity),
)
