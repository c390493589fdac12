"""Functions with what runs in them, and the names that pieces of code read and give values to."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple, TypeAlias

from preflight.syntax.parsing import children
from preflight.syntax.running import FUNCTIONS, last_name

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef

DEFINITIONS = (*FUNCTIONS, ast.ClassDef)
TRIES = (ast.Try, getattr(ast, "TryStar", ast.Try))
"""A `try`; one with `except*` is of a type that Python 3.10 lacks."""

COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)

# Half of all nodes are of these, and there is nothing below them.
_LEAVES = frozenset({ast.Name, ast.Constant, ast.alias, ast.Global, ast.Nonlocal})
ENDS = _LEAVES | {*DEFINITIONS, ast.Lambda}

_BINDING = (
    *(ast.Import, ast.ImportFrom, *DEFINITIONS),
    *(ast.ExceptHandler, ast.MatchAs, ast.MatchStar, ast.MatchMapping),
)


class Body(NamedTuple):
    """What runs when a function is called, or when a file is."""

    node: Function | ast.Module
    name: str
    """With what holds it: `Cache.write`; empty of a file."""

    owner: str
    """The class whose method it is, as it is named here."""

    nodes: tuple[ast.AST, ...]
    """All that is in it, in order, without the bodies of functions and classes in it."""


def bodies(tree: ast.Module) -> list[Body]:
    """Give a file's own body and every function in it, in the order of the text."""
    found: list[Body] = []
    stack: list[tuple[Function | ast.ClassDef | ast.Module, str, str]] = [(tree, "", "")]
    while stack:
        holder, name, owner = stack.pop()
        nodes = tuple(own(holder.body))
        if not isinstance(holder, ast.ClassDef):
            found.append(Body(holder, name, owner, nodes))
        inner = name if isinstance(holder, ast.ClassDef) else ""
        stack.extend(
            (one, f"{name}.{one.name}" if name else one.name, inner)
            for one in reversed(nodes)
            if isinstance(one, DEFINITIONS)
        )
    return found


def own(nodes: Sequence[ast.AST], but: AbstractSet[type] = ENDS) -> Iterator[ast.AST]:
    """Give these and all below them in order, without the bodies of functions and classes."""
    stack = list(reversed(nodes))
    while stack:
        node = stack.pop()
        yield node
        if type(node) not in but:
            stack.extend(reversed(children(node)))


def caught_in(handler: ast.ExceptHandler) -> list[str]:
    """Give the last words of the classes that a handler catches; empty where it names none."""
    kind = handler.type
    return [last_name(one) for one in (kind.elts if isinstance(kind, ast.Tuple) else [kind])]


def parts(node: ast.AST) -> Iterator[ast.AST]:
    """Give what stands directly in a statement, in the order of the text."""
    if isinstance(node, TRIES):
        for field in ("body", "handlers", "orelse", "finalbody"):
            yield from getattr(node, field)
    else:
        yield from children(node)


def stored(nodes: Iterable[ast.AST]) -> set[str]:
    """Give the names that these give a value to."""
    names: set[str] = set()
    stack = list(nodes)
    while stack:
        node = stack.pop()
        if type(node) in _LEAVES:
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                names.add(node.id)
            continue
        if isinstance(node, COMPREHENSIONS):  # only `:=` gives a name that stays
            inner = (one.target for one in ast.walk(node) if isinstance(one, ast.NamedExpr))
            names.update(one.id for one in inner)
            continue
        if isinstance(node, _BINDING):
            names.update(_given_by(node))
        if type(node) not in ENDS:
            stack += children(node)
    return names


def _given_by(node: ast.AST) -> Iterator[str]:
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        yield from ((one.asname or one.name).partition(".")[0] for one in node.names)
    elif isinstance(node, DEFINITIONS):
        yield node.name
    elif isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)):
        yield from [node.name] if node.name else []
    elif isinstance(node, ast.MatchMapping) and node.rest:
        yield node.rest


def loads(nodes: Iterable[ast.AST]) -> Iterator[ast.Name]:
    """Give the names that these read, or delete, when they run; those of comprehensions are not."""
    every = list(own(list(nodes)))
    targets = [one.target for one in every if isinstance(one, ast.comprehension)]
    hidden = {
        name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)
    }
    for node in every:
        is_read = isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Store)
        if is_read and node.id not in hidden:  # type: ignore[attr-defined]
            yield node  # type: ignore[misc]


def parameters(body: Body) -> set[str]:
    """Give the names of a function's parameters."""
    if isinstance(body.node, ast.Module):
        return set()
    own = body.node.args
    every = (*own.posonlyargs, *own.args, own.vararg, *own.kwonlyargs, own.kwarg)
    return {one.arg for one in every if one is not None}


def text_at(lines: Sequence[str], line: int) -> str:
    """Give the text of a line, counted from 1."""
    return lines[line - 1].strip() if 0 < line <= len(lines) else ""
