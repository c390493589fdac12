"""Finds where code asks for a key, and where it may give one another value."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from preflight.syntax.parsing import nodes_of
from preflight.syntax.running import last_name, text_of
from preflight.syntax.surroundings import called

# What is called so changes what it is a method of, or what it is handed.
_CHANGES = re.compile(
    r"(?i:update|merge|overrid|overwrit)|(?:^|_)(?:set|setattr|setdefault|pop|popitem|clear|patch|"
    r"delattr|setitem|delitem)(?:_|$)"
)

MERGES = ("merge", "unsafe_merge")

_OF_ONE_KEY = frozenset({"pop", "setdefault", "setattr", "delattr", "__setitem__", "__setattr__"})


def taken_apart(node: ast.expr) -> tuple[ast.expr, str] | None:
    """Give what is asked for a key, and the key: of `a.b`, `a["b"]` and `a.get("b")`."""
    match node:
        case ast.Attribute(value=holder, attr=key, ctx=ast.Load()):
            return holder, key
        case ast.Subscript(value=holder, slice=ast.Constant(value=str(key)), ctx=ast.Load()):
            return holder, key
        case ast.Call(
            func=ast.Attribute(value=holder, attr="get"), args=[ast.Constant(value=str(key)), *_]
        ):
            return holder, key
    return None


def changes_in(tree: ast.AST) -> Iterator[tuple[ast.expr, str]]:
    """Give what may be changed, each with its key; empty: any of its keys may be."""
    for node in nodes_of(tree):
        if isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
            yield node.value, text_of(node.slice) or ""
        elif isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
            if last_name(node.value) != "self":
                yield node.value, node.attr
        elif isinstance(node, ast.Call) and _CHANGES.search(called(node)):
            yield from _changed_by(node)


def is_of_omega(call: ast.Call, *names: str) -> bool:
    """Whether it is `OmegaConf.merge(…)`, or another one of these."""
    return called(call) in names and last_name(getattr(call.func, "value", None)) == "OmegaConf"


def _changed_by(call: ast.Call) -> Iterator[tuple[ast.expr, str]]:
    if is_of_omega(call, *MERGES):
        return  # which gives a new one
    is_of_one = called(call) in _OF_ONE_KEY
    texts = [*filter(None, map(text_of, call.args))] if is_of_one else []
    key = texts[0] if texts else ""
    if isinstance(call.func, ast.Attribute):
        yield call.func.value, key
    yield from ((one, key) for one in call.args)
    yield from ((one.value, "") for one in call.keywords)
