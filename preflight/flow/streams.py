"""Says where a stream of the user's own drops a sample with an error, and goes on with the next."""

from __future__ import annotations

import ast
import inspect
import types
from collections.abc import Iterator
from typing import NamedTuple

from preflight.objects.attributes import classes
from preflight.objects.source_trees import function_tree
from preflight.syntax.bodies import ENDS, caught_in, own
from preflight.syntax.parsing import children

# Who catches less than that names what is to be left out: a filter, and no error that is swallowed.
_BROAD = frozenset({"", "Exception", "BaseException", "OSError", "IOError", "EnvironmentError"})

# What lies in another loop leads to the next round of that one.
_OF_ITS_OWN = ENDS | {ast.For, ast.AsyncFor, ast.While}


class Drop(NamedTuple):
    """Lines of which an error is caught, and takes the sample of this round of a loop with it."""

    first: int
    last: int
    but: tuple[str, ...] = ()
    """Classes of errors that an except clause before catches."""


def stream_of(dataset: object) -> types.FunctionType | None:
    """Give the method of an iterable data set that drops samples so; None where there is none."""
    if not isinstance(dataset, classes("torch.utils.data", "IterableDataset")):
        return None
    methods: dict[str, types.FunctionType] = {}
    for kind in type(dataset).__mro__:
        for name, method in vars(kind).items():
            if type(method) is types.FunctionType:
                methods.setdefault(name, method)
    own = methods.get("__iter__")
    if own is not None and drops_of(own):
        return own
    found = [one for one in methods.values() if drops_of(one)]
    return found[0] if len(found) == 1 else None


def drops_of(function: types.FunctionType) -> tuple[Drop, ...]:
    """Give the places of a generator, by the lines of its file; none where it cannot be read."""
    tree = function_tree(function) if inspect.isgeneratorfunction(function) else None
    body = tree.body[0] if tree is not None and tree.body else ast.Pass()
    loops = [one for one in own(children(body)) if isinstance(one, ast.For)]
    return tuple(
        Drop(one.body[0].lineno, one.body[-1].end_lineno or 0, but)
        for loop in loops
        for one in own(children(loop), _OF_ITS_OWN)
        if isinstance(one, ast.Try)
        for but in _broadly(one, loop)
    )


def _broadly(node: ast.Try, loop: ast.For) -> Iterator[tuple[str, ...]]:
    """Give the classes that are caught before a clause that drops anything; nothing where none."""
    tried = [*node.body, *node.orelse]
    inside = [*tried, *own([part for one in tried for part in children(one)], _OF_ITS_OWN)]
    if any(isinstance(one, (ast.Break, ast.Return)) for one in inside):
        return  # it tries again what it did not get
    before: list[str] = []
    for one in node.handlers:
        names = caught_in(one)
        if _BROAD.isdisjoint(names):
            before += names
        elif _goes_on(one, node, loop):
            yield tuple(before)
            return
        else:
            return


def _goes_on(handler: ast.ExceptHandler, node: ast.Try, loop: ast.For) -> bool:
    """Whether nothing is given behind a clause before the next round of the loop begins."""
    yields = [one for one in own(children(loop)) if isinstance(one, (ast.Yield, ast.YieldFrom))]
    inner = {id(part) for one in (*node.body, *node.orelse) for part in ast.walk(one)}
    mine = {id(part) for part in ast.walk(handler)}
    if not yields or any(id(one) in mine for one in yields):
        return False
    last = handler.body[-1]
    if isinstance(last, ast.Continue):
        return True
    leaves = isinstance(last, (ast.Raise, ast.Return, ast.Break))
    return not leaves and all(id(one) in inner for one in yields)
