"""Trainers that are known, and arguments that say how long to train: made short when met."""

from __future__ import annotations

import functools
import linecache
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from preflight.scripts.met.evaluated import tell_losses
from preflight.scripts.met.loops.epoch_ends import gone_through
from preflight.scripts.points import Point
from preflight.scripts.watch import Watch
from preflight.training.schedules import (
    Limits,
    ShorterValue,
    lightning_goes_through,
    shorten_arguments,
    shorten_checkpoints,
    shorten_lightning,
    shorten_transformers,
)
from preflight.users_code.frames import own_sources

# Scripts that use these read their arguments in ways that are known.
_LIBRARIES = {"accelerate", "diffusers", "transformers"}
_NAMED = re.compile(rf"\b(?:{'|'.join(sorted(_LIBRARIES))})\b")

_OF_TORCH = "torch.onnx._internal.fx.patcher"
"""A module of older versions of torch, which imports transformers for itself."""

_Shorten = Callable[[Mapping[str, Any], Limits], list[ShorterValue]]


def _limits(watch: Watch) -> Limits:
    return Limits(watch.batches, watch.options.get("scheduled_epochs", watch.epochs))


def _tell(watch: Watch, of: str, changes: Iterable[ShorterValue]) -> None:
    at = watch.place()
    place = "" if at is None else f" ({at.file}:{at.line})"
    listed = ", ".join(map(str, changes))
    if listed:
        watch.shortened(f"{of}: {listed}{place}")


def _constructor(of: str, shorten: _Shorten) -> Callable[[Callable[..., Any], Watch], Any]:
    """Have a class be called with less, where arguments are given by name."""

    def wrap(original: Callable[..., Any], watch: Watch) -> Callable[..., Any]:
        @functools.wraps(original)
        def begin(made: Any, *args: Any, **kwargs: Any) -> Any:
            if watch.is_here:
                changes = shorten(kwargs, _limits(watch))
                if shorten is shorten_lightning:
                    gone_through(watch).update(lightning_goes_through(kwargs))
                _tell(watch, of, changes)
                kwargs |= {one.name: one.after for one in changes}
            return original(made, *args, **kwargs)

        return begin

    return wrap


def _is_known(watch: Watch) -> bool:
    """Whether the script uses a library that reads arguments in known ways."""
    if _LIBRARIES.isdisjoint(sys.modules):
        return False
    if _OF_TORCH not in sys.modules:
        return True
    texts = map(linecache.getlines, own_sources(watch.root))
    return any(_NAMED.search(line) for lines in texts for line in lines)


def _parser(original: Callable[..., Any], watch: Watch) -> Callable[..., Any]:
    """Have what a script reads of its command line be less."""

    @functools.wraps(original)
    def parse_known_args(parser: Any, *args: Any, **kwargs: Any) -> Any:
        read = original(parser, *args, **kwargs)
        if not watch.is_here or watch.place() is None or watch.options.get("as_written"):
            return read
        names = read[0]
        changes = shorten_arguments(vars(names), _limits(watch), is_known=_is_known(watch))
        _tell(watch, "arguments", changes)
        for one in changes:
            setattr(names, one.name, one.after)
        return read

    return parse_known_args


def _train(original: Callable[..., Any], watch: Watch) -> Callable[..., Any]:
    """Have the Trainer of transformers train by shorter arguments."""

    @functools.wraps(original)
    def train(trainer: Any, *args: Any, **kwargs: Any) -> Any:
        if watch.is_here:
            own = trainer.args
            is_less = (own.max_steps or 0) > 0 or own.num_train_epochs < 1
            gone_through(watch).update({"evaluation"} if is_less else {"evaluation", "training"})
            changes = shorten_transformers(vars(trainer.args), _limits(watch))
            _tell(watch, "TrainingArguments", changes)
            for one in changes:
                object.__setattr__(trainer.args, one.name, one.after)
        return original(trainer, *args, **kwargs)

    return train


def _evaluate(original: Callable[..., Any], watch: Watch) -> Callable[..., Any]:
    """Note where an evaluation ends, which leaves the model in its mode."""

    @functools.wraps(original)
    def evaluate(*args: Any, **kwargs: Any) -> Any:
        gone_through(watch).add("evaluation")
        given = original(*args, **kwargs)
        if watch.is_here:
            watch.has_evaluated()
            tell_losses(watch, given if isinstance(given, dict) else given.metrics or {})
        return given

    return evaluate


def _evaluation_loop(original: Callable[..., Any], watch: Watch) -> Callable[..., Any]:
    """Hear of what was logged in an evaluation."""

    @functools.wraps(original)
    def run(loop: Any) -> Any:
        logged = original(loop)
        for metrics in logged if watch.is_here else ():
            tell_losses(watch, metrics)
        return logged

    return run


POINTS = (
    Point(module="argparse", name="ArgumentParser.parse_known_args", wrap=_parser),
    Point(module="transformers.trainer", name="Trainer.train", wrap=_train),
    Point(module="transformers.trainer", name="Trainer.evaluate", wrap=_evaluate),
    Point(module="transformers.trainer", name="Trainer.predict", wrap=_evaluate),
    *(
        point
        for package in ("pytorch_lightning", "lightning.pytorch")
        for point in (
            Point(
                module=f"{package}.trainer.trainer",
                name="Trainer.__init__",
                wrap=_constructor("Trainer", shorten_lightning),
            ),
            Point(
                module=f"{package}.callbacks.model_checkpoint",
                name="ModelCheckpoint.__init__",
                wrap=_constructor("ModelCheckpoint", shorten_checkpoints),
            ),
            Point(
                module=f"{package}.loops.evaluation_loop",
                name="_EvaluationLoop.run",
                wrap=_evaluation_loop,
            ),
        )
    ),
)
