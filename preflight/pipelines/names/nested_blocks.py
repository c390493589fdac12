"""Takes statements apart that have others in them, and tells lists that only grew."""

from __future__ import annotations

import ast
import operator
from collections.abc import Container, Iterable, Iterator

from preflight.syntax.given_values import bound_by
from preflight.syntax.parsing import everything_in
from preflight.syntax.surroundings import called


def is_grown(value: ast.expr | None, before: ast.expr) -> bool:
    """Whether something was added to a list, and nothing else was done to it."""
    if not (isinstance(value, ast.List) and isinstance(before, ast.List)):
        return False
    first = value.elts[: len(before.elts)]
    return len(first) == len(before.elts) and all(map(operator.is_, first, before.elts))


def added_by(statement: ast.stmt) -> tuple[str, ast.expr] | None:
    """Give the name of what a statement adds something to, and a list of that."""
    match statement:
        case ast.Expr(
            value=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="append"), args=[one])
        ):
            return name, ast.List([one], ast.Load())
        case ast.Expr(
            value=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="extend"), args=[more])
        ):
            return name, more
        case ast.AugAssign(target=ast.Name(id=name), op=ast.Add(), value=more):
            return name, more
    return None


def bound_in(node: ast.AST) -> set[str]:
    """Give the names to which something in a node gives a value."""
    return {name for one in everything_in(node) for name in bound_by(one)}


def heads(node: ast.stmt) -> Iterator[ast.AST]:
    """Give what is gone through before the blocks of a statement."""
    names = ("test", "target", "iter", "subject")
    yield from (getattr(node, name) for name in names if hasattr(node, name))


def blocks(node: ast.stmt) -> Iterator[list[ast.stmt]]:
    """Give the statements of each block that runs or not."""
    inner = [*getattr(node, "handlers", ()), *getattr(node, "cases", ())]
    each = [getattr(node, name, []) for name in ("body", "orelse")]
    each += [*(one.body for one in inner), getattr(node, "finalbody", [])]
    yield from filter(None, each)


def opened(items: Iterable[ast.withitem], shared: Container[str]) -> dict[str, ast.expr]:
    """Give the files that `with open(path) as file` has, by their names."""
    return {
        one.optional_vars.id: one.context_expr
        for one in items
        if isinstance(one.optional_vars, ast.Name)
        and one.optional_vars.id not in shared
        and isinstance(one.context_expr, ast.Call)
        and called(one.context_expr) == "open"
    }
