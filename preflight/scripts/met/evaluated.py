"""Losses of an evaluation that a script sums up itself, in its own loop over batches."""

from __future__ import annotations

import ast
import math
import numbers
import re
import sys
from collections.abc import Iterator
from types import FrameType
from typing import Any

from preflight.scripts.met.counted import at_work, calls_with
from preflight.scripts.met.steps import numbers_of
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
        if held is None or not LOSS.search(ast.unparse(node)):
            continue
        name, kept = held
        values = [value for one in kept if (value := number_of(one)) is not None]
        if not LOSS.search(name):  # a perplexity, which may be infinite
            values = [0.0 if math.isinf(one) else one for one in values]
        if values:
            worst = next((one for one in values if not math.isfinite(one)), values[-1])
            yield name, node.lineno, worst  # type: ignore[attr-defined]


def _holder(node: ast.AST, frame: FrameType) -> tuple[str, list[Any]] | None:
    """Give the name of a variable that a statement adds to, and what it holds."""
    match node:
        case ast.AugAssign(target=ast.Name(id=name), op=ast.Add()):
            return name, [frame.f_locals.get(name)]
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.BinOp(op=ast.Add()) as added):
            if any(isinstance(one, ast.Name) and one.id == name for one in ast.walk(added)):
                return name, [frame.f_locals.get(name)]
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="update"))):
            meter = getattr(frame.f_locals.get(name), "__dict__", {})
            return name, [meter[one] for one in _OF_METERS if one in meter]
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="append"))):
            values = frame.f_locals.get(name)
            if isinstance(values, list) and calls_with(frame, name) & _ONE_OF_ALL:
                return name, values
    return None


def number_of(value: Any) -> float | None:
    """Give a number, or one of a tensor that is no number if there is any; else None."""
    if isinstance(value, numbers.Real):
        return float(value)
    torch: Any = sys.modules["torch"]
    if type(value) is not torch.Tensor or not value.is_floating_point() or not value.numel():
        return None
    bad = value.detach()[~value.detach().isfinite()]
    return float(bad[0] if len(bad) else 0.0)
