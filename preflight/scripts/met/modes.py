"""Steps of training, models that are set to evaluate, and processes that start or end."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from preflight.scripts.facts import Met
from preflight.scripts.met.left_in_eval import left_of
from preflight.scripts.met.loops.from_start import passes_from_start
from preflight.scripts.met.loops.used_up import UsedUp
from preflight.scripts.met.steps import trained_of
from preflight.scripts.points import Point
from preflight.scripts.saving.log import log_of
from preflight.scripts.watch import Watch


def _train(original: Callable[..., Any], watch: Watch) -> Callable[..., Any]:
    """Note which mode a model that is trained was set to last; `eval()` is `train(False)`."""

    @functools.wraps(original)
    def train(module: Any, mode: bool = True) -> Any:  # noqa: FBT001, FBT002  as torch has it
        with watch.looking() as is_outermost:
            if is_outermost and any(one.requires_grad for one in module.parameters()):
                at = watch.place() if _is_own(watch) else None
                owned = not mode and trained_of(watch).owns(module)
                if owned:
                    left_of(watch).evaluates(module, at, watch.steps)
                watch.set_mode(module, evaluating=not mode, owned=owned, at=at)
            return original(module, mode)

    return train


def _is_own(watch: Watch) -> bool:
    """Whether a line of the script itself has called `eval()`, or `train()`."""
    called = watch.caller()
    if called is not None and called.f_code.co_name == "eval":
        called = called.f_back
    return watch.is_own(called)


def _backward(original: Callable[..., Any], watch: Watch) -> Callable[..., Any]:
    used_up = UsedUp(watch)
    log_of(watch).loops = functools.partial(passes_from_start, watch)

    @functools.wraps(original)
    def backward(*args: Any, **kwargs: Any) -> Any:
        if watch.is_here:
            watch.stepped()
            used_up.stepped()
        return original(*args, **kwargs)

    return backward


_EXEC = ("execv", "execve", "execvp", "execvpe")


def _started(original: Callable[..., Any], watch: Watch) -> Callable[..., Any]:
    """Note who becomes a program."""

    @functools.wraps(original)
    def start(*args: Any, **kwargs: Any) -> Any:
        with watch.looking() as is_outermost:
            if is_outermost:
                watch.met(Met(what="process", at=watch.place()))
        return original(*args, **kwargs)

    return start


def _left(original: Callable[..., Any], watch: Watch) -> Callable[..., Any]:
    """Tell what was seen before a script ends at once, without a word of Python's."""

    @functools.wraps(original)
    def leave(status: int) -> Any:
        if watch.is_here:
            watch.over()
        return original(status)

    return leave


POINTS = (
    Point(module="os", name="_exit", wrap=_left),
    Point(module="torch.nn.modules.module", name="Module.train", wrap=_train),
    Point(module="torch.autograd", name="backward", wrap=_backward),
    *(Point(module="os", name=name, wrap=_started) for name in _EXEC),
)
