"""Says whether a program was ended on purpose, since it has asked for a GPU, and got none."""

from __future__ import annotations

import ast
import linecache
import re
from collections.abc import Iterator

from preflight.syntax.running import last_name

ASKS_FOR_GPU = re.compile(r"\b(?:cuda|accelerator|mps|xpu)\.(?:is_available|device_count)\(")

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_EXITS = frozenset({"exit", "quit", "_exit"})


def stands_behind_gpu(file: str, line: int) -> bool:
    """Whether a line raises or exits, and the innermost `if` around it asks for a GPU.

    What merely goes wrong there is not meant: it is a fault of the code for the CPU. It may ask by
    a name that was given what is asked, or by a function of the file that returns it.
    """
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except (SyntaxError, ValueError):
        return False
    every = [one for one in ast.walk(tree) if isinstance(one, ast.stmt)]
    here = [one for one in every if one.lineno <= line <= (one.end_lineno or 0)]
    around = [one for one in here if isinstance(one, ast.If)]
    if not around or not any(map(_ends, here)):
        return False
    test = max(around, key=lambda one: one.lineno).test
    returned = (value for name in _called(test) for value in _returned(tree, name))
    return _asks(tree, test) or any(_asks(function, value) for function, value in returned)


def _ends(statement: ast.stmt) -> bool:
    call = statement.value if isinstance(statement, ast.Expr) else None
    is_exit = isinstance(call, ast.Call) and last_name(call.func) in _EXITS
    return is_exit or isinstance(statement, ast.Raise)


def _asks(within: ast.AST, value: ast.expr) -> bool:
    """Whether an expression asks, or a name in it is given what does."""
    names = _names(value)
    given = (
        one.value
        for one in ast.walk(within)
        if isinstance(one, ast.Assign) and names & {*map(ast.unparse, one.targets)}
    )
    return any(ASKS_FOR_GPU.search(ast.unparse(one)) for one in (value, *given))


def _names(value: ast.expr) -> set[str]:
    """Give the names by themselves: of `args.data`, `args` says nothing."""
    inner = {id(one.value) for one in ast.walk(value) if isinstance(one, ast.Attribute)}
    every = (one for one in ast.walk(value) if isinstance(one, ast.Name))
    return {one.id for one in every if id(one) not in inner}


def _called(value: ast.expr) -> set[str]:
    return {last_name(one.func) for one in ast.walk(value) if isinstance(one, ast.Call)}


def _returned(tree: ast.AST, name: str) -> Iterator[tuple[ast.AST, ast.expr]]:
    """Give what the functions of this name return."""
    for function in ast.walk(tree):
        if isinstance(function, _FUNCTIONS) and function.name == name:
            for one in ast.walk(function):
                if isinstance(one, ast.Return) and one.value is not None:
                    yield function, one.value
