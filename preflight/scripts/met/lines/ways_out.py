"""Where a script goes on that leaves a loop: the next statement, or that of a `break`."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from types import FrameType
from typing import NamedTuple

from preflight.scripts.met.lines.counted import parsed

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


class WayOut(NamedTuple):
    """A loop at work, by its lines, and the one at which the script goes on that leaves it."""

    head: range
    body: range
    behind: int


class _At(NamedTuple):
    """A statement at work, and those behind it in its block."""

    statement: ast.stmt
    block: str
    """The part of the statement around it: `body`, `orelse`, `handlers`, `finalbody`."""

    rest: Sequence[ast.stmt]


def ways_out(frame: FrameType) -> Iterator[WayOut]:
    """Give the loops at work in a frame that can be left, the innermost first."""
    tree = parsed(frame.f_code.co_filename)
    way = [] if tree is None else _way(tree.body, frame.f_lineno)
    for place in reversed(range(len(way))):
        loop = way[place].statement
        if isinstance(loop, (ast.For, ast.While)):
            is_module = frame.f_code.co_name == "<module>"
            behind = _behind(loop, way[: place + 1], is_module=is_module)
            if behind is not None:
                head = range(loop.lineno, max(loop.lineno + 1, loop.body[0].lineno))
                yield WayOut(head, range(loop.body[0].lineno, _end(loop) + 1), behind)


def _way(block: Sequence[ast.stmt], line: int) -> list[_At]:
    """Give the statements that a line lies in, the outermost first; of one function."""
    way: list[_At] = []
    name = "body"
    while True:
        found = next(
            ((n, one) for n, one in enumerate(block) if one.lineno <= line <= _end(one)), None
        )
        if found is None:
            return way
        number, one = found
        way.append(_At(one, name, block[number + 1 :]))
        if isinstance(one, _FUNCTIONS):
            way.clear()
        name, block = _inner(one, line)


def _inner(one: ast.stmt, line: int) -> tuple[str, Sequence[ast.stmt]]:
    for name in ("body", "orelse", "finalbody"):
        block = getattr(one, name, None)
        if isinstance(block, list) and block and block[0].lineno <= line <= _end(block[-1]):
            return name, block
    for handler in getattr(one, "handlers", ()):
        if handler.lineno <= line <= _end(handler):
            return "handlers", handler.body
    return "", ()


def _end(one: ast.stmt | ast.excepthandler) -> int:
    return one.end_lineno or one.lineno


def _behind(loop: ast.For | ast.While, way: Sequence[_At], *, is_module: bool) -> int | None:
    """Give the line at which it goes on that ends a loop, the last of these."""
    if loop.orelse:
        return _first(loop.orelse)
    for place in reversed(range(len(way))):
        at = way[place]
        if at.rest:
            return _first(at.rest)
        around = way[place - 1].statement if place else None
        if isinstance(around, ast.Try) and at.block in ("body", "orelse"):
            following = (around.orelse if at.block == "body" else []) or around.finalbody
            if following:
                return _first(following)
        elif isinstance(around, ast.While) and at.block == "body":
            return around.lineno  # its test; the head of a `for` would begin that loop anew
        elif around is not None and not _goes_on_behind(around, at.block):
            break
    return None if is_module else _break_of(loop)


def _goes_on_behind(around: ast.stmt, block: str) -> bool:
    """Whether the end of a block leads to the statement behind the one around it."""
    is_loop = isinstance(around, (ast.For, ast.While))
    return isinstance(around, ast.If) or (is_loop and block == "orelse")


def _first(block: Sequence[ast.stmt]) -> int:
    decorators: list[ast.expr] = getattr(block[0], "decorator_list", [])
    return min([block[0].lineno, *(one.lineno for one in decorators)])


def _break_of(loop: ast.For | ast.While) -> int | None:
    """Give the line of a `break` that ends this loop, and has a line of its own."""
    todo: list[tuple[int, ast.stmt]] = [(loop.lineno, one) for one in loop.body]
    while todo:
        above, one = todo.pop(0)
        if isinstance(one, ast.Break) and one.lineno > above:
            return one.lineno
        if isinstance(one, ast.If):
            todo += [(_end_of_test(one), each) for each in (*one.body, *one.orelse)]
    return None


def _end_of_test(one: ast.If) -> int:
    return one.test.end_lineno or one.lineno
