"""Says of one of the user's functions how it is built: what calling it runs, and what it calls."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from preflight.syntax.running import Ran, expressions, running
from preflight.syntax.scopes import Function, Own


def statements_of(own: Own) -> Iterator[Ran]:
    """Give the statements that run when a function is called."""
    if isinstance(own.node, ast.Lambda):
        returned = ast.copy_location(ast.Return(value=own.node.body), own.node.body)
        yield Ran(returned, returned, in_loop=False)
    elif isinstance(own.node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        yield from running(own.node.body)


def is_generator(own: Own) -> bool:
    """Whether calling it only makes a generator."""
    if not isinstance(own.node, ast.FunctionDef):
        return False
    return any(
        isinstance(node, (ast.Yield, ast.YieldFrom))
        for ran in running(own.node.body)
        for node in expressions(ran.node)
    )


def called_parameters(own: Own) -> frozenset[int | str]:
    """Give the parameters that a function calls itself, by place and by name."""
    if not isinstance(own.node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return frozenset()
    arguments = own.node.args
    order = [one.arg for one in (*arguments.posonlyargs, *arguments.args)]
    if order and order[0] in {"self", "cls"}:
        order = order[1:]
    every = {*order, *(one.arg for one in arguments.kwonlyargs)}
    names = {
        node.func.id
        for ran in running(own.node.body)
        for node in expressions(ran.node)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    return frozenset((names & every) | {order.index(name) for name in names if name in order})


def takes_mode(own: Own) -> bool:
    """Whether it is a `train(self, mode=True)`, which sets a flag."""
    if not isinstance(own.node, Function):
        return False
    return any(one.arg == "mode" for one in own.node.args.args)


def only_returns(own: Own) -> bool:
    """Whether a function does nothing but make what it gives."""
    body = getattr(own.node, "body", None)
    if not isinstance(body, list):
        return True
    documented = isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant)
    return len(body) == 1 + documented and isinstance(body[-1], ast.Return)
