"""Finds statements that leave a `finally`, and so drop what was on its way out."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from preflight.sources.flaws.facts import Jump, Spot
from preflight.sources.flaws.raising import Caught, caught_by
from preflight.syntax.bodies import TRIES, Body, own, text_at
from preflight.syntax.parsing import Parsed, code_of


def jumps(body: Body, parsed: Parsed, file: str) -> Iterator[Jump]:
    """Give what leaves each `finally` of a function, where something is lost by it."""
    for node in body.nodes:
        if not isinstance(node, TRIES):
            continue
        leaving = [*_leaving(node.finalbody)]
        if not leaving:
            continue
        leaves, _ = leaving[0]
        lost = _swallowed(node)
        returns = _dropped_return(node, leaves)
        if lost or returns is not None:
            yield Jump(
                file=file,
                line=leaves.lineno,
                text=text_at(parsed.lines, leaves.lineno),
                inside=body.name,
                code=code_of(leaves, parsed.lines),
                returns=Spot(returns.lineno, code_of(returns, parsed.lines)) if returns else None,
                swallows=lost,
                is_sure=any(is_sure for _, is_sure in leaving),
            )


def _leaving(body: Sequence[ast.stmt]) -> Iterator[tuple[ast.stmt, bool]]:
    """Give the statements that leave these, and whether each is come to whatever a test says.

    `break` in a loop of their own leaves only that.
    """
    stack: list[tuple[ast.AST, bool, bool]] = [(one, False, True) for one in reversed(body)]
    while stack:
        node, in_loop, is_sure = stack.pop()
        if isinstance(node, ast.Return) or (
            isinstance(node, (ast.Break, ast.Continue)) and not in_loop
        ):
            yield node, is_sure
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.expr)):
            continue
        is_loop = isinstance(node, (ast.For, ast.AsyncFor, ast.While))
        is_sure = is_sure and isinstance(node, (ast.With, ast.AsyncWith))
        for one in reversed(list(ast.iter_child_nodes(node))):
            is_inner = is_loop and one in node.body  # type: ignore[attr-defined]
            stack.append((one, in_loop or is_inner, is_sure))


def _swallowed(node: ast.Try) -> str:
    if all(map(_only_names, (*node.body, *node.handlers, *node.orelse))):
        return ""
    caught = [caught_by(one) for one in node.handlers]
    raised = any(isinstance(one, ast.Raise) for one in own([*node.handlers, *node.orelse]))
    if raised or not caught:
        return "all"
    names = Caught(frozenset().union(*(one.names for one in caught)))
    if names.names & {"*", "BaseException"}:
        return ""
    return "exits" if names.is_broad else "others"


def _only_names(node: ast.AST) -> bool:
    """Whether it does nothing but give names plain values, at which nothing can raise."""
    if isinstance(node, ast.Assign):
        return isinstance(node.value, ast.Constant) and all(
            isinstance(one, ast.Name) for one in node.targets
        )
    return isinstance(node, (ast.Pass, ast.Return)) and isinstance(
        getattr(node, "value", None), (ast.Constant, type(None))
    )


def _dropped_return(node: ast.Try, leaves: ast.stmt) -> ast.Return | None:
    """Give the first `return` of a value that another value takes the place of."""
    given = (leaves.value or ast.Constant(None)) if isinstance(leaves, ast.Return) else None
    for one in own([*node.body, *node.handlers, *node.orelse]):
        if not isinstance(one, ast.Return) or one.value is None:
            continue
        if given is None or ast.dump(one.value) != ast.dump(given):
            return one
    return None
