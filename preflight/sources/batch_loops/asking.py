"""Says whether a statement asks what a batch is, before something is done with it."""

from __future__ import annotations

import ast


def asks(statement: ast.stmt, name: str) -> bool:
    """Whether a statement asks what a thing of this name is.

    Blocks do by all that they name; of others, what chooses by it: `batch or empty`.
    """
    if not isinstance(statement, (ast.Assign, ast.AnnAssign, ast.Expr, ast.AugAssign)):
        return is_named(name, statement)
    return any(_chooses(one, name) for one in ast.walk(statement))


def is_named(name: str, node: ast.AST) -> bool:
    """Whether a name stands in it."""
    return any(isinstance(one, ast.Name) and one.id == name for one in ast.walk(node))


def _chooses(node: ast.AST, name: str) -> bool:
    match node:
        case ast.IfExp(test=test):
            return is_named(name, test)
        case ast.BoolOp(values=several):
            return any(_is(one, name) for one in several)
        case ast.Compare(left=left, comparators=others):
            return any(_is(one, name) for one in (left, *others))
        case ast.UnaryOp(op=ast.Not(), operand=one):
            return _is(one, name)
    return False


def _is(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name
