"""Says which function or variable of the sources gives the value of an expression.

Narrow: a name that is given two values, or whose value comes from elsewhere, is passed over.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from preflight.sources.batch_loops.passed_items import (
    PASS_ON,
    PassedItems,
    only,
    values_of,
    written,
)
from preflight.sources.flaws.tuples import imports_in
from preflight.syntax.bodies import Body, parameters
from preflight.syntax.running import last_name

# How far a value is followed from name to name.
_MOST_HOPS = 6


class Made(NamedTuple):
    """What gives a loader."""

    maker: str
    pick: str = ""
    given: str | None = None
    waits: tuple[str | int, ...] = ()
    """Where it is what a function is handed: the name and the place of that parameter."""


class FileNames(NamedTuple):
    """What the names of a file stand for."""

    tops: Mapping[str, list[ast.expr]]
    """What the names of the file itself are given."""

    own: frozenset[str]
    """Its functions and classes."""

    imports: Mapping[str, str]
    bodies: Sequence[Body]
    items: PassedItems

    def home(self, name: str) -> tuple[str, str]:
        """Give the module from which a name is imported, empty for its own, and its name there."""
        is_own = name in self.own
        module, _, inner = ("" if is_own else self.imports.get(name, "")).partition(":")
        holder, _, last = name.rpartition(".")
        if holder in self.imports:
            return self.imports[holder].replace(":", "/").replace("//", "/"), last
        return module, inner or name


def names_in(every: Sequence[Body], file: str) -> FileNames:
    """Say what the names of a file stand for."""
    own = frozenset(body.name.partition(".")[0] for body in every if body.name)
    return FileNames(values_of(every[0]), own, imports_in(every, file), every, PassedItems(every))


class ExpressionPlace(NamedTuple):
    """Where an expression stands."""

    file: FileNames
    body: Body
    values: Mapping[str, list[ast.expr]]
    hidden: frozenset[str]
    """The function's parameters."""


def placed(file: FileNames, body: Body) -> ExpressionPlace:
    """Say where the expressions of a function stand."""
    values = {} if isinstance(body.node, ast.Module) else file.items.given(body)
    return ExpressionPlace(file, body, values, frozenset(parameters(body)))


def made_by(node: ast.expr, place: ExpressionPlace, hops: int) -> Iterator[Made]:
    """Say what makes the value of an expression."""
    if hops > _MOST_HOPS:
        return
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        for one in made_by(node.value, place, hops + 1):
            yield one._replace(pick=f"{one.pick}[{node.slice.value!r}]")
    elif isinstance(node, ast.Call) and place.file.items.generator(node, place.body) is not None:
        yield from _called(node, place)
        for over, body in place.file.items.whole(node, place.body):
            yield from made_by(over, placed(place.file, body), hops + 1)
    elif isinstance(node, ast.Call) and last_name(node.func) in PASS_ON and node.args:
        yield from made_by(node.args[0], place, hops + 1)
    elif isinstance(node, ast.Call):
        yield from _called(node, place)
    elif isinstance(node, ast.Attribute) and written(node).startswith("self."):
        yield from _of_attribute(node, place, hops)
    elif isinstance(node, ast.Name):
        yield from _of_name(node, place, hops)


def _called(node: ast.Call, place: ExpressionPlace) -> Iterator[Made]:
    name = written(node.func)
    first = name.partition(".")[0]
    if not isinstance(node.func, ast.Name) and first not in place.file.imports:
        return
    is_known = first in place.file.own or first in place.file.imports
    if is_known and first not in place.values and first not in place.hidden:
        words = [*map(written, node.args), *map(ast.unparse, node.keywords)]
        yield Made(name, given=", ".join(words))


def _is_name(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _of_name(node: ast.Name, place: ExpressionPlace, hops: int) -> Iterator[Made]:
    name = node.id
    values = only(one for one in place.values.get(name, ()) if not _is_name(one, name))
    if name in place.hidden:
        if not values:
            yield from _handed(name, place)
    elif name in place.values:
        if len(values) == 1:
            yield from made_by(values[0], place, hops + 1)
    elif name in place.file.imports:
        yield Made(name)
    elif name in place.file.tops:
        values = only(one for one in place.file.tops[name] if not _is_name(one, name))
        if len(values) == 1:
            yield Made(name)
            top = place._replace(values={}, hidden=frozenset())
            yield from made_by(values[0], top, hops + 1)


def _of_attribute(node: ast.Attribute, place: ExpressionPlace, hops: int) -> Iterator[Made]:
    """Follow `self.loader` to the one place of its class that gives it a value."""
    name = written(node)
    owner = place.body.owner
    holders = [one for one in place.file.bodies if owner and one.owner == owner]
    given = [(value, one) for one in holders for value in place.file.items.given(one).get(name, ())]
    if len(given) == 1:
        yield from made_by(given[0][0], placed(place.file, given[0][1]), hops + 1)


def _handed(name: str, place: ExpressionPlace) -> Iterator[Made]:
    """Leave it to who calls the function, here or in another file, what a parameter is."""
    function, body = place.body.node, place.body
    holder, _, own = body.name.rpartition(".")
    is_only = [one.name for one in place.file.bodies].count(body.name) == 1
    if isinstance(function, ast.Module) or holder != body.owner or not is_only:
        return
    order = [one.arg for one in (*function.args.posonlyargs, *function.args.args)]
    if holder and not any(last_name(one) == "staticmethod" for one in function.decorator_list):
        order = order[1:]
    at = (name, order.index(name)) if name in order else (name,)
    yield Made(holder if own == "__init__" else body.name, waits=at)
