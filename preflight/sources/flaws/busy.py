"""Finds loops that do nothing at all until somebody else changes something."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from preflight.sources.flaws.facts import BusyWait
from preflight.syntax.bodies import Body, caught_in, text_at
from preflight.syntax.parsing import Parsed, code_of
from preflight.syntax.running import last_name

# They answer at once. Whatever else is called in a test may wait, or do the work of the loop.
_ASK_WORDS = (
    "empty full qsize done is_set isSet is_alive running ready poll exists isfile isdir "
    "is_file is_dir locked is_completed listdir getsize stat glob "
)
_ASK = frozenset(_ASK_WORDS.split())
_PATHS = frozenset(
    {"exists", "isfile", "isdir", "is_file", "is_dir", "listdir", "getsize", "stat", "glob"}
)
_ASIDE_WORDS = "len bool not_ any all getattr join str list Path joinpath format fspath"
_ASIDE = frozenset(_ASIDE_WORDS.split())


def busy_waits(body: Body, parsed: Parsed, file: str) -> Iterator[BusyWait]:
    """Give the loops of a function that ask the same again and again, without a pause."""
    shared = _shared(body)
    for node in body.nodes:
        if not isinstance(node, ast.While):
            continue
        test = _asked(node)
        if test is None or not _is_others(test, shared):
            test = _taken(node)
        if test is not None:
            yield BusyWait(
                file=file,
                line=node.lineno,
                text=text_at(parsed.lines, node.lineno),
                inside=body.name,
                test=code_of(test, parsed.lines),
            )


def _asked(loop: ast.While) -> ast.expr | None:
    """Give what a loop asks in which nothing is done until the answer changes."""
    if all(map(_is_idle, loop.body)):
        return loop.test
    first = loop.body[0]
    if not (isinstance(loop.test, ast.Constant) and loop.test.value):
        return None  # whoever clears its flag ends it
    if isinstance(first, ast.If) and not first.orelse:
        if all(map(_is_idle, first.body)) and isinstance(first.body[-1], ast.Continue):
            return first.test
        if len(loop.body) == 1 and isinstance(first.body[-1], (ast.Break, ast.Return)):
            return first.test
    return None


def _taken(loop: ast.While) -> ast.expr | None:
    """Give what a loop without end takes out of a queue, where it tries again at once if empty."""
    first = loop.body[0]
    if not (isinstance(loop.test, ast.Constant) and loop.test.value and isinstance(first, ast.Try)):
        return None
    call = getattr(first.body[0], "value", None)
    handler = next((one for one in first.handlers if "Empty" in caught_in(one)), None)
    if handler is None or first.finalbody or not _is_at_once(call):
        return None
    is_again = isinstance(handler.body[-1], ast.Continue) or len(loop.body) == 1
    return call if is_again and all(map(_is_idle, handler.body)) else None


def _is_at_once(call: ast.expr | None) -> bool:
    """Whether a queue is asked without waiting: `get_nowait()`, `get(False)`."""
    if not isinstance(call, ast.Call):
        return False
    if last_name(call.func) == "get_nowait":
        return True
    said = [*call.args[:1], *(one.value for one in call.keywords if one.arg == "block")]
    return last_name(call.func) == "get" and any(
        isinstance(one, ast.Constant) and one.value is False for one in said
    )


def _is_idle(statement: ast.stmt) -> bool:
    said = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    return said or isinstance(statement, (ast.Pass, ast.Continue))


def _is_others(test: ast.expr, shared: frozenset[str]) -> bool:
    """Whether only others can change the answer, and asking takes no time and changes nothing."""
    asks = False
    for node in ast.walk(test):
        if isinstance(node, (ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom, ast.Lambda)):
            return False
        if isinstance(node, ast.Call):
            name = last_name(node.func)
            if name not in _ASIDE and (name not in _ASK or _may_pause(node, test)):
                return False
            asks = asks or name in _ASK
    return asks or any(_is_flag(one, shared) for one in _plain(test))


def _may_pause(call: ast.Call, test: ast.expr) -> bool:
    """Whether asking may take a while: `connection.poll(1)`, a poller's `poll()`."""
    name = last_name(call.func)
    if name in _PATHS:
        return False
    of_process = isinstance(test, ast.Compare) and isinstance(test.comparators[0], ast.Constant)
    return bool(call.args or call.keywords) or (name == "poll" and not of_process)


def _plain(test: ast.expr) -> Sequence[ast.expr]:
    """Give what is asked, without `not`, `and` and `or` around it."""
    if isinstance(test, ast.UnaryOp):
        return _plain(test.operand)
    if isinstance(test, ast.BoolOp):
        return [one for value in test.values for one in _plain(value)]
    if isinstance(test, ast.Compare):
        return _plain(test.left)
    if isinstance(test, ast.Call) and test.args:
        return [test.args[0]]
    return [test]


def _is_flag(node: ast.expr, shared: frozenset[str]) -> bool:
    if isinstance(node, ast.Attribute):
        return isinstance(node.value, ast.Name)
    return isinstance(node, ast.Name) and node.id in shared


def _shared(body: Body) -> frozenset[str]:
    """Give the names of a function that others can give a value to."""
    every = body.nodes
    declared = [one for one in every if isinstance(one, (ast.Global, ast.Nonlocal))]
    return frozenset(name for one in declared for name in one.names)
