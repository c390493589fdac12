"""Says of calls of the job's own functions and classes what they can mean, and what they give."""

from __future__ import annotations

import ast
from typing import TypeGuard

from preflight.syntax.given_values import defaults
from preflight.syntax.parsing import everything_in
from preflight.syntax.running import FUNCTIONS, last_name
from preflight.syntax.surroundings import called

BEGINS_ANEW = "class"
"""How a class names another one of which it never calls the `__init__`."""


def is_of_hydra(node: ast.expr) -> TypeGuard[ast.Call]:
    """Whether it is `hydra.main(config_name=…)`, which hands over what files of settings say."""
    return (
        isinstance(node, ast.Call)
        and called(node) == "main"
        and "config_name" in {one.arg for one in node.keywords}
    )


def may_be_called(
    own: ast.FunctionDef | ast.AsyncFunctionDef, call: ast.Call, *, is_bound: bool
) -> bool:
    """Whether a call gives a function what it cannot do without."""
    if any(one.arg is None for one in call.keywords) or any(
        isinstance(one, ast.Starred) for one in call.args
    ):
        return True
    needs = [name for name, default in [*defaults(own.args)][is_bound:] if default is None]
    return len(needs) <= len(call.args) + len(call.keywords)


def by_class(node: ast.AST) -> str:
    """Say how a class names what it comes from, of which some do not call the `__init__`."""
    if not isinstance(node, ast.ClassDef):
        return ""
    own = any(isinstance(one, FUNCTIONS) and one.name == "__init__" for one in node.body)
    calls = any(last_name(one) in ("super", "__init__") for one in everything_in(node))
    return BEGINS_ANEW if own and not calls else ""


def made_with(call: ast.Call, place: int, name: str) -> ast.expr | None:
    """Give what a call gives a field of a class, in its place or by its name."""
    words = {one.arg: one.value for one in call.keywords}
    if list(words) == [None] and len(call.keywords) == 1 and not call.args:
        return ast.Subscript(call.keywords[0].value, ast.Constant(name), ast.Load())
    if None in words or any(isinstance(one, ast.Starred) for one in call.args):
        return ast.Constant(None)
    return words.get(name, call.args[place] if 0 <= place < len(call.args) else None)
