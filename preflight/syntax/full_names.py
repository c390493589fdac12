"""Says what names of a file stand for, by its imports."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping


def imported(nodes: Iterable[ast.AST]) -> dict[str, str]:
    """Give the full names of what is imported: `{"osp": "os.path", "env": "os.environ"}`."""
    names: dict[str, str] = {}
    for node in nodes:
        if isinstance(node, ast.Import):
            for one in node.names:
                first = one.name.partition(".")[0]
                names[one.asname or first] = one.name if one.asname else first
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names |= {one.asname or one.name: f"{node.module}.{one.name}" for one in node.names}
    return names


def full_name(node: ast.AST, names: Mapping[str, str]) -> str:
    """Say what an expression is, where a file knows it by its import; nothing of anything else."""
    attributes: list[str] = []
    while isinstance(node, ast.Attribute):
        attributes.append(node.attr)
        node = node.value
    known = names.get(node.id) if isinstance(node, ast.Name) else None
    return ".".join([known, *reversed(attributes)]) if known else ""
