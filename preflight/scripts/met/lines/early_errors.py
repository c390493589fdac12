"""Says whether an exception may come of steps that were not taken before what comes after them.

A history that is shorter than the script expects there, or a name that an earlier step binds: in
the job it is none. What is wrong after any number of steps (a key, an attribute, the shape of what
a model is given) is the script's own.
"""

from __future__ import annotations

import ast
import functools
import os
import traceback
from collections.abc import Iterator
from types import FrameType
from typing import NamedTuple

from preflight.scripts.met.lines.counted import parsed
from preflight.scripts.watch import Watch

_GROWS = frozenset({"append", "appendleft", "extend", "add", "update", "put", "push", "insert"})

# What is raised where something is too short; and where a number is too small, too.
_OF_LENGTH, _OF_NUMBER = (IndexError, ValueError, RuntimeError), (AssertionError, ZeroDivisionError)

# As above, raised by a line of the script itself, and not by torch within it.
_OF_OWN_LENGTH = (IndexError, ZeroDivisionError)


class _Growth(NamedTuple):
    text: str
    line: int
    function: int
    """The line at which its function begins; 0: the module."""

    is_number: bool


def may_lack_steps(
    file: str, body: range, test: ast.expr, watch: Watch, error: BaseException
) -> bool:
    """Whether an exception was raised behind a test, and may come of what its steps would do."""
    lines = [*traceback.walk_tb(error.__traceback__)]
    own = [one for one in lines if watch.own.has(one[0].f_code.co_filename)]
    if not any(one.f_code.co_filename == file and at in body for one, at in own):
        return False
    frame, at = own[-1]
    match error:
        case NameError(name=str(name)):
            return name in _bound(frame.f_code.co_filename)
        case KeyError(args=(key, *_)):
            return not isinstance(key, str)
        case FileNotFoundError(filename=str(path)):
            return os.path.isdir(os.path.dirname(path) or ".")
    if "NoneType" in str(error):
        return bool(_named(frame, at) & _bound_later(frame.f_code.co_filename))
    if "empty" in str(error):
        return True
    is_own = lines[-1] == own[-1]
    if is_own and isinstance(error, _OF_OWN_LENGTH):
        return True
    if not isinstance(error, (*_OF_LENGTH, *_OF_NUMBER)):
        return False
    grown = _grown(file, body, own, numbers=isinstance(error, _OF_NUMBER))
    return bool((_named(frame, at) - _texts(test)) & grown)


@functools.lru_cache(maxsize=16)
def _bound(file: str) -> frozenset[str]:
    """Give the names that a file binds anywhere."""
    tree = parsed(file)
    every = ast.walk(tree) if tree is not None else ()
    return frozenset(
        one.id for one in every if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)
    )


@functools.lru_cache(maxsize=16)
def _bound_later(file: str) -> frozenset[str]:
    """Give what a file binds to None, and elsewhere to something: `best`, before there is any."""
    tree = parsed(file)
    bound: dict[bool, set[str]] = {True: set(), False: set()}
    for one in ast.walk(tree) if tree is not None else ():
        for target in one.targets if isinstance(one, ast.Assign) else ():
            is_none = isinstance(one, ast.Assign) and _is_none(one.value)
            bound[is_none] |= _texts(target)
    return frozenset(bound[True] & bound[False])


def _is_none(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and value.value is None


def _named(frame: FrameType, line: int) -> set[str]:
    """Give what the statement at a line of the script speaks of."""
    tree = parsed(frame.f_code.co_filename)
    statements = [
        one
        for one in (ast.walk(tree) if tree is not None else ())
        if isinstance(one, ast.stmt) and one.lineno <= line <= (one.end_lineno or one.lineno)
    ]
    innermost = max(statements, key=lambda one: one.lineno, default=None)
    return _texts(innermost) if innermost is not None else set()


def _texts(node: ast.AST) -> set[str]:
    kinds = (ast.Name, ast.Attribute, ast.Subscript)
    return {_text(one) for one in ast.walk(node) if isinstance(one, kinds)}


def _text(node: ast.expr) -> str:
    """Give an expression as it is compared: an attribute by its name, whoever has it."""
    return f".{node.attr}" if isinstance(node, ast.Attribute) else ast.unparse(node)


def _grown(file: str, body: range, own: list[tuple[FrameType, int]], *, numbers: bool) -> set[str]:
    """Give what the script makes longer outside of all that was run behind the test."""
    begins = next(
        at for at, (one, line) in enumerate(own) if line in body and one.f_code.co_filename == file
    )
    within = {(one.f_code.co_filename, one.f_code.co_firstlineno) for one, _ in own[begins + 1 :]}
    return {
        growth.text
        for each in {one.f_code.co_filename for one, _ in own}
        for growth in _growths(each)
        if numbers or not growth.is_number
        if (each, growth.function) not in within and not (each == file and growth.line in body)
    }


@functools.lru_cache(maxsize=16)
def _growths(file: str) -> tuple[_Growth, ...]:
    """Give what a file makes longer, and the numbers to which it adds."""
    tree = parsed(file)
    return () if tree is None else tuple(_growths_in(tree, 0))


def _growths_in(node: ast.AST, function: int) -> Iterator[_Growth]:
    for one in ast.iter_child_nodes(node):
        if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef)):
            decorated = [each.lineno for each in one.decorator_list]
            yield from _growths_in(one, min([one.lineno, *decorated]))
            continue
        for holder in _holders(one):
            is_number = isinstance(one, ast.AugAssign) and not isinstance(one.value, ast.List)
            yield _Growth(_text(holder), holder.lineno, function, is_number)
        yield from _growths_in(one, function)


def _holders(node: ast.AST) -> list[ast.expr]:
    match node:
        case ast.AugAssign(target=target):
            return [target]
        case ast.Assign(targets=targets):
            return [one.value for one in targets if isinstance(one, ast.Subscript)]
        case ast.Call(func=ast.Attribute(value=holder, attr=name)) if name in _GROWS:
            return [holder]
    return []
