"""Says which loops go over one thing in several rounds, each time to its end.

Narrow: the number of rounds is known, what is gone over is made before them, and nothing in them
leaves a loop early, stands under a test, or speaks of it otherwise: it may be made anew there.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain, product
from typing import NamedTuple, TypeAlias, TypeGuard

from preflight.sources.batch_loops.passed_items import PASS_ON, PassedItems, only, written
from preflight.syntax.bodies import ENDS, TRIES, Body, own, parameters, stored
from preflight.syntax.given_values import Given, defaults, given_in
from preflight.syntax.parsing import children
from preflight.syntax.running import key_of, last_name

Loops: TypeAlias = "tuple[ast.For, ...]"

# What goes over what it is given to its end, each time that it is made.
_TO_THE_END = frozenset({"tqdm", "track", "enumerate", "iter", "progress_bar", "log_every"})

_RANGES = frozenset({"range", "trange"})
_ITERATORS = frozenset({"iter", "enumerate", "islice", "zip", "map", "filter"})
_EXITS = frozenset({"exit", "_exit", "quit", "abort"})
_ENDLESS = frozenset({"cycle"})

# How far values are followed from name to name.
_MOST_HOPS = 4


class OverAgain(NamedTuple):
    """How often a loop, or a call, goes over one thing."""

    again: int = 0
    """The line of a loop of two rounds or more around it, before which that is made; 0: none."""

    is_whole: bool = False
    """Whether it goes to the end of what its function is handed, and does nothing else with it."""

    is_iterator: bool = False
    """Whether what is made before that loop is an iterator, by how it is written."""


class RoundsInFile:
    """What one file says of it."""

    def __init__(self, every: Sequence[Body], items: PassedItems) -> None:
        """Take all that runs in the file."""
        self._every = every
        self._items = items
        self._around: dict[int, Mapping[int, Loops]] = {}

    def of_loop(self, node: ast.AST, body: Body) -> OverAgain:
        """Say it of a loop over batches."""
        if not isinstance(node, ast.For) or not _is_named(_whole(node.iter)):
            return OverAgain()
        loops = self._loops(body).get(id(node))
        if loops is None or _is_left(node):
            return OverAgain()
        found = self._again(node.iter, loops, body)
        if found is not None or not isinstance(_whole(node.iter), ast.Name):
            return found or OverAgain()
        one = self._made_before(node.iter, body.node.body, body)
        return OverAgain(is_whole=one is not None and written(one) in parameters(body))

    def of_call(self, call: ast.Call, value: ast.expr, body: Body) -> OverAgain:
        """Say it of a call that is handed something."""
        found = self._again(value, self._loops(body).get(id(call), ()), body)
        return found or OverAgain(is_iterator=self._is_iterator(value, body))

    def _again(self, over: ast.expr, loops: Loops, body: Body) -> OverAgain | None:
        for loop in reversed(loops):
            is_in_rounds = self._are_several(loop.iter, body)
            one = self._made_before(over, [loop], body) if is_in_rounds else None
            if one is not None:
                return OverAgain(again=loop.lineno, is_iterator=self._is_iterator(one, body))
        return None

    def _loops(self, body: Body) -> Mapping[int, Loops]:
        if id(body.node) not in self._around:
            self._around[id(body.node)] = dict(_around(body.node.body))
        return self._around[id(body.node)]

    # --- what is gone over

    def _made_before(
        self, over: ast.expr, block: Sequence[ast.stmt], body: Body, hops: int = 0
    ) -> ast.Name | ast.Attribute | None:
        """Give what is gone over, where a block takes it as it is, and once; else None."""
        one = _whole(over)
        if hops > _MOST_HOPS or not _is_named(one):
            return None
        name = written(one)
        if isinstance(one, ast.Attribute):
            return one if self._is_kept(one, body) else None
        if name not in stored(block):
            is_others = self._is_shared(name) or _mentions(block, name) > 1
            return None if is_others else one
        values = only(self._items.given(body).get(name, ()))
        if len(values) == 1 and _whole(values[0]) is not values[0]:
            return self._made_before(values[0], block, body, hops + 1)
        return None

    def _is_kept(self, one: ast.Attribute, body: Body) -> bool:
        """Whether an object is given it when it is made, and goes over it in one place alone."""
        if not body.owner or written(one) != f"self.{one.attr}":
            return False
        givers = [
            each.name
            for each in self._every
            for node in each.nodes
            if isinstance(node, ast.Attribute)
            and node.attr == one.attr
            and isinstance(node.ctx, ast.Store)
        ]
        methods = [each.node for each in self._every if each.owner == body.owner]
        return givers == [f"{body.owner}.__init__"] and _mentions(methods, written(one)) == 1

    def _is_shared(self, name: str) -> bool:
        """Whether another function may give a name something else."""
        return name in self._shared

    @cached_property
    def _shared(self) -> frozenset[str]:
        nodes = (node for body in self._every for node in body.nodes)
        those = (one.names for one in nodes if isinstance(one, (ast.Global, ast.Nonlocal)))
        return frozenset(chain.from_iterable(those))

    def _is_iterator(self, node: ast.expr, body: Body, hops: int = 0) -> bool:
        """Whether a loop over it uses it up, by how it is made."""
        if isinstance(node, ast.Call):
            name = last_name(node.func)
            if name in _ITERATORS or self._items.generator(node, body) is not None:
                return True
            is_same = name in PASS_ON - _ENDLESS and bool(node.args)
            return is_same and self._is_iterator(node.args[0], body, hops)
        if hops > _MOST_HOPS or not isinstance(node, (ast.Name, ast.Attribute)):
            return False
        values = [*self._values(written(node), body)]
        return len(values) == 1 and self._is_iterator(*values[0], hops + 1)

    def _values(self, name: str, body: Body) -> Iterator[tuple[ast.expr, Body]]:
        """Give what is given to a name, or to an attribute of an object in its class."""
        holders = [body if name in self._items.given(body) else self._every[0]]
        if name.startswith("self."):
            holders = [one for one in self._every if body.owner and one.owner == body.owner]
        elif name in parameters(body):
            return
        for one in holders:
            for node in one.nodes:
                if isinstance(node, ast.Assign) and [*map(written, node.targets)] == [name]:
                    yield node.value, one

    # --- how many rounds there are

    @cached_property
    def _given(self) -> Given:
        return given_in(node for body in self._every for node in body.nodes)

    def _are_several(self, node: ast.expr, body: Body) -> bool:
        """Whether a loop is of two rounds or more, as far as its file tells."""
        node = _whole(node)
        if not isinstance(node, ast.Call) or last_name(node.func) not in _RANGES:
            return False
        bounds = [self._numbers(one, body) for one in node.args[:3]]
        is_known = all(bounds) and bool(bounds) and 0 not in set().union(*bounds[2:])
        return is_known and all(range(*one)[1:] for one in product(*bounds))

    def _numbers(self, node: ast.expr, body: Body, hops: int = 0) -> set[int]:
        """Give the numbers that an expression may be; none where one of them is not known."""
        if isinstance(node, ast.Constant):
            return {node.value} if type(node.value) is int else set()
        if hops > _MOST_HOPS:
            return set()
        if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)):
            sign = 1 if isinstance(node.op, ast.Add) else -1
            left, right = (self._numbers(one, body, hops + 1) for one in (node.left, node.right))
            return {one + sign * other for one in left for other in right}
        each = [self._numbers(one, body, hops + 1) for one in self._numbered(node, body)]
        return set().union(*each) if all(each) else set()

    def _numbered(self, node: ast.expr, body: Body) -> Sequence[ast.expr]:
        if not isinstance(node, ast.Name):
            return self._given.values.get(key_of(node) or "", ())
        if node.id in parameters(body):
            return [*self._handed(node.id, body)]
        here = self._items.given(body)
        return (
            here[node.id] if node.id in here else self._items.given(self._every[0]).get(node.id, ())
        )

    def _handed(self, name: str, body: Body) -> Iterator[ast.expr]:
        """Give what the calls of this file give to a parameter."""
        node, unknown = body.node, ast.Constant(...)
        assert not isinstance(node, ast.Module)  # noqa: S101  for the type checker
        order = [one.arg for one in (*node.args.posonlyargs, *node.args.args)]
        default = dict(defaults(node.args)).get(name) or unknown
        nodes = (one for each in self._every for one in each.nodes)
        for call in nodes:
            if isinstance(call, ast.Call) and written(call.func) == body.name:
                words = {one.arg: one.value for one in call.keywords}
                by_place = dict(zip(order, call.args, strict=False))
                is_open = None in words or any(isinstance(one, ast.Starred) for one in call.args)
                given = words.get(name) or by_place.get(name) or default
                yield unknown if is_open else given


# --- what stands around, and what leaves ----------------------------------------------------------


def _around(statements: Sequence[ast.stmt]) -> Iterator[tuple[int, Loops]]:
    """Give loops and calls, each with the loops in every round of which it is come to."""
    stack: list[tuple[ast.stmt, Loops]] = [(one, ()) for one in statements]
    while stack:
        one, loops = stack.pop()
        if isinstance(one, ast.For):
            yield id(one), loops
            inner = () if _is_left(one, by_continue=True) else (*loops, one)
            stack += [(each, inner) for each in one.body]
        elif isinstance(one, (ast.With, *TRIES)):
            stack += [(each, loops) for each in one.body]
        elif isinstance(one, (ast.If, ast.While)):
            stack += [(each, ()) for each in (*one.body, *one.orelse)]
        else:
            yield from ((id(node), loops) for node in own([one]) if isinstance(node, ast.Call))


def _is_left(loop: ast.For, *, by_continue: bool = False) -> bool:
    """Whether something in a loop may end it early, or a round of it."""
    stack: list[tuple[ast.AST, bool]] = [(one, True) for one in loop.body]
    while stack:
        node, is_own = stack.pop()
        if is_own and isinstance(node, (ast.Break, ast.Continue) if by_continue else ast.Break):
            return True
        if isinstance(node, (ast.Return, ast.Yield, ast.YieldFrom)) or _ends_all(node):
            return True
        if type(node) not in ENDS:
            inner = is_own and not isinstance(node, (ast.For, ast.While))
            stack += [(one, inner) for one in children(node)]
    return False


def _ends_all(node: ast.AST) -> bool:
    """Whether it ends the program, or is raised for another reason than an error."""
    if isinstance(node, ast.Call):
        return last_name(node.func) in _EXITS
    if not isinstance(node, ast.Raise) or node.exc is None:
        return False
    raised = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
    return not last_name(raised).endswith(("Error", "Exception"))


def _is_named(node: ast.expr) -> TypeGuard[ast.Name | ast.Attribute]:
    return isinstance(node, (ast.Name, ast.Attribute))


def _whole(over: ast.expr) -> ast.expr:
    """Give what is gone over to its end: `loader` of `tqdm(enumerate(loader))`."""
    while isinstance(over, ast.Call) and last_name(over.func) in _TO_THE_END and over.args:
        over = over.args[0]
    return over


def _mentions(nodes: Sequence[ast.AST], name: str) -> int:
    """Say how often something is read there, but for its length."""
    stack, count = [*nodes], 0
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Call) and last_name(node.func) == "len":
            continue
        if isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Load):
            count += written(node) == name
        stack += [*ast.iter_child_nodes(node)]
    return count
