"""Which names a module's source binds, as far as that can be known without running it."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator


def bound_names(path: str) -> frozenset[str] | None:
    """All names that a module's source binds at its top level; None where that cannot be known."""
    try:
        with open(path, "rb") as file:
            tree = ast.parse(file.read())
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return None  # whoever imports it will say so better
    names: set[str] = set()
    for node in _top_level(tree.body):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                names.add(node.name)
            case ast.Import() | ast.ImportFrom():
                names.update((one.asname or one.name).partition(".")[0] for one in node.names)
            case ast.Name(ctx=ast.Store()):
                names.add(node.id)
            case ast.Global():
                names.update(node.names)
    made_up = {"*", "__getattr__"} & names or _writes_globals(tree)
    return None if made_up else frozenset(names)


def _top_level(body: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """Walk statements without going into functions and classes, whose names are their own."""
    todo = list(body)
    while todo:
        node = todo.pop()
        yield node
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            todo.extend(ast.iter_child_nodes(node))


def _writes_globals(tree: ast.AST) -> bool:
    """Whether names may be bound that no statement shows: `globals()`, `exec`, `global x`."""
    return any(
        isinstance(node, ast.Global)
        or (isinstance(node, ast.Name) and node.id in {"globals", "exec", "vars", "setattr"})
        for node in ast.walk(tree)
    )
