"""Which names a module's source binds, as far as that can be known without running it."""

from __future__ import annotations

import ast

from preflight.syntax.bodies import stored


def bound_names(path: str) -> frozenset[str] | None:
    """All names that a module's source binds at its top level; None where that cannot be known."""
    try:
        with open(path, "rb") as file:
            tree = ast.parse(file.read())
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return None  # whoever imports it will say so better
    names = stored(tree.body)
    made_up = {"*", "__getattr__"} & names or _writes_globals(tree)
    return None if made_up else frozenset(names)


def _writes_globals(tree: ast.AST) -> bool:
    """Whether names may be bound that no statement shows: `globals()`, `exec`, `global x`."""
    return any(
        isinstance(node, ast.Global)
        or (isinstance(node, ast.Name) and node.id in {"globals", "exec", "vars", "setattr"})
        for node in ast.walk(tree)
    )
