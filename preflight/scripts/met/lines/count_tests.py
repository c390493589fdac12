"""Tests that come true once in many steps, and whether this training ever takes so many."""

from __future__ import annotations

import ast
import itertools
import re
import sys
from collections.abc import Iterator, Sequence
from types import FrameType
from typing import Any, NamedTuple

from preflight.scripts.met.lines.counted import at_work, held, parsed

# Who wants no evaluation at all, writes that it comes once in so many steps.
_NEVER = 1_000_000

_COMPARED = {ast.Eq: "__eq__", ast.NotEq: "__ne__", ast.Gt: "__gt__", ast.GtE: "__ge__"}
# Functions that are most likely true once in so many steps, before it is read what they say.
_BY_NAME = re.compile(r"divisible|multiple_of|every", re.IGNORECASE)

_RANGES = frozenset({"range", "trange"})


class Periodic(NamedTuple):
    """`steps % every == rest`."""

    steps: ast.expr
    every: ast.expr
    rest: ast.expr


def periodic(test: ast.expr, frame: FrameType | None = None) -> Periodic | None:
    """Give what a test asks that is true once in so many steps.

    A call of a function that says no more than that is read as what it says, by a frame.
    """
    match test:
        case ast.Compare(
            left=ast.BinOp(op=ast.Mod(), left=count, right=every),
            ops=[ast.Eq()],
            comparators=[rest],
        ):
            return Periodic(count, every, rest)
        case ast.UnaryOp(op=ast.Not(), operand=ast.BinOp(op=ast.Mod(), left=count, right=every)):
            return Periodic(count, every, ast.Constant(0))
        case ast.Call(args=args, keywords=[]) if frame is not None:
            return _called(held(test.func, frame), args)
    return None


def _called(function: Any, args: Sequence[ast.expr]) -> Periodic | None:
    """Read `divisible_by(step, every)` as what is in its one line, `return step % every == 0`."""
    code: Any = getattr(function, "__code__", None)
    tree = parsed(code.co_filename) if code is not None else None
    for one in ast.walk(tree) if tree is not None else ():
        match one:
            case ast.FunctionDef(lineno=code.co_firstlineno, body=[ast.Return(value=value)]):
                names = [each.arg for each in one.args.args]
                asked = None if value is None else periodic(value)
                if asked is None or len(names) != len(args):
                    return None
                given = dict(zip(names, args, strict=True))
                return Periodic(*(given.get(getattr(part, "id", ""), part) for part in asked))
    return None


def asks_for_count(test: ast.expr) -> bool:
    """Whether a test, or a part of it, is true once in so many steps."""
    parts = test.values if isinstance(test, ast.BoolOp) else ()
    is_called = isinstance(test, ast.Call) and _BY_NAME.search(ast.unparse(test.func))
    return bool(is_called) or periodic(test) is not None or any(map(asks_for_count, parts))


def comes_by_count(test: ast.expr, frame: FrameType) -> bool:
    """Whether a test is true as soon as this training has taken steps enough."""
    if isinstance(test, ast.BoolOp):
        parts = [comes_by_count(one, frame) or is_true(one, frame) for one in test.values]
        return all(parts) if isinstance(test.op, ast.And) else any(parts)
    asked = periodic(test, frame)
    every = None if asked is None else number(asked.every, frame)
    if asked is None or every is None or not 1 < every < _NEVER:
        return False
    return every <= _most(asked.steps, frame)


def is_true(test: ast.expr, frame: FrameType) -> bool:
    """Whether a test is known to be true without a call."""
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            value = held(inner, frame)
            return isinstance(value, (bool, int, str)) and not value
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            one, two = held(left, frame), held(right, frame)
            is_plain = all(isinstance(each, (bool, int, float, str)) for each in (one, two))
            name = _COMPARED.get(type(op), "")
            return is_plain and bool(name) and getattr(one, name)(two) is True
    value = held(test, frame)
    return isinstance(value, (bool, int, str)) and bool(value)


def number(node: ast.expr, frame: FrameType) -> int | None:
    """Give a whole number that a name, an entry or a sum of these is."""
    match node:
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() as op, right=right):
            one, two = number(left, frame), number(right, frame)
            if one is None or two is None:
                return None
            return one + two if isinstance(op, ast.Add) else one - two
    value = held(node, frame)
    is_whole = isinstance(value, (int, float)) and not isinstance(value, bool)
    return int(value) if is_whole and value == int(value) else None


def goes_with(one: ast.expr, other: ast.expr, frame: FrameType) -> bool:
    """Whether a test is true whenever another one is: it asks for a part of as many steps."""
    for part, whole in itertools.product(_asked(one, frame), _asked(other, frame)):
        few, many = number(part.every, frame), number(whole.every, frame)
        same = [ast.unparse(each.steps) + ast.unparse(each.rest) for each in (part, whole)]
        if few and many and many % few == 0 and same[0] == same[1]:
            return True
    return False


def _asked(test: ast.expr, frame: FrameType) -> list[Periodic]:
    """Give all that a test asks for which is true once in so many steps."""
    if isinstance(test, ast.BoolOp):
        return [each for one in test.values for each in _asked(one, frame)]
    asked = periodic(test, frame)
    return [] if asked is None else [asked]


def _most(count: ast.expr, frame: FrameType) -> int:
    """Say how far a count comes that begins anew with a loop; none does that is kept elsewhere."""
    names = _names(count)
    ends = (end for loop in at_work(frame, ast.For, ast.While) for end in _ends(loop, names, frame))
    return min(ends, default=sys.maxsize)


def _ends(loop: ast.AST, names: set[str], frame: FrameType) -> Iterator[int]:
    """Give the numbers at which a loop ends that counts by one of these names; 0: nobody knows."""
    if isinstance(loop, ast.For) and names & _names(loop.target):
        yield _end(loop, frame)
    for one in ast.walk(loop.test) if isinstance(loop, ast.While) else ():
        match one:
            case ast.Compare(left=left, ops=[ast.Lt() | ast.LtE()], comparators=[right]):
                if names & _names(left):
                    yield number(right, frame) or 0


def _names(node: ast.expr) -> set[str]:
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}


def _end(loop: ast.For, frame: FrameType) -> int:
    """Give the number at which a loop ends; 0: nobody knows."""
    for call in (one for one in ast.walk(loop.iter) if isinstance(one, ast.Call)):
        if getattr(call.func, "id", getattr(call.func, "attr", "")) in _RANGES:
            return _number_of_end(call, frame)
    return max(map(_length, _held_in(loop.iter, frame)), default=0)


def _number_of_end(call: ast.Call, frame: FrameType) -> int:
    ends = call.args[:1] if len(call.args) == 1 else call.args[1:2]
    return next((number(one, frame) or 0 for one in ends), 0)


def _held_in(node: ast.expr, frame: FrameType) -> Iterator[Any]:
    """Give what a loop goes over, or what is handed to `enumerate` or `tqdm` for it."""
    args = node.args if isinstance(node, ast.Call) else ()
    yield from (one for each in args for one in _held_in(each, frame))
    if not isinstance(node, ast.Call):
        yield held(node, frame)


def _length(thing: Any) -> int:
    try:
        return len(thing)
    except Exception:  # noqa: BLE001  the user's own, or it has none
        return 0
