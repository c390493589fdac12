"""Finds loops that take batches apart, and which function of the sources makes their loader."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from preflight.sources.flaws.bodies import Body, bodies, is_try
from preflight.sources.flaws.facts import BatchLoop
from preflight.sources.flaws.made_by import PASS_ON, Names, made_by, placed, values_of
from preflight.sources.flaws.tuples import imports_in
from preflight.syntax.running import last_name

# Exceptions by which a loop copes with a batch of another form.
_COPES = frozenset({"TypeError", "ValueError", "KeyError", "IndexError", "Exception", ""})

_SIGNS = re.compile(
    rb"\bfor\b[^\n]*,[^\n]*\bin\b|\bnext\(|^[ \t]*\(?\w+,[^\n=]*=[ \t]*\w+[ \t]*$", re.MULTILINE
)


def may_loop(content: bytes) -> bool:
    """Whether the text of a file may hold such a loop."""
    return _SIGNS.search(content) is not None


def batch_loops(tree: ast.Module, file: str) -> Iterator[BatchLoop]:
    """Give the loops of one file."""
    every = bodies(tree)
    calls: dict[str, list[tuple[ast.Call, Body]]] = {}
    for body in every:
        for node in body.nodes:
            if isinstance(node, ast.Call):
                calls.setdefault(last_name(node.func), []).append((node, body))
    own = frozenset(body.name.partition(".")[0] for body in every if body.name)
    known = Names(values_of(every[0]), own, imports_in(tree, file), every, calls)
    for body in every:
        for taken in _taken(body):
            place = placed(known, body)
            for made in dict.fromkeys(made_by(taken.over, place, 0)):
                name, _, inner = known.imports.get(made.maker, "").partition(":")
                yield BatchLoop(
                    file=file,
                    line=taken.line,
                    takes=_written(taken.target),
                    maker=inner or made.maker.rpartition(".")[2],
                    module=name or known.imports.get(made.maker.rpartition(".")[0], ""),
                    pick=made.pick,
                    given=made.given,
                    is_sure=taken.is_sure,
                    asks=taken.asks,
                )


def _written(target: ast.expr) -> str:
    text = ast.unparse(target)
    return text[1:-1] if isinstance(target, ast.Tuple) and text.startswith("(") else text


# --- loops ----------------------------------------------------------------------------------------


class _Taken(NamedTuple):
    line: int
    target: ast.expr
    over: ast.expr
    is_sure: bool
    asks: bool


def _taken(body: Body) -> Iterator[_Taken]:
    """Give what a function takes apart, and what it goes over to get it."""
    under = _under(body)
    for node in body.nodes:
        if isinstance(node, (ast.For, ast.AsyncFor)) and id(node) not in under.coped:
            target, over = _bare(node.target, node.iter)
            is_sure = id(node) not in under.tested
            if isinstance(target, ast.Name):
                yield from _of_body(node, target, over, is_sure=is_sure)
            elif isinstance(target, (ast.Tuple, ast.List)):
                yield _Taken(node.lineno, target, over, is_sure, asks=False)
        elif isinstance(node, ast.Assign) and id(node) not in under.coped:
            drawn = _drawn(node.value)
            if drawn is not None and isinstance(node.targets[0], (ast.Tuple, ast.List)):
                is_sure = id(node) not in under.tested
                yield _Taken(node.lineno, node.targets[0], drawn, is_sure, asks=False)


def _bare(target: ast.expr, over: ast.expr) -> tuple[ast.expr, ast.expr]:
    """Take `enumerate` and its number away."""
    if isinstance(over, ast.Call) and last_name(over.func) in PASS_ON and over.args:
        inner, inner_over = _bare(target, over.args[0])
        return (inner, inner_over) if inner is not target else (target, over)
    if isinstance(over, ast.Call) and last_name(over.func) == "enumerate" and over.args:
        if isinstance(target, ast.Tuple) and len(target.elts) == 2:
            return target.elts[1], over.args[0]
        return ast.Constant(None), over
    return target, over


def _drawn(value: ast.expr) -> ast.expr | None:
    """Give what `next(iter(loader))` draws from."""
    if isinstance(value, ast.Call) and last_name(value.func) == "next" and len(value.args) == 1:
        inner = value.args[0]
        if isinstance(inner, ast.Call) and last_name(inner.func) == "iter" and inner.args:
            return inner.args[0]
    return None


def _of_body(
    node: ast.For | ast.AsyncFor, name: ast.Name, over: ast.expr, *, is_sure: bool
) -> Iterator[_Taken]:
    """Give what the first lines of a loop do with the batch, as long as they leave its name."""
    for statement in node.body:
        asks = not isinstance(statement, (ast.Assign, ast.Expr))
        if asks and any(
            isinstance(one, ast.Name) and one.id == name.id for one in ast.walk(statement)
        ):
            yield _Taken(node.lineno, name, over, is_sure, asks=True)
            return
        if not isinstance(statement, ast.Assign):
            continue
        target, value = statement.targets[0], statement.value
        is_it = isinstance(value, ast.Name) and value.id == name.id
        if is_it and isinstance(target, (ast.Tuple, ast.List)):
            yield _Taken(statement.lineno, target, over, is_sure, asks=False)
        targets = (one for each in statement.targets for one in ast.walk(each))
        if any(isinstance(one, ast.Name) and one.id == name.id for one in targets):
            return


class _Under(NamedTuple):
    tested: set[int]
    coped: set[int]
    """Under a handler for what a batch of another form raises."""


def _under(body: Body) -> _Under:
    found = _Under(set(), set())
    for node in body.nodes:
        inner: list[ast.AST] = []
        into = found.tested
        if isinstance(node, ast.If) and "__main__" not in ast.dump(node.test):
            inner = [*node.body, *node.orelse]
        elif is_try(node) and _copes(node):
            inner, into = [*node.body], found.coped  # type: ignore[attr-defined]
        into.update(id(one) for each in inner for one in ast.walk(each))
    return found


def _copes(node: ast.AST) -> bool:
    for handler in node.handlers:  # type: ignore[attr-defined]
        kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
        if any(one is None or last_name(one) in _COPES for one in kinds):
            return True
    return False
