"""Says what the items of an expression are items of: of `zip(a, b)`, of a generator around one.

Narrow: where a generator changes what it hands on, or asks what it is, it is not followed.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from preflight.syntax.bodies import Body, parameters
from preflight.syntax.running import last_name

# They give what they are handed, one after the other.
PASS_ON = frozenset(
    {"tqdm", "trange", "iter", "islice", "track", "cycle", "prepare", "setup_dataloaders"}
    | {"prepare_data_loader", "MpDeviceLoader", "log_every", "progress_bar"}
)

_ZIPS = frozenset({"zip", "zip_longest"})
_COMBINE = frozenset({"enumerate", "chain"}) | _ZIPS

# How often items are followed from one hand to the next.
_MOST_HOPS = 8


class PassedItem(NamedTuple):
    """What a target is given, as an item of what is gone over."""

    target: ast.expr
    over: ast.expr
    body: Body
    """Where `over` stands."""


class TakenOver(NamedTuple):
    """What a function does with what it is handed."""

    name: str
    """That of its parameter."""

    statements: Sequence[ast.stmt]


class PassedItems:
    """What hands items on in one file."""

    def __init__(self, every: Sequence[Body]) -> None:
        """Take all that runs in the file."""
        self._every = every
        self._values: dict[int, Mapping[str, list[ast.expr]]] = {}

    def each(
        self, target: ast.expr, over: ast.expr, body: Body, hops: int = 0
    ) -> Iterator[PassedItem]:
        """Give what is handed on to a target, or to each part of it, and of what it is an item."""
        inner = self._inner(PassedItem(target, over, body)) if hops < _MOST_HOPS else None
        if inner is None:
            yield PassedItem(target, over, body)
            return
        if self.generator(over, body) is not None:
            yield PassedItem(target, over, body)
        for one in inner:
            yield from self.each(*one, hops + 1)

    def whole(self, call: ast.Call, body: Body) -> Iterator[tuple[ast.expr, Body]]:
        """Give that of which a generator hands on the items as they are."""
        item = ast.Name("item", ast.Load())
        for one in self.each(item, call, body):
            if one.target is item and one.over is not call:
                yield one.over, one.body

    def handed(self, call: ast.Call, name: str, body: Body) -> TakenOver | None:
        """Give what a function of the file does with what it is handed by this name."""
        function = None if written(call.func) == name else self._function(call, body)
        if function is None or isinstance(function.node, ast.Module):
            return None
        for parameter, value in _handed(call, function).items():
            if isinstance(value, ast.Name) and value.id == name:
                return TakenOver(parameter, function.node.body)
        return None

    def surely_handed(self, call: ast.Call, name: str, body: Body) -> TakenOver | None:
        """Give the same, where that function is the only one of its last name, and runs at once."""
        taken = self.handed(call, name, body)
        last = last_name(call.func)
        alike = [one for one in self._every if one.name.rpartition(".")[2] == last]
        later = (ast.Yield, ast.YieldFrom, ast.AsyncFor, ast.AsyncWith, ast.Await)
        if (
            taken is None
            or len(alike) != 1
            or any(isinstance(one, later) for one in alike[0].nodes)
        ):
            return None
        return taken

    def generator(self, node: ast.expr, body: Body) -> Body | None:
        """Give the generator of the file that is called; None: it is none, or not the only one."""
        found = self._function(node, body)
        yields = (ast.Yield, ast.YieldFrom)
        is_one = found is not None and any(isinstance(one, yields) for one in found.nodes)
        return found if is_one else None

    def _function(self, node: ast.expr, body: Body) -> Body | None:
        """Give the function of the file that is called, if it is the only one of the name."""
        if not isinstance(node, ast.Call):
            return None
        name = written(node.func)
        if name.startswith("self.") and body.owner:
            name = f"{body.owner}.{name[5:]}"
        elif name in self.given(body) or name in parameters(body):
            return None
        found = [one for one in self._every if one.name == name]
        return found[0] if len(found) == 1 and not _decorated(found[0]) else None

    def given(self, body: Body) -> Mapping[str, list[ast.expr]]:
        """Give what names are given in a function, worked out once."""
        if id(body.node) not in self._values:
            self._values[id(body.node)] = values_of(body)
        return self._values[id(body.node)]

    def _inner(self, item: PassedItem) -> Iterable[PassedItem] | None:
        """Give what a target is an item of, one hand further; None: nothing hands it on."""
        target, over, body = item
        if isinstance(over, ast.Name):
            value = self._value(over.id, body)
            return None if value is None else [PassedItem(target, value, body)]
        if not isinstance(over, ast.Call):
            return None
        name = last_name(over.func)
        function = self.generator(over, body)
        if function is not None:
            return [*self._yielded(target, over, body, function)]
        if not over.args or any(isinstance(one, ast.Starred) for one in over.args):
            return None
        if name == "enumerate":
            return [PassedItem(one, over.args[0], body) for one in _parts(target, 2)[1:]]
        if name in _ZIPS:
            parts = _parts(target, len(over.args))
            return [PassedItem(*one, body) for one in zip(parts, over.args, strict=False)]
        if name == "chain":
            return [PassedItem(target, one, body) for one in over.args]
        return [PassedItem(target, over.args[0], body)] if name in PASS_ON else None

    def _value(self, name: str, body: Body) -> ast.Call | None:
        """Give the call that a name stands for, where that hands items on."""
        if name in parameters(body):
            return None
        given = self.given(body).get(name) or self.given(self._every[0]).get(name)
        values = only(given or ())
        if len(values) != 1 or not isinstance(values[0], ast.Call):
            return None
        names = {one.id for one in ast.walk(values[0]) if isinstance(one, ast.Name)}
        hands_on = last_name(values[0].func) in PASS_ON | _COMBINE
        if name in names or not (hands_on or self.generator(values[0], body) is not None):
            return None
        return values[0]

    def _yielded(
        self, target: ast.expr, call: ast.Call, body: Body, function: Body
    ) -> Iterator[PassedItem]:
        """Give what a generator hands on of what it goes over."""
        handed = _handed(call, function)
        for node in function.nodes:
            if isinstance(node, ast.YieldFrom):
                yield _outside(PassedItem(target, node.value, function), handed, body)
            elif isinstance(node, ast.Yield) and node.value is not None:
                for part, name in _matched(target, node.value):
                    for one in self._gone_over(name, node, function):
                        yield _outside(one._replace(target=part), handed, body)

    def _gone_over(self, name: str, node: ast.Yield, function: Body) -> Iterator[PassedItem]:
        """Give what a name of a generator is an item of, where it is yielded as it comes."""
        if len(self.given(function).get(name, ())) != 1:
            return
        for loop in function.nodes:
            if isinstance(loop, ast.For) and _is_untouched(name, node, loop):
                for one in self.each(loop.target, loop.iter, function):
                    if isinstance(one.target, ast.Name) and one.target.id == name:
                        yield one


def _parts(target: ast.expr, number: int) -> list[ast.expr]:
    """Give the parts of a target that takes so many; none, where it does not."""
    if not isinstance(target, (ast.Tuple, ast.List)) or len(target.elts) != number:
        return []
    return [] if any(isinstance(one, ast.Starred) for one in target.elts) else target.elts


def _matched(target: ast.expr, value: ast.expr) -> Iterator[tuple[ast.expr, str]]:
    """Give the names of what is yielded, each with what it is taken for."""
    if isinstance(value, ast.Name):
        yield target, value.id
    elif isinstance(value, ast.Tuple):
        for one, part in zip(_parts(target, len(value.elts)), value.elts, strict=False):
            yield from _matched(one, part)


def _is_untouched(name: str, node: ast.Yield, loop: ast.For) -> bool:
    """Whether a loop yields it before it does anything else with it."""
    if name not in {one.id for one in ast.walk(loop.target) if isinstance(one, ast.Name)}:
        return False
    for statement in loop.body:
        if isinstance(statement, ast.Expr) and statement.value is node:
            return True
        if any(isinstance(one, ast.Name) and one.id == name for one in ast.walk(statement)):
            return False
    return False


def _handed(call: ast.Call, function: Body) -> dict[str, ast.expr]:
    """Say what the parameters of a function are given by a call."""
    node = function.node
    assert not isinstance(node, ast.Module)  # noqa: S101  for the type checker
    order = [one.arg for one in (*node.args.posonlyargs, *node.args.args)]
    order = order[1:] if function.owner else order
    given = dict(zip(order, call.args, strict=False))
    return given | {one.arg: one.value for one in call.keywords if one.arg is not None}


def _outside(item: PassedItem, handed: Mapping[str, ast.expr], body: Body) -> PassedItem:
    """Have a generator's parameter be what the call gives for it."""
    name = item.over.id if isinstance(item.over, ast.Name) else ""
    if name not in parameters(item.body) or name not in handed:
        return item
    return item._replace(over=handed[name], body=body)


def _decorated(body: Body) -> bool:
    return not isinstance(body.node, ast.Module) and bool(body.node.decorator_list)


# --- what names are given -------------------------------------------------------------------------


def only(values: Iterable[ast.expr]) -> list[ast.expr]:
    """Give those that are written in different ways: `it = iter(loader)` twice is one."""
    every = [*values]
    return [*{written(one): one for one in every}.values()] if len(every) > 1 else every


def written(node: ast.expr) -> str:
    """Give the text of an expression; of names, which most are, without the work of `unparse`."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and isinstance(node.value, (ast.Name, ast.Attribute)):
        return f"{written(node.value)}.{node.attr}"
    return ast.unparse(node)


def values_of(body: Body) -> dict[str, list[ast.expr]]:
    """Give what names are given in a function; what is no expression, as `...`."""
    found: dict[str, list[ast.expr]] = {}
    stores: dict[str, int] = {}
    for node in body.nodes:
        if isinstance(node, ast.Name):
            if isinstance(node.ctx, ast.Store):
                stores[node.id] = stores.get(node.id, 0) + 1
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                _bind(target, node.value, found)
        elif isinstance(node, (ast.AnnAssign, ast.NamedExpr)) and node.value is not None:
            _bind(node.target, node.value, found)
        elif isinstance(node, ast.withitem) and _is_passed_on(node):
            assert node.optional_vars is not None  # noqa: S101  for the type checker
            _bind(node.optional_vars, node.context_expr, found)
    for name, number in stores.items():
        values = found.setdefault(name, [])
        values += [ast.Constant(...)] * (number - len(values))
    return found


def _bind(target: ast.expr, value: ast.expr, found: dict[str, list[ast.expr]]) -> None:
    if isinstance(target, (ast.Name, ast.Attribute)):
        given = found.setdefault(written(target), [])
        if not _is_passed(value, written(target)):
            given.append(value)
        elif isinstance(target, ast.Name):
            given.append(target)  # it stays what it was
    elif isinstance(target, ast.Tuple):
        for place, one in enumerate(target.elts):
            given_here = _part_of(value, place, len(target.elts))
            if isinstance(one, ast.Name):
                _bind(one, given_here, found)


def _part_of(value: ast.expr, place: int, number: int) -> ast.expr:
    if isinstance(value, ast.Tuple) and len(value.elts) == number:
        return value.elts[place]
    if isinstance(value, ast.Call) and last_name(value.func) in PASS_ON:
        return value.args[place] if len(value.args) == number else ast.Constant(...)
    return ast.Subscript(value=value, slice=ast.Constant(place), ctx=ast.Load())


def _is_passed(value: ast.expr, name: str) -> bool:
    """Whether a name is given what it was, by what passes it on."""
    if isinstance(value, ast.Call) and last_name(value.func) in PASS_ON and value.args:
        return _is_passed(value.args[0], name)
    return isinstance(value, (ast.Name, ast.Attribute)) and written(value) == name


def _is_passed_on(node: ast.withitem) -> bool:
    """Whether a `with` names what hands on: `with tqdm(loader) as bar`."""
    call = node.context_expr
    hands_on = isinstance(call, ast.Call) and last_name(call.func) in PASS_ON and bool(call.args)
    return hands_on and isinstance(node.optional_vars, ast.Name)
