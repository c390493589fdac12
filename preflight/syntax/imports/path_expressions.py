"""Says which path an expression is that is made of literals, `__file__` and the current folder."""

from __future__ import annotations

import ast
import os

from preflight.syntax.running import last_name, text_of
from preflight.syntax.scopes import Module

# `a / b / c`, `dirname(dirname(x))`, and names that stand for others: more is no path of anybody's.
_DEEPEST = 12

_SAME = frozenset(
    {"abspath", "realpath", "normpath", "expanduser", "resolve", "absolute", "as_posix"}
    | {"str", "fspath", "Path", "PurePath"}
)


def path_of(node: ast.expr, module: Module, cwd: str, hops: int = 0) -> str | None:
    """Give the path, absolute where the code has it so; None where it is not all written out."""
    if hops > _DEEPEST:
        return None
    if isinstance(node, ast.Name):
        if node.id == "__file__":
            return os.path.abspath(module.path)
        value = module.names.values.get(node.id)
        return None if value is None else path_of(value, module, cwd, hops + 1)
    if isinstance(node, (ast.BinOp, ast.JoinedStr)):
        return _of_parts(node, module, cwd, hops)
    if isinstance(node, ast.Attribute) and node.attr == "parent":
        return _above(node.value, 1, module, cwd, hops)
    if isinstance(node, ast.Attribute) and node.attr in {"pardir", "curdir"}:
        return os.pardir if node.attr == "pardir" else os.curdir
    if isinstance(node, ast.Subscript) and last_name(node.value) == "parents":
        above = node.slice.value if isinstance(node.slice, ast.Constant) else None
        holder = node.value.value if isinstance(node.value, ast.Attribute) else None
        if isinstance(above, int) and holder is not None:
            return _above(holder, above + 1, module, cwd, hops)
        return None
    if isinstance(node, ast.Call):
        return _of_call(node, module, cwd, hops)
    return text_of(node)


def _of_parts(node: ast.BinOp | ast.JoinedStr, module: Module, cwd: str, hops: int) -> str | None:
    if isinstance(node, ast.JoinedStr):
        parts = [one.value if isinstance(one, ast.FormattedValue) else one for one in node.values]
        return _joined(parts, module, cwd, hops, "")
    joint = {ast.Div: os.sep, ast.Add: ""}.get(type(node.op))
    parts = [node.left, node.right]
    return None if joint is None else _joined(parts, module, cwd, hops, joint)


def _of_call(call: ast.Call, module: Module, cwd: str, hops: int) -> str | None:
    name, holder = last_name(call.func), getattr(call.func, "value", None)
    if name in {"getcwd", "cwd"} and not call.args:
        return cwd
    if name == "joinpath" and holder is not None:
        return _joined([holder, *call.args], module, cwd, hops)
    if name == "join" or (name in {"Path", "PurePath"} and len(call.args) > 1):
        return _joined(call.args, module, cwd, hops)
    if name == "dirname" and call.args:
        return _above(call.args[0], 1, module, cwd, hops)
    of = call.args[0] if call.args else holder
    return path_of(of, module, cwd, hops + 1) if name in _SAME and of is not None else None


def _joined(
    parts: list[ast.expr], module: Module, cwd: str, hops: int, joint: str = os.sep
) -> str | None:
    each = [path_of(part, module, cwd, hops + 1) for part in parts]
    known = [one for one in each if one is not None]
    if not known or len(known) < len(each):
        return None
    return os.path.join(*known) if joint else "".join(known)


def _above(node: ast.expr, levels: int, module: Module, cwd: str, hops: int) -> str | None:
    path = path_of(node, module, cwd, hops + 1)
    for _ in range(min(levels, _DEEPEST) if path is not None else 0):
        path = os.path.dirname(path or "")
    return path
