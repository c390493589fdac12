"""Tells a class that goes over a loader which it keeps from one that only hands it out."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from types import CodeType, FunctionType

from preflight.objects.source_trees import names_used
from preflight.objects.where import functions_at
from preflight.syntax.running import last_name

# What is given a loader, and takes no batch of it.
_LOOK = frozenset({"len", "isinstance", "hasattr", "getattr", "type", "id", "str", "repr", "print"})


@functools.cache
def goes_over(kind: type, attribute: str) -> bool:
    """Whether it gives what it takes from what it keeps by this name, as far as is written."""
    if hasattr(kind, "__next__"):
        return True
    nodes = [node for code in _codes(kind) for node in functions_at(code)]
    parts = (part for node in nodes for one in ast.walk(node) for part in _taken_from(one))
    return not nodes or any(
        isinstance(one, ast.Attribute) and one.attr == attribute for one in parts
    )


def _codes(kind: type) -> Iterator[CodeType]:
    """Give the code of `__iter__`, and of the methods that it calls."""
    methods: dict[str, list[FunctionType]] = {}
    for base in kind.__mro__:
        for name, one in vars(base).items():
            if isinstance(one, FunctionType):
                methods.setdefault(name, []).append(one)
    names, seen = ["__iter__"], set[str]()
    while names:
        name = names.pop()
        for one in methods.get(name, []) if name not in seen else []:
            yield one.__code__
            names += names_used(one.__code__)
        seen.add(name)


def _taken_from(node: ast.AST) -> Iterator[ast.AST | None]:
    """Give what a piece of code goes over, or hands on to what may."""
    if isinstance(node, (ast.For, ast.AsyncFor, ast.comprehension)):
        yield node.iter
    elif isinstance(node, (ast.YieldFrom, ast.Assign, ast.NamedExpr, ast.Attribute)):
        is_other = isinstance(node, ast.Attribute) and node.attr != "__iter__"
        yield None if is_other else node.value
    elif isinstance(node, ast.Call) and last_name(node.func) not in _LOOK:
        yield from node.args
        yield from (one.value for one in node.keywords)
