"""Loops over numbers that begin where any run begins: by them, no resumed run goes on."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from types import FrameType

from preflight.scripts.met.lines.counted import at_work, held, parsed
from preflight.scripts.watch import Watch

_RANGES = ("range", "trange")


def passes_from_start(watch: Watch) -> dict[str, int]:
    """Say of those that are at work how many passes are over: `{"epoch of 20": 3}`.

    One that is left before its end may be bounded by something else, and only hold epochs.
    """
    found = {}
    for frame in watch.frames():
        for loop in at_work(frame, ast.For):
            assert isinstance(loop, ast.For)  # noqa: S101  for the type checker
            numbers, value = _numbers(loop.iter, frame), held(loop.target, frame)
            if numbers is not None and value in numbers and not any(map(_leaves, loop.body)):
                name = f"{ast.unparse(loop.target)} of {numbers.stop}"
                found[name] = numbers.index(value)
    return found


def _numbers(over: ast.expr, frame: FrameType) -> range | None:
    """Give the numbers of a loop whose first one is always the same."""
    for one in ast.walk(over):
        if isinstance(one, ast.Call) and isinstance(one.func, ast.Name) and one.func.id in _RANGES:
            given = [held(each, frame) for each in one.args]
            is_fixed = len(given) == 1 or _is_fixed(one.args[0], frame.f_code.co_filename)
            if is_fixed and given and all(type(each) is int for each in given):
                return range(*given)
    return None


def _is_fixed(number: ast.expr, file: str) -> bool:
    """Whether it stands in the text: also under a name that is given nothing else in the file."""
    if not isinstance(number, ast.Name):
        return isinstance(number, ast.Constant)
    name, tree = number.id, parsed(file)
    nodes = [*ast.walk(tree)] if tree is not None else []
    given = [one for one in nodes if isinstance(one, ast.Assign) and _names(one.targets[0], name)]
    stores = [one for one in nodes if _names(one, name) and not isinstance(one.ctx, ast.Load)]  # type: ignore[attr-defined]
    is_handed_in = any(isinstance(one, ast.arg) and one.arg == name for one in nodes)
    is_once = len(given) == len(stores) and all(
        isinstance(one.value, ast.Constant) for one in given
    )
    return bool(given) and is_once and not is_handed_in


def _names(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _leaves(statement: ast.stmt) -> bool:
    """Whether the loop that a statement is in is left there."""
    return any(isinstance(one, (ast.Break, ast.Return)) for one in _within(statement))


def _within(node: ast.AST, *, inner: bool = False) -> Iterator[ast.AST]:
    """Give what it holds, but for the `break` of an inner loop, and for functions."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
        return
    inner = inner or isinstance(node, (ast.For, ast.While))
    if not (inner and isinstance(node, ast.Break)):
        yield node
    for one in ast.iter_child_nodes(node):
        yield from _within(one, inner=inner)
