"""Reads the pipeline that a data set of the user's own makes while it is gone over, off its code.

Attributes of the data set stand for what they are; nothing of it is run.
"""

from __future__ import annotations

import ast
import types
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from preflight.objects.attributes import classes, own_attributes
from preflight.objects.source_trees import function_tree, names_used
from preflight.pipelines.facts import Reads, Stage
from preflight.pipelines.names.meanings import ROOTS
from preflight.pipelines.written import written_pipelines
from preflight.syntax.running import last_name
from preflight.values.names import name_of
from preflight.values.this_process import full_path

_UNKNOWN = "of_which_nobody_knows"
_PLAIN = (str, int, bool)

# Of a longer list nobody writes the code: places of samples, by the million.
_LONGEST = 100_000


def made_inside(dataset: object, root: str) -> Reads | None:
    """Give what is written of the one pipeline that it makes; None where it makes none."""
    if not issubclass(type(dataset), classes("torch.utils.data", "IterableDataset")):
        return None
    making = [one for one in _functions(dataset) if names_used(one.__code__) & ROOTS]
    found: dict[str, Reads] = {}
    for function in making:
        for one in _written(function, dataset, root):
            before = found.get(one.name)
            if before is None or len(before.stages) < len(one.stages):
                found[one.name] = one
    name = f"{type(dataset).__name__}.__iter__"
    rest = Stage(kind="other", handler="unknown", handler_name=name)
    if len(found) == 1:
        (reads,) = found.values()
        shards = () if reads.by_pattern else reads.shards
        return replace(reads, shards=shards, by_pattern=False, stages=(*reads.stages, rest))
    return Reads(name=name, stages=(rest,)) if making else None


def _functions(dataset: object) -> Iterator[types.FunctionType]:
    """Give the methods of its class, and the functions of its file that they name."""
    seen: dict[str, types.FunctionType] = {}
    for kind in type(dataset).__mro__:
        for name, one in vars(kind).items():
            if isinstance(one, types.FunctionType) and name != "__init__":
                seen.setdefault(f"self.{name}", one)
    for method in list(seen.values()):
        for name in names_used(method.__code__):
            one = method.__globals__.get(name)
            if type(one) is types.FunctionType and one.__globals__ is method.__globals__:
                seen.setdefault(name, one)
    yield from seen.values()


def _written(function: types.FunctionType, dataset: object, root: str) -> Iterator[Reads]:
    """Give the pipelines that a function writes out, a name put in its place at a time."""
    tree = function_tree(function)
    if tree is None:
        return
    (body,) = tree.body
    around = {
        name: function.__globals__.get(name)
        for name in function.__code__.co_names
        if name not in function.__code__.co_varnames
    }
    known = _Known(own_attributes(dataset), around)
    statements = body.body if isinstance(body, ast.FunctionDef) else []
    inlined = ast.Module(body=[known.visit(one) for one in statements], type_ignores=[])
    file = name_of(full_path(function.__code__.co_filename), root)
    yield from written_pipelines(inlined, file)


class _Known(ast.NodeTransformer):
    """Puts what is known of names in their place: attributes, constants, pipelines begun before."""

    def __init__(self, own: Mapping[str, Any], around: Mapping[str, Any]) -> None:
        self._own = own
        self._around = around
        self._begun: dict[str, ast.expr] = {}

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        """Take an attribute of the data set for its value."""
        if isinstance(node.value, ast.Name) and node.value.id == "self":
            return _literal(self._own.get(node.attr), node)
        self.generic_visit(node)
        return node

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """Take a name for what it was given before, or for a constant of its file."""
        if not isinstance(node.ctx, ast.Load):
            return node
        return self._begun.get(node.id) or _literal(self._around.get(node.id), node)

    def visit_Assign(self, node: ast.Assign) -> ast.stmt:
        """Keep what a name is given."""
        self.generic_visit(node)
        is_plain = isinstance(node.value, (ast.Constant, ast.List, ast.Tuple))
        for one in node.targets:
            if isinstance(one, ast.Name):
                self._begun.pop(one.id, None)
                if is_plain or _begins(node.value):
                    self._begun[one.id] = node.value
        return node

    def visit_If(self, node: ast.If) -> ast.stmt:
        """Take for not known what is given in one case only."""
        return self._perhaps(node)

    def visit_For(self, node: ast.For) -> ast.stmt:
        """Take for not known what is given again and again."""
        return self._perhaps(node)

    def _perhaps(self, node: ast.stmt) -> ast.stmt:
        """Take for not known what becomes of a pipeline here."""
        before = dict(self._begun)
        self.generic_visit(node)
        for name, value in self._begun.items():
            if before.get(name) is not value and _begins(value):
                more = ast.Attribute(value=value, attr=_UNKNOWN, ctx=ast.Load())
                call = ast.Call(func=more, args=[], keywords=[])
                self._begun[name] = ast.fix_missing_locations(ast.copy_location(call, value))
        return node


def _begins(node: ast.expr) -> bool:
    """Whether it is a chain of calls that begins with the class of a pipeline."""
    while isinstance(node, ast.Call):
        if last_name(node.func) in ROOTS:
            return True
        node = node.func.value if isinstance(node.func, ast.Attribute) else node.func
    return False


def _literal(value: object, node: ast.expr) -> ast.expr:
    if isinstance(value, (list, tuple)):
        is_plain = type(value) in (list, tuple) and len(value) <= _LONGEST
        if not (is_plain and all(type(one) in _PLAIN for one in value)):
            return node
    elif type(value) not in _PLAIN:
        return node
    return ast.copy_location(ast.parse(repr(value), mode="eval").body, node)
