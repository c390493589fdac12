"""Says which folders a source puts on the path on which Python looks for modules."""

from __future__ import annotations

import ast
import copy
import os
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

from preflight.syntax.full_names import imported
from preflight.syntax.imports.modules import MOST_MODULES
from preflight.syntax.running import last_name
from preflight.syntax.scopes import Module
from preflight.syntax.surroundings import called
from preflight.syntax.written_texts import WrittenTexts

# What adds to sys.path, and which argument says where.
_ADDS = {"insert": 1, "append": 0}

# Nodes of an expression: a larger one is no path of anybody's.
_LARGEST = 200

_SEVERAL = (ast.List, ast.Tuple)
_MADE_OF_OTHERS = (ast.ListComp, ast.GeneratorExp)


def added_to_path(module: Module, home: str) -> Iterator[str]:
    """Give the folders that a source adds to sys.path, where they are written out and there."""
    return (one for one in _written_out(module, home) if os.path.isdir(one))


@lru_cache(maxsize=2 * MOST_MODULES)
def _written_out(module: Module, home: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(_places(module, home)))


def _places(module: Module, home: str) -> Iterator[str]:
    text = "\n".join(module.parsed.lines)
    if "addsitedir" not in text and not ("sys" in text and "path" in text):
        return
    nodes = [*ast.walk(module.parsed.tree)]
    names = imported(nodes)
    of_sys = {"sys", *(name for name, full in names.items() if full == "sys")}
    paths = {name for name, full in names.items() if full == "sys.path"}
    loops = {name: each for one in nodes for name, each in _loops(one, module)}
    added = (one for node in nodes for one in _adds(node, of_sys, paths))
    texts = texts_in(module, home)
    for one in (each for expression in added for each in _spelled_out(expression, loops)):
        path = texts.only(one)
        for folder in (home, os.path.dirname(module.path)) if path is not None else ():
            full = os.path.normpath(os.path.join(folder, path or "\0"))
            if "site-packages" not in full:
                yield full


def texts_in(module: Module, cwd: str) -> WrittenTexts:
    """Give what the expressions of a module come to, its paths as the code has them."""
    values = {name: [one] for name, one in module.names.values.items() if one is not None}
    return WrittenTexts(values, file=os.path.abspath(module.path), cwd=cwd)


def _adds(node: ast.AST, of_sys: set[str], paths: set[str]) -> Iterator[ast.expr]:
    """Give what a node adds: `sys.path.append(x)`, `sys.path += [x]`, `sys.path[:0] = [x]`."""
    if isinstance(node, ast.Call):
        name, holder = called(node), getattr(node.func, "value", node)
        of_path = _is_path(holder, of_sys, paths)
        if of_path and name in _ADDS:
            yield from node.args[_ADDS[name] :][:1]
        elif name == "addsitedir":
            yield from node.args[:1]
        if not (of_path and name == "extend"):
            return
    elif not isinstance(node, (ast.Assign, ast.AugAssign)):
        return
    else:
        target = node.targets[0] if isinstance(node, ast.Assign) else node.target
        target = target.value if isinstance(target, ast.Subscript) else target
        if not _is_path(target, of_sys, paths):
            return
    for one in ast.walk(node):
        yield from one.elts if isinstance(one, _SEVERAL) else ()
        if isinstance(one, _MADE_OF_OTHERS):
            yield one.elt


def _is_path(node: ast.AST, of_sys: set[str], paths: set[str]) -> bool:
    if isinstance(node, ast.Attribute):
        return node.attr == "path" and last_name(node.value) in of_sys
    return isinstance(node, ast.Name) and node.id in paths


def _loops(node: ast.AST, module: Module) -> Iterator[tuple[str, Sequence[ast.expr]]]:
    """Give the name that a loop gives to each of a list, and the list, where it is written out."""
    if isinstance(node, (ast.For, ast.comprehension)) and isinstance(node.target, ast.Name):
        each: ast.expr | None = node.iter
        if isinstance(each, ast.Name):
            each = module.names.values.get(each.id)
        if isinstance(each, _SEVERAL):
            yield node.target.id, each.elts


def _spelled_out(node: ast.expr, loops: Mapping[str, Sequence[ast.expr]]) -> Iterator[ast.expr]:
    """Give an expression for each round of the loop whose name stands in it."""
    nodes = [*ast.walk(node)]
    names = {one.id for one in nodes if isinstance(one, ast.Name)}
    name = next((one for one in loops if one in names), None)
    if name is None or len(nodes) > _LARGEST:
        yield node
        return
    for one in loops[name]:
        yield _Instead(name, one).visit(copy.deepcopy(node))


class _Instead(ast.NodeTransformer):
    """Puts an expression in the place of a name."""

    def __init__(self, name: str, value: ast.expr) -> None:
        self.name, self.value = name, value

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """Replace the name."""
        return self.value if node.id == self.name else node
