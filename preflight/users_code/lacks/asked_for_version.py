"""Says whether a program was ended since it wants another version of a package."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from preflight.users_code.lacks.ending_tests import ends, given_to, innermost_test, statements_at

_VERSION = "__version__"


def tested_package(file: str, line: int) -> str | None:
    """Name the package whose version the innermost test asks that ends the program at a line."""
    tree, here = statements_at(file, line)
    test = innermost_test(here)
    if test is None or not any(map(ends, here)):
        return None
    imported = dict(_imported(tree))
    every = (node for one in (test.test, *given_to(tree, test.test)) for node in ast.walk(one))
    return next(filter(None, (_asked(node, imported) for node in every)), None)


def _imported(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """Give what is imported by the names that it has in a file: `t` is `timm`."""
    for one in ast.walk(tree):
        if isinstance(one, ast.Import):
            for name in one.names:
                yield name.asname or name.name.partition(".")[0], name.name.partition(".")[0]
        elif isinstance(one, ast.ImportFrom) and one.module and not one.level:
            for name in one.names:
                yield name.asname or name.name, f"{one.module}.{name.name}"


def _asked(node: ast.AST, imported: Mapping[str, str]) -> str | None:
    """Give the package of which an expression gives the version."""
    match node:
        case ast.Attribute(attr="__version__", value=ast.Name(id=name)):
            return imported.get(name)
        case ast.Name(id=name) if imported.get(name, "").endswith(f".{_VERSION}"):
            return imported[name].partition(".")[0]
        case ast.Call(func=function, args=[ast.Constant(value=str(name))]):
            called = ast.unparse(function)
            whole = imported.get(called, called)
            return name if whole.endswith("metadata.version") else None
    return None
