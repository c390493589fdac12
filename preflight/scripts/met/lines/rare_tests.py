"""Tests in a script's text behind which it evaluates or saves, once in many steps or minutes."""

from __future__ import annotations

import ast
import functools
import re
import sys
from collections.abc import Iterator
from typing import NamedTuple

from preflight.scripts.met.lines.count_tests import asks_for_count
from preflight.scripts.met.lines.counted import parsed
from preflight.scripts.watch import Watch

# What is called there that is worth a way to it.
_SAVES = re.compile(r"save|checkpoint|ckpt", re.IGNORECASE)
_EVALUATES = re.compile(r"eval|valid|(?<!la)test", re.IGNORECASE)
_LOADS = re.compile(r"load|resum|restore", re.IGNORECASE)

# What a test is about that comes out otherwise later.
_COUNTS = re.compile(r"step|iter|epoch|batch", re.IGNORECASE)
_CLOCK = re.compile(r"(^|[._])(time|monotonic|perf_counter|now|utcnow|elapsed\w*)$")

_LEAVES = (ast.Break, ast.Return, ast.Raise)
_EXITS = re.compile(r"(^|\.)_?(exit|abort|requeue\w*)$")


class CountTest(NamedTuple):
    """A test that is true once in so many steps, whatever stands behind it."""

    test: ast.expr
    line: int
    body: range
    function: int
    """The line at which its function begins; 0: the module."""


class RareTest(NamedTuple):
    """One such test."""

    file: str
    test: ast.expr
    line: int
    body: range
    """The lines behind it."""

    saves: bool
    evaluates: bool
    by_time: ast.Compare | None
    """The comparison of times in it, which comes true by waiting."""

    by_count: bool
    """Whether it asks for what is true once in so many steps."""

    leaves: bool
    """Whether the training ends there."""


def not_come_to(watch: Watch) -> Iterator[RareTest]:
    """Give those of the script's own files behind which stands what was not seen so far."""
    no_save, no_evaluation = not watch.has_met("save"), not watch.has_met("evaluation")
    if no_save or no_evaluation:
        # Their own attributes alone: a module may make what it is asked for, which takes time.
        modules = [getattr(one, "__dict__", {}) for one in [*sys.modules.values()]]
        files = {str(one.get("__file__") or ""): None for one in modules}
        for one in (each for file in files if watch.own.has(file) for each in rare_tests(file)):
            if (no_save and one.saves) or (no_evaluation and one.evaluates):
                yield one


@functools.lru_cache(maxsize=64)
def rare_tests(file: str) -> tuple[RareTest, ...]:
    """Find those of a file."""
    tree = parsed(file)
    return () if tree is None else tuple(_within(tree, {}, file))


@functools.lru_cache(maxsize=64)
def count_tests(file: str) -> dict[int, CountTest]:
    """Give all tests of a count in a file, by their lines."""
    tree = parsed(file)
    every = [] if tree is None else [*_count_tests(tree, 0)]
    return {one.line: one for one in every}


def _count_tests(node: ast.AST, function: int) -> Iterator[CountTest]:
    for one in ast.iter_child_nodes(node):
        if isinstance(one, ast.If) and asks_for_count(one.test) and not _leaves(one):
            yield CountTest(one.test, one.lineno, _lines_of(one), function)
        within = (
            one.lineno if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef)) else function
        )
        yield from _count_tests(one, within)


def _lines_of(node: ast.If) -> range:
    return range(node.body[0].lineno, (node.body[-1].end_lineno or 0) + 1)


def _within(node: ast.AST, clocks: dict[str, bool], file: str) -> Iterator[RareTest]:
    """Find those in a function or module, whose names may hold times."""
    inner: list[ast.AST] = []
    todo, every = [*ast.iter_child_nodes(node)], []
    while todo:
        one = todo.pop(0)
        if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            inner.append(one)
        else:
            every.append(one)
            todo += ast.iter_child_nodes(one)
    clocks = {**clocks}
    for one in every:
        if isinstance(one, ast.Assign) and len(one.targets) == 1:
            clocks[ast.unparse(one.targets[0])] = _is_of_clock(one.value, {})
    for one in every:
        if isinstance(one, ast.If):
            yield from _of_test(one, clocks, file)
    for each in inner:
        yield from _within(each, clocks, file)


def _of_test(node: ast.If, clocks: dict[str, bool], file: str) -> Iterator[RareTest]:
    calls = _calls(node)
    saves, evaluates = any(map(_SAVES.search, calls)), any(map(_EVALUATES.search, calls))
    if not (saves or evaluates):
        return
    by_time = next((one for one in operands(node.test) if _comes_by_time(one, clocks)), None)
    by_count = asks_for_count(node.test)
    if by_time is None and not by_count and not _counts(node.test):
        return
    yield RareTest(
        file=file,
        test=node.test,
        line=node.lineno,
        body=_lines_of(node),
        saves=saves,
        evaluates=evaluates,
        by_time=by_time if isinstance(by_time, ast.Compare) else None,
        by_count=by_count,
        leaves=_leaves(node) or any(map(_EXITS.search, calls)),
    )


def _leaves(node: ast.If) -> bool:
    return any(isinstance(one, _LEAVES) for part in node.body for one in ast.walk(part))


def _calls(node: ast.If) -> list[str]:
    """Name what is called behind a test, but for what loads."""
    nodes = (each for part in node.body for each in ast.walk(part))
    names = (ast.unparse(one.func) for one in nodes if isinstance(one, ast.Call))
    return [one for one in names if not _LOADS.search(one)]


def is_worth(node: ast.If) -> bool:
    """Whether it evaluates or saves there."""
    return any(_SAVES.search(one) or _EVALUATES.search(one) for one in _calls(node))


def operands(test: ast.expr) -> list[ast.expr]:
    """Give what must all be true for a test to be."""
    is_of_all = isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And)
    return [*test.values] if isinstance(test, ast.BoolOp) and is_of_all else [test]


def _counts(test: ast.expr) -> bool:
    """Whether it asks for a count: of steps, or by a rest."""
    nodes = [*ast.walk(test)]
    if any(isinstance(one, ast.BinOp) and isinstance(one.op, ast.Mod) for one in nodes):
        return True
    compared = [one for one in nodes if isinstance(one, ast.Compare)]
    return any(
        not isinstance(op, (ast.Is, ast.IsNot)) and _COUNTS.search(ast.unparse(one))
        for one in compared
        for op in one.ops
    )


def _comes_by_time(test: ast.expr, clocks: dict[str, bool]) -> bool:
    """Whether it is true when a clock is beyond something: `time.time() - last > 600`."""
    match test:
        case ast.Compare(left=left, ops=[ast.Gt() | ast.GtE()], comparators=[_]):
            return _is_of_clock(left, clocks)
        case ast.Compare(ops=[ast.Lt() | ast.LtE()], comparators=[right]):
            return _is_of_clock(right, clocks)
    return False


def _is_of_clock(value: ast.expr, clocks: dict[str, bool]) -> bool:
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add):
        return False  # a time to come, which a clock is held against
    while isinstance(value, ast.BinOp):
        value = value.left
    if isinstance(value, ast.Attribute) and value.attr in {"seconds", "days"}:
        value = value.value
        return _is_of_clock(value, clocks)
    if isinstance(value, ast.Call):
        called = ast.unparse(value.func)
        if called.endswith(".total_seconds") and isinstance(value.func, ast.Attribute):
            return _is_of_clock(value.func.value, clocks)
        return _CLOCK.search(called) is not None
    return clocks.get(ast.unparse(value), False)
