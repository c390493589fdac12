"""Finds lists that are made of sets, where what follows depends on their order."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from preflight.sources.flaws.facts import Spot, UnstableOrder
from preflight.sources.flaws.order_uses import (
    NUMBERED,
    Node,
    OrderUse,
    laid_out,
    use_of,
    use_of_kept,
    use_of_name,
)
from preflight.sources.flaws.sets import (
    LISTS,
    TEXT,
    handed_alone,
    is_set,
    makes_set,
    of_numbers,
    relisted,
    sets_in,
)
from preflight.syntax.bodies import Body, text_at
from preflight.syntax.parsing import Parsed, code_of
from preflight.syntax.running import last_name


class KeptInClass(NamedTuple):
    """What a class keeps in its attributes."""

    sets: frozenset[str] = frozenset()
    """Attributes that are only ever given a set: `self.names`."""

    methods: tuple[Body, ...] = ()

    @property
    def nodes(self) -> list[ast.AST]:
        """All that is in its methods."""
        return [node for one in self.methods for node in one.nodes]


def kept_in(every: Sequence[Body]) -> dict[str, KeptInClass]:
    """Give what the classes of a file keep, of those that make a set."""
    methods: dict[str, list[Body]] = {}
    for one in every:
        if one.owner:
            methods.setdefault(one.owner, []).append(one)
    return {
        owner: KeptInClass(
            frozenset(one for one in sets_in(nodes) if one.startswith("self.")), (*those,)
        )
        for owner, those in methods.items()
        if any(map(makes_set, nodes := [node for one in those for node in one.nodes]))
    }


def unstable_orders(
    body: Body, parsed: Parsed, file: str, *, kept: Mapping[str, KeptInClass]
) -> Iterator[UnstableOrder]:
    """Give lists of a function that are made of a set, and are then taken by their places."""
    own = kept.get(body.owner, KeptInClass())
    if not own.sets and not any(map(makes_set, body.nodes)):
        return
    nodes, around = laid_out(body)
    sets, again = sets_in(nodes) | own.sets, relisted(nodes)
    for node in nodes:
        if not isinstance(node, ast.expr):
            continue
        if not _is_unsorted(node, sets) and not _is_counted(node, sets - again, around):
            continue
        if handed_alone(node) in again and not _is_given(node, handed_alone(node), around):
            continue
        origins = _origins(node, own.nodes if isinstance(node, ast.Attribute) else nodes)
        if any(map(of_numbers, origins)):
            continue
        given = around.get(id(node))
        if isinstance(given, (ast.Assign, ast.AnnAssign)):
            use = use_of_name(given, nodes, around) or _use_in_class(given, own)
        else:
            use = use_of(node, nodes, around)
        if use is None:
            continue
        code = code_of(node, parsed.lines)
        said = " ".join(code_of(one, parsed.lines) for one in (node, *origins))
        yield UnstableOrder(
            file=file,
            line=node.lineno,
            text=text_at(parsed.lines, node.lineno),
            code=code,
            used=Spot(use.node.lineno, code_of(use.node, parsed.lines)),
            how=use.how,
            by_rank=use.by_rank,
            of_text=bool(TEXT.search(said)),
        )


def _use_in_class(given: ast.Assign | ast.AnnAssign, kept: KeptInClass) -> OrderUse | None:
    """Give the use of an attribute that is given this list, and nothing else, in its class."""
    target = given.targets[0] if isinstance(given, ast.Assign) else given.target
    name = ast.unparse(target)
    stored = [
        one
        for one in kept.nodes
        if isinstance(one, ast.Attribute)
        and isinstance(one.ctx, ast.Store)
        and ast.unparse(one) == name
    ]
    return use_of_kept(name, kept.methods) if stored == [target] else None


def _is_unsorted(node: ast.expr, sets: frozenset[str]) -> bool:
    """Whether it is a list that has its order of a set, or a set that is counted through."""
    if isinstance(node, ast.List) and len(node.elts) == 1:
        star = node.elts[0]
        return isinstance(star, ast.Starred) and is_set(star.value, sets)
    if isinstance(node, ast.ListComp):
        return len(node.generators) == 1 and is_set(node.generators[0].iter, sets)
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        return False
    if node.func.id in LISTS:
        return len(node.args) == 1 and is_set(node.args[0], sets)
    return False


def _is_given(node: ast.expr, name: str, around: dict[int, Node]) -> bool:
    """Whether it is given to this name, which is a set before, and its list from then on."""
    over = around.get(id(node))
    return isinstance(over, ast.Assign) and last_name(over.targets[0]) == name


def _is_counted(node: ast.expr, sets: frozenset[str], around: dict[int, Node]) -> bool:
    """Whether it is a set that is numbered, or gone through, as it is."""
    if not is_set(node, sets) or isinstance(getattr(node, "ctx", None), ast.Store):
        return False
    over = around.get(id(node))
    if isinstance(over, ast.For):
        return over.iter is node
    return isinstance(over, ast.Call) and last_name(over.func) in {*NUMBERED, "zip"}


def _origins(node: ast.expr, nodes: Sequence[ast.AST]) -> list[ast.expr]:
    """Give it, or where it is the name of a set, what that was made of."""
    if not isinstance(node, (ast.Name, ast.Attribute)):
        return [node]
    given = (one for one in nodes if isinstance(one, (ast.Assign, ast.AnnAssign)) and one.value)
    return [
        one.value  # type: ignore[misc]  # it has one
        for one in given
        if ast.unparse(one.targets[0] if isinstance(one, ast.Assign) else one.target)
        == ast.unparse(node)
    ]
