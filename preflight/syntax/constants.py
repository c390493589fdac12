"""Which names of a file stand for a constant, and which text an expression of such is."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TypeAlias

from preflight.syntax.running import text_of

Constants: TypeAlias = Mapping[str, ast.expr]
"""What a file gives to names at its top level, by name; each is given a value once."""

# `A = B`, `f"{A}/x"`: more is no constant of anybody's.
_DEEPEST = 6


def constants_of(tree: ast.AST) -> Constants:
    """Give the names that a file binds once, at its top level and in no function."""
    bound = Counter(name for node in ast.walk(tree) for name in _bound_by(node))
    given: dict[str, ast.expr] = {}
    for node in getattr(tree, "body", ()):
        if isinstance(node, ast.Assign):
            given |= {one.id: node.value for one in node.targets if isinstance(one, ast.Name)}
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value:
            given[node.target.id] = node.value
    return {name: value for name, value in given.items() if bound[name] == 1}


def _bound_by(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
        yield node.id
    elif isinstance(node, ast.arg):
        yield node.arg
    elif isinstance(node, ast.Global):  # whoever says so gives it another value
        yield from node.names
    elif isinstance(node, ast.alias):
        yield (node.asname or node.name).partition(".")[0]
    elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        yield node.name


def texts_of(node: ast.expr, constants: Constants, depth: int = 0) -> str | list[str] | None:
    """Give the text that an expression is, or the texts of a list; None where it is not known."""
    if depth > _DEEPEST:
        return None
    if isinstance(node, ast.Name):
        value = constants.get(node.id)
        return None if value is None else texts_of(value, constants, depth + 1)
    if isinstance(node, (ast.List, ast.Tuple)):
        each = [texts_of(one, constants, depth + 1) for one in node.elts]
        return None if not all(isinstance(one, str) for one in each) else each  # type: ignore[return-value]
    if isinstance(node, ast.JoinedStr):
        return _joined(node.values, constants, depth)
    if isinstance(node, ast.FormattedValue):
        plain = node.conversion in (-1, ord("s")) and node.format_spec is None
        return texts_of(node.value, constants, depth + 1) if plain else None
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _joined([node.left, node.right], constants, depth)
    return text_of(node)


def _joined(parts: list[ast.expr], constants: Constants, depth: int) -> str | None:
    each = [texts_of(one, constants, depth + 1) for one in parts]
    said = [one for one in each if isinstance(one, str)]
    return "".join(said) if len(said) == len(each) else None
