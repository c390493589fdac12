"""Says which names of a file stand for a constant."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator


def constants_of(tree: ast.AST) -> dict[str, list[ast.expr]]:
    """Give what each name is given that a file binds once, at its top level and in no function."""
    bound = Counter(name for node in ast.walk(tree) for name in _bound_by(node))
    given: dict[str, ast.expr] = {}
    for node in getattr(tree, "body", ()):
        if isinstance(node, ast.Assign):
            given |= {one.id: node.value for one in node.targets if isinstance(one, ast.Name)}
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value:
            given[node.target.id] = node.value
    return {name: [value] for name, value in given.items() if bound[name] == 1}


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
