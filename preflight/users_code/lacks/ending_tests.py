"""Finds the tests by which a program ends, in the source of the line at which it did."""

from __future__ import annotations

import ast
import traceback
from collections.abc import Iterator

from preflight.objects.source_trees import parsed, source_of
from preflight.syntax.running import last_name

SAID_BY = (RuntimeError, AssertionError, ValueError, OSError, SystemExit)
"""What people raise where a test tells them that something is not here."""

_EXITS = frozenset({"exit", "quit", "_exit"})


def statements_at(file: str, line: int) -> tuple[ast.AST, list[ast.stmt]]:
    """Give the file's tree, and the statements of it that a line lies in."""
    tree = parsed(source_of(file)) or ast.Module([], [])
    every = [one for one in ast.walk(tree) if isinstance(one, ast.stmt)]
    return tree, [one for one in every if one.lineno <= line <= (one.end_lineno or 0)]


def innermost_test(here: list[ast.stmt]) -> ast.If | ast.Assert | None:
    """Give the test that is nearest to a line, of the statements that the line lies in."""
    around = [one for one in here if isinstance(one, (ast.If, ast.Assert))]
    return max(around, key=lambda one: one.lineno, default=None)


def ends(statement: ast.stmt) -> bool:
    """Whether a statement ends the program: it raises, asserts or exits."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    is_exit = isinstance(call, ast.Call) and last_name(call.func) in _EXITS
    return is_exit or isinstance(statement, (ast.Raise, ast.Assert))


def given_to(within: ast.AST, value: ast.AST) -> Iterator[ast.expr]:
    """Give what is assigned to the names in an expression: of `args.data`, `args` says nothing."""
    inner = {id(one.value) for one in ast.walk(value) if isinstance(one, ast.Attribute)}
    every = (one for one in ast.walk(value) if isinstance(one, ast.Name))
    names = {one.id for one in every if id(one) not in inner}
    for one in ast.walk(within):
        if isinstance(one, ast.Assign) and names & {*map(ast.unparse, one.targets)}:
            yield one.value


def innermost(error: BaseException) -> tuple[str, int, str]:
    """Give the innermost line with its file and text: those of Python itself have no text."""
    for one in reversed(traceback.extract_tb(error.__traceback__)):
        if one.line:
            return one.filename, one.lineno or 0, one.line
    return "", 0, ""
