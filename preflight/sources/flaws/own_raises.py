"""Says which exceptions come out of the functions of a file when they are called.

Narrow: what is decorated, hands items on, or is defined twice, may raise whatever it likes.
"""

from __future__ import annotations

import ast
import builtins
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from preflight.sources.flaws.raising import Caught, Raiser, caught_by, may_be_any, raisers
from preflight.syntax.bodies import TRIES, Body, own, parameters, stored
from preflight.syntax.running import last_name

# How far calls are followed, from function to function.
_MOST_HOPS = 4

# They raise what no list of calls is there for: ValueError, and the like.
_NUMBERS = frozenset({"int", "float", "complex"})

_YIELDS = (ast.Yield, ast.YieldFrom)

# What they raise is mostly looked for before, or is of another object of that name.
_WEAK = frozenset({"[]", "pop", "popitem", "run", "wait", "stat"})


class OwnRaises:
    """What the functions of one file raise."""

    def __init__(self, every: Sequence[Body]) -> None:
        """Take all that runs in the file."""
        times = Counter(one.name for one in every)
        again = stored(one for one in every[0].node.body if isinstance(one, ast.Assign))
        self._bodies: Mapping[str, Body] = {
            one.name: one
            for one in every
            if one.name and times[one.name] == 1 and one.name not in again
        }
        self._bases: dict[str, set[str]] = {}
        for node in (node for body in every for node in body.nodes):
            if isinstance(node, ast.ClassDef):
                self._bases.setdefault(node.name, set()).update(map(last_name, node.bases))

    def may(self, one: Raiser, caught: Caught, body: Body, hops: int = 0) -> bool | None:
        """Say whether a call, or a `raise`, raises what is caught; None where nobody can tell.

        Args:
            one: what may raise.
            caught: what a handler around it catches.
            body: the function in which it stands.
            hops: how many calls lead there.
        """
        if isinstance(one.node, ast.Raise):
            return False if one.node.exc is None else self._is_one(_raised(one.node.exc), caught)
        if one.word in _NUMBERS and caught.is_listed:
            return False
        called = self._called(one.node, body) if hops < _MOST_HOPS else None
        if called is None or called is body:
            return None
        every = [*open_raisers(called.node.body, caught)]
        found = {self._inner(inner, caught, called, hops + 1) for inner in every}
        return True if True in found else None if None in found else False

    def _inner(self, one: Raiser, caught: Caught, body: Body, hops: int) -> bool | None:
        if one.word in _WEAK or not isinstance(one.node, (ast.expr, ast.Raise)):
            return False
        told = self.may(one, caught, body, hops)
        return True if told is None and caught.is_raised_by(one) else told

    def _called(self, call: ast.expr | ast.stmt, body: Body) -> Body | None:
        """Give the function of the file that is called, where it is plain."""
        if not isinstance(call, ast.Call):
            return None
        function = call.func
        bare = name = function.id if isinstance(function, ast.Name) else ""
        if isinstance(function, ast.Attribute) and last_name(function.value) in {"self", "cls"}:
            name = f"{body.owner}.{function.attr}" if body.owner else ""
        found = self._bodies.get(name)
        if found is None or isinstance(found.node, ast.Module) or found.node.decorator_list:
            return None
        if body.name and bare and bare in parameters(body) | stored(body.node.body):
            return None
        return None if any(isinstance(one, _YIELDS) for one in found.nodes) else found

    def _is_one(self, name: str, caught: Caught) -> bool | None:
        """Whether an exception of this name is caught there."""
        names, above = set[str](), {name}
        while above - names:
            names |= above
            above = {base for one in above for base in self._above(one)}
        if {*map(_told_apart, names)} & {*map(_told_apart, caught.names)}:
            return True
        is_known = all(one in self._bases or hasattr(builtins, one) for one in names)
        return False if is_known else None

    def _above(self, name: str) -> set[str]:
        kind = getattr(builtins, name, None)
        if isinstance(kind, type):
            return {one.__name__ for one in kind.__mro__}
        return self._bases.get(name, set())


def open_raisers(block: Sequence[ast.stmt], caught: Caught) -> Iterator[Raiser]:
    """Give what may raise in a block, but for what a `try` in it looks after."""
    coped: set[int] = set()
    for node in own(block):
        if isinstance(node, TRIES) and any(_copes(one, caught) for one in node.handlers):
            coped.update(id(one) for one in own(node.body))
        elif isinstance(node, ast.Raise):
            coped.add(id(node.exc))  # `KeyError(name)` raises nothing, but is raised
    yield from (one for one in raisers(block) if id(one.node) not in coped)


class Suspects(NamedTuple):
    """What in a `try` may be where an exception comes from that a handler of it catches."""

    known: frozenset[int]
    """What is known to raise it, by the ids of the nodes."""

    perhaps: frozenset[int]
    """What may, since it is not known that it cannot; these are among them."""

    are_guessed: bool = False
    """Whether others are known to raise it, of which none is there."""

    @property
    def are_known(self) -> bool:
        """Whether some of them surely may raise it."""
        return bool(self.known)

    def begins(self, one: Raiser) -> bool:
        """Whether a name may lack its value for this one."""
        return id(one.node) in (self.known or self.perhaps)

    def may(self, one: Raiser) -> bool:
        """Whether this one may raise it."""
        return id(one.node) in self.perhaps


def suspects_in(
    block: Sequence[ast.stmt], caught: Caught, body: Body, own_raises: OwnRaises
) -> Suspects:
    """Say where in the block of a `try` an exception may come from."""
    every = [*raisers(block)]
    if caught.is_broad:
        may = frozenset(id(one.node) for one in every if caught.may_come_from(one))
        return Suspects(may, may)
    thrown = {id(one.exc) for one in own(block) if isinstance(one, ast.Raise)}
    every = [one for one in every if id(one.node) not in thrown]
    told = {id(one.node): own_raises.may(one, caught, body) for one in every}
    unknown = [one for one in every if told[id(one.node)] is None]
    raising = {place for place, said in told.items() if said}
    inner = [one for one in own(block) if isinstance(one, TRIES) and one.handlers]
    hidden = {id(node) for one in inner for node in own([one])}
    sure = raising | {id(one.node) for one in unknown if caught.is_raised_by(one)}
    perhaps = raising | {id(one.node) for one in unknown if caught.may_come_from(one)}
    known = frozenset(sure - hidden)
    if known or not caught.is_listed:
        return Suspects(known, frozenset(perhaps))
    guessed = frozenset(id(one.node) for one in unknown if may_be_any(one))
    return Suspects(known, guessed, are_guessed=True)


def _copes(handler: ast.ExceptHandler, caught: Caught) -> bool:
    """Whether what is caught outside ends here."""
    its = caught_by(handler)
    is_same = its.is_broad or bool(its.names & caught.names)
    return is_same and not any(isinstance(one, ast.Raise) for one in own(handler.body))


def _raised(node: ast.expr) -> str:
    return last_name(node.func if isinstance(node, ast.Call) else node)


def _told_apart(name: str) -> str:
    """Name an exception as Python does: `IOError` is `OSError`."""
    kind = getattr(builtins, name, None)
    return kind.__name__ if isinstance(kind, type) else name
