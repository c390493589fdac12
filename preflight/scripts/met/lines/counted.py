"""Scripts that draw batches by `next()` and count them: an epoch that ends early would end them.

And what else of a script's text stands around the line at which it is.
"""

from __future__ import annotations

import ast
import functools
import inspect
import io
import sys
from collections.abc import Iterator
from types import FrameType
from typing import Any

_ENDS = "StopIteration"
_KINDS = (ast.Call, ast.For, ast.While, ast.Try, ast.With, ast.DictComp, ast.ListComp)
_ALL = frozenset({_ENDS, "Exception", "BaseException"})


def counts_itself(frames: Iterator[FrameType]) -> bool:
    """Whether a batch is drawn by `next()`, and nothing in the script hears of the end of them.

    `frames` are the script's own ones, the innermost first. A generator that ends with its loop
    over a loader hands the end on to who draws from it.
    """
    inner = next(frames, None)
    while inner is not None and _hands_on(inner):
        inner = next(frames, None)
    if inner is None or not any(map(_draws, at_work(inner, ast.Call))):
        return False
    if any(_hears(one, _ALL) for one in at_work(inner, ast.Try, ast.With)):
        return False
    outer = (each for one in frames for each in at_work(one, ast.Try, ast.With))
    return not any(_hears(one, frozenset({_ENDS})) for one in outer)


def _hands_on(frame: FrameType) -> bool:
    """Whether a generator goes over a loader once, and so ends where that does."""
    if any(map(_draws, at_work(frame, ast.Call))):
        return False
    loops = [*at_work(frame, ast.For, ast.While)]
    is_generator = frame.f_code.co_flags & inspect.CO_GENERATOR
    return bool(is_generator) and len(loops) == 1 and isinstance(loops[0], ast.For)


def counts_by_length(frame: FrameType) -> bool:
    """Whether a line begins a loop over the length of a loader, to draw by `next()` in it."""
    return any(
        loop.lineno <= frame.f_lineno <= (loop.iter.end_lineno or 0)
        and any(_is_call(one, "len") for one in ast.walk(loop.iter))
        and any(_draws(one) for part in loop.body for one in ast.walk(part))
        for loop in at_work(frame, ast.For)
        if isinstance(loop, ast.For)
    )


def _draws(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and _is_call(node, "next") and len(node.args) == 1


def _is_call(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name


def _hears(node: ast.AST, names: frozenset[str]) -> bool:
    """Whether it catches an exception of such a name."""
    if isinstance(node, ast.With):
        caught: list[ast.AST | None] = [one.context_expr for one in node.items]
        names = frozenset({_ENDS})
    else:
        caught = [one.type for one in getattr(node, "handlers", ())]
    for one in caught:
        if one is None:
            if "Exception" in names:
                return True
        elif any(isinstance(each, ast.Name) and each.id in names for each in ast.walk(one)):
            return True
    return False


def at_work(frame: FrameType, *kinds: type[ast.stmt | ast.expr]) -> Iterator[ast.AST]:
    """Give the nodes of some kinds that the line at work lies in; of a `try`, in its body."""
    for node, first, last in _nodes(frame.f_code.co_filename):
        if isinstance(node, kinds) and first <= frame.f_lineno <= last:
            yield node


def calls_with(frame: FrameType, holder: ast.AST) -> set[str]:
    """Name the functions that a function calls with what it holds, wherever it does.

    Of an attribute, those of the whole file. It may go over all entries of a dict for that.
    """
    code = frame.f_code
    lines = [line for *_, line in code.co_lines() if line]
    first, last = code.co_firstlineno, max(lines)
    if isinstance(holder, ast.Attribute):
        first, last = 0, sys.maxsize
    within = ast.unparse(holder.value) if isinstance(holder, ast.Subscript) else ""
    nodes = [one for one, line, _ in _nodes(code.co_filename) if first <= line <= last]
    names = {ast.unparse(holder)}
    for loop in (each for one in nodes for each in _loops(one)):
        if within and ast.unparse(loop.iter) in {f"{within}.items()", f"{within}.values()"}:
            names |= {one.id for one in ast.walk(loop.target) if isinstance(one, ast.Name)}
    return {
        getattr(node.func, "id", "") or getattr(node.func, "attr", "")
        for node in nodes
        if isinstance(node, ast.Call)
        if any(ast.unparse(_of_each(one)) in names for one in node.args)
    }


def _loops(node: ast.AST) -> Iterator[ast.For | ast.comprehension]:
    if isinstance(node, ast.For):
        yield node
    yield from getattr(node, "generators", ())


def _of_each(value: ast.expr) -> ast.expr:
    """Give what a comprehension goes over that leaves nothing out."""
    if isinstance(value, (ast.ListComp, ast.GeneratorExp)) and len(value.generators) == 1:
        (loop,) = value.generators
        return value if loop.ifs else loop.iter
    return value


@functools.lru_cache(maxsize=64)
def parsed(file: str) -> ast.Module | None:
    """Give a file's tree; None where it has none."""
    try:
        with io.open_code(file) as opened:
            return ast.parse(opened.read())
    except (OSError, SyntaxError, ValueError):
        return None


@functools.lru_cache(maxsize=64)
def _nodes(file: str) -> tuple[tuple[ast.AST, int, int], ...]:
    tree = parsed(file)
    found = []
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, _KINDS):
            end = node.body[-1] if isinstance(node, ast.Try) else node
            found.append((node, node.lineno, end.end_lineno or node.lineno))
    return tuple(found)


def held(node: ast.AST, frame: FrameType) -> Any:
    """Give what a name, an attribute or an entry of a dict is, without a call; None: unknown."""
    match node:
        case ast.Constant(value=value):
            return value
        case ast.Name(id=name):
            return frame.f_locals.get(name, frame.f_globals.get(name))
        case ast.Attribute(value=inner, attr=name):
            return getattr(held(inner, frame), "__dict__", {}).get(name)
        case ast.Subscript(value=inner, slice=place):
            within, key = held(inner, frame), held(place, frame)
            if isinstance(within, dict) and isinstance(key, (str, int)):
                return dict.get(within, key)
    return None
