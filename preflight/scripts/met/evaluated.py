"""Losses of an evaluation: what a script sums up in its own loop over batches, or logs after it."""

from __future__ import annotations

import ast
import functools
import itertools
import math
import numbers
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from types import FrameType
from typing import Any

from preflight.scripts.met.lines.counted import at_work, calls_with, held
from preflight.scripts.met.steps import numbers_of
from preflight.scripts.points import Point
from preflight.scripts.watch import Watch

LOSS = re.compile(r"loss(?:es)?(?![a-z])|criterion|cross_entropy", re.IGNORECASE)

# What a function that knows of such values says somewhere: `isnan`, `nanmean`, `isfinite`.
_MINDS = re.compile(r"nan|finite")

# What is made of a list on the way to one number, which is NaN where one of it is.
_ONE_OF_ALL = frozenset(
    {"sum", "mean", "fmean", "average", "stack", "cat", "tensor", "as_tensor", "array"}
)

# What meters keep of all that they were given; what they were given last may be anything.
_OF_METERS = ("sum", "total", "avg")


def look_at_sums(watch: Watch) -> None:
    """Look at what the script has summed up in its loop over batches of an evaluation."""
    frame = next(watch.frames(), None)
    if frame is None or any(map(_MINDS.search, frame.f_code.co_names)):
        return
    for name, line, value in _sums(frame):
        at = watch.own.frame(frame.f_code.co_filename, line, frame.f_code.co_name)
        numbers_of(watch).evaluated(name, value, at)


def _sums(frame: FrameType) -> Iterator[tuple[str, int, float]]:
    """Give names, lines and values of what is summed up of losses."""
    loops = at_work(frame, ast.For, ast.While)
    loop = max(loops, key=lambda one: getattr(one, "lineno", 0), default=None)
    for node in ast.walk(loop) if loop is not None else ():
        held = _holder(node, frame)
        name, kept = held or ("", [])
        if not kept or not LOSS.search(f"{name} {ast.unparse(node)}"):
            continue
        values = [value for one in kept if (value := number_of(one)) is not None]
        if not LOSS.search(name):  # a perplexity, which may be infinite
            values = [0.0 if math.isinf(one) else one for one in values]
        if values:
            worst = next((one for one in values if not math.isfinite(one)), values[-1])
            yield name, node.lineno, worst  # type: ignore[attr-defined]


def _holder(node: ast.AST, frame: FrameType) -> tuple[str, list[Any]] | None:
    """Give the name of what a statement adds to, and what it holds."""
    match node:
        case ast.AugAssign(target=target, op=ast.Add()):
            return _entries(target, frame) or (ast.unparse(target), [held(target, frame)])
        case ast.Assign(targets=[target], value=ast.BinOp(op=ast.Add()) as added):
            if any(_is_read(one, target) for one in ast.walk(added)):
                return _entries(target, frame) or (ast.unparse(target), [held(target, frame)])
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=holder, attr="update"))):
            meter = getattr(held(holder, frame), "__dict__", {})
            return ast.unparse(holder), [meter[one] for one in _OF_METERS if one in meter]
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=holder, attr="append"))):
            values = held(holder, frame)
            if isinstance(values, list) and calls_with(frame, holder) & _ONE_OF_ALL:
                return ast.unparse(holder), [each for one in values for each in _losses(one)]
    return None


def _entries(target: ast.expr, frame: FrameType) -> tuple[str, list[Any]] | None:
    """Give what a dict holds of losses, of which a statement has one after the other in turn."""
    if not isinstance(target, ast.Subscript) or isinstance(target.slice, ast.Constant):
        return None
    holder = held(target.value, frame)
    names = [one for one in holder if LOSS.search(str(one))] if isinstance(holder, dict) else []
    name = f"{ast.unparse(target.value)}[{names[0]!r}]" if names else ast.unparse(target)
    return name, [holder[one] for one in names]


def _is_read(node: ast.AST, target: ast.AST) -> bool:
    """Whether an expression is what is assigned to, or `totals.get("loss", 0)` for its entry."""
    match node, target:
        case (
            ast.Call(func=ast.Attribute(value=holder, attr="get"), args=[key, *_]),
            ast.Subscript(value=within, slice=place),
        ):
            return ast.unparse(holder) == ast.unparse(within) and ast.dump(key) == ast.dump(place)
    return isinstance(node, ast.expr) and ast.unparse(node) == ast.unparse(target)


def _losses(value: Any) -> list[Any]:
    """Give a value, or those of a dict that are called losses."""
    if isinstance(value, dict):
        return [one for name, one in value.items() if LOSS.search(str(name))]
    return [value]


def number_of(value: Any) -> float | None:
    """Give a number, or one of a tensor that is no number if there is any; else None."""
    if isinstance(value, numbers.Real):
        return float(value)
    torch: Any = sys.modules["torch"]
    if type(value) is not torch.Tensor or not value.is_floating_point() or not value.numel():
        return None
    bad = value.detach()[~value.detach().isfinite()]
    return float(bad[0] if len(bad) else 0.0)


def tell_losses(watch: Watch, metrics: Mapping[str, Any]) -> None:
    """Note the losses of an evaluation by their names."""
    for name, value in metrics.items():
        number = number_of(value) if LOSS.search(name) else None
        if number is not None:
            numbers_of(watch).evaluated(name, number, watch.place())


def _logged(original: Callable[..., Any], watch: Watch) -> Callable[..., Any]:
    """Hear of what is logged by names between an evaluation and the next step of training."""

    @functools.wraps(original)
    def log(*args: Any, **kwargs: Any) -> Any:
        if watch.is_here and watch.has_just_evaluated:
            given = (*args, *kwargs.values())
            named = [(one, two) for one, two in itertools.pairwise(given) if isinstance(one, str)]
            for one in given:
                named += one.items() if isinstance(one, dict) else ()
            tell_losses(watch, {str(one): two for one, two in named if "train" not in str(one)})
        return original(*args, **kwargs)

    return log


_LOGGERS = {
    "wandb.sdk.wandb_run": ("Run.log",),
    "torch.utils.tensorboard.writer": ("SummaryWriter.add_scalar",),
    "tensorboardX.writer": ("SummaryWriter.add_scalar",),
    "mlflow.tracking.fluent": ("log_metric", "log_metrics"),
    "accelerate.accelerator": ("Accelerator.log",),
}

POINTS = tuple(
    Point(module=module, name=name, wrap=_logged)
    for module, names in _LOGGERS.items()
    for name in names
)
