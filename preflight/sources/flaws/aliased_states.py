"""Finds states of models that are kept while training goes on to change them, and used then."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from preflight.sources.flaws.facts import AliasedState, Spot
from preflight.sources.flaws.kept_states import (
    Kept,
    Used,
    holds_tensors,
    is_untouched,
    kept_by,
    uses_in,
)
from preflight.syntax.bodies import Body, Function, stored, text_at
from preflight.syntax.parsing import Parsed, code_of
from preflight.syntax.running import last_name

_TRAINS = re.compile(r"(?i)(?:^|_)(?:train\w*|fit|step|backward|epochs?|optimi[sz]e|update)(?:_|$)")
_BEST = re.compile(r"(?i)best|better|improve|loss|acc|score|metric|val|error|auc|f1|psnr|iou")
_GATHERS = frozenset({"state_dict_type"})  # of FSDP: what it gives is a copy
_LOOPS = (ast.For, ast.AsyncFor, ast.While)


def aliased_states(every: Sequence[Body], parsed: Parsed, file: str) -> Iterator[AliasedState]:
    """Give what loops keep that is used after them, and what objects keep for later."""
    usual = [body for body in every if not _is_special(body.nodes)]
    in_loops = [pair for body in usual for pair in _by_loops(body, usual)]
    yield from (_told(*pair, parsed, file, in_loop=True) for pair in in_loops)
    told = [kept.node for kept, _ in in_loops]
    uses = [use for body in every for use in uses_in(body.nodes)]
    for owner in dict.fromkeys(body.owner for body in every if body.owner):
        methods = [body for body in every if body.owner == owner]
        if any(body not in usual for body in methods):
            continue
        for kept, use in _by_object(methods, uses):
            if kept.node not in told:
                yield _told(kept, use, parsed, file, in_loop=False)


def _is_special(nodes: Sequence[ast.AST]) -> bool:
    """Whether states may be copies, or tensors of a model are replaced and not written into."""
    for node in nodes:
        name = last_name(node.func) if isinstance(node, ast.Call) else ""
        if name in _GATHERS:
            return True
        if name == "load_state_dict" and any(one.arg == "assign" for one in node.keywords):  # type: ignore[attr-defined]
            return True
    return False


def _told(kept: Kept, use: Used, parsed: Parsed, file: str, *, in_loop: bool) -> AliasedState:
    line = kept.node.lineno
    whose = kept.states.get(use.key) or next(iter(kept.states.values()))
    return AliasedState(
        file=file,
        line=line,
        text=text_at(parsed.lines, line),
        code=code_of(kept.node, parsed.lines),
        state=f"{whose}.state_dict()",
        used=Spot(use.node.lineno, code_of(use.node, parsed.lines)),
        is_saved=use.into is None,
        in_loop=in_loop,
    )


# --- in a loop ------------------------------------------------------------------------------------


class _InLoop(NamedTuple):
    kept: Kept
    loop: ast.For | ast.AsyncFor | ast.While
    is_best: bool
    """Whether it is kept as the best one."""


def _by_loops(body: Body, every: Sequence[Body]) -> Iterator[tuple[Kept, Used]]:
    for one in _kept_in_loops(body):
        use = next(_used_behind(one, body), None) or next(_used_by_callers(one, body, every), None)
        if use is not None:
            yield one.kept, use


def _kept_in_loops(body: Body) -> Iterator[_InLoop]:
    """Give what is kept at times in a loop that goes on to train."""
    every = [one for one in map(kept_by, body.nodes) if one is not None]
    around = {id(part): node for node in body.nodes for part in ast.iter_child_nodes(node)}
    for kept in every:
        loop, tests = _loop(kept.node, around)
        if loop is None or not tests or not _goes_on(kept.node, around) or not _trains(loop):
            continue
        if is_untouched(kept, list(ast.walk(loop))):
            is_best = _BEST.search(kept.name) or any(map(_asks_for_best, tests))
            yield _InLoop(kept, loop, bool(is_best))


def _used_behind(one: _InLoop, body: Body) -> Iterator[Used]:
    for use in uses_in(body.nodes):
        is_its = use.name == one.kept.name and _is_after(use.node, one.loop, one.kept.name, body)
        if is_its and _is_of(one.kept, use, one.loop, is_best=one.is_best):
            yield use


def _used_by_callers(one: _InLoop, body: Body, every: Sequence[Body]) -> Iterator[Used]:
    """Give what callers do with a state that a function returns: `best = train(model, …)`."""
    returns = [node for node in body.nodes if isinstance(node, ast.Return) and node.value]
    given = [node for node in returns if _place_in(node.value, one.kept.name) is not None]
    is_anew = any(_is_made_in(whose, one.loop) for whose in one.kept.states.values())
    if isinstance(body.node, ast.Module) or not given or is_anew:
        return
    if len(given) != len(returns) or not _is_after(given[0], one.loop, one.kept.name, body):
        return
    place = _place_in(given[0].value, one.kept.name)
    for other in every:
        for node in other.nodes:
            value = node.value if isinstance(node, ast.Assign) else None
            if not isinstance(value, ast.Call) or last_name(value.func) != body.node.name:
                continue
            name = _name_at(node.targets[0], place)  # type: ignore[attr-defined]
            handed = one.kept._replace(name=name, states=_as_handed(one.kept, body.node, value))
            for use in uses_in(other.nodes):
                is_its = use.name == name and use.node.lineno > node.lineno  # type: ignore[attr-defined]
                if is_its and _is_of(handed, use, one.loop, is_best=one.is_best):
                    yield use


def _place_in(value: ast.expr | None, name: str) -> int | None:
    """Give the place of a name in a tuple; -1 where it is all that there is."""
    if isinstance(value, ast.Tuple):
        names = [ast.unparse(one) for one in value.elts]
        return names.index(name) if name in names else None
    return -1 if value is not None and ast.unparse(value) == name else None


def _name_at(target: ast.expr, place: int | None) -> str:
    if place == -1:
        return ast.unparse(target)
    is_tuple = isinstance(target, (ast.Tuple, ast.List)) and place is not None
    return ast.unparse(target.elts[place]) if is_tuple and place < len(target.elts) else ""  # type: ignore[attr-defined,operator]


def _as_handed(kept: Kept, function: Function, call: ast.Call) -> dict[object, str]:
    """Name the models as a caller does who hands them over by place or by name."""
    own = [one.arg for one in function.args.args if one.arg not in ("self", "cls")]
    handed = {name: ast.unparse(one) for name, one in zip(own, call.args, strict=False)}
    handed |= {one.arg: ast.unparse(one.value) for one in call.keywords if one.arg}
    return {key: handed.get(whose, whose) for key, whose in kept.states.items()}


def _is_of(kept: Kept, use: Used, loop: ast.AST, *, is_best: bool) -> bool:
    """Whether a state goes back to where it is from, or is saved as the best one."""
    whose = kept.states.get(use.key)
    if use.into is None and is_best and use.key in (None, *kept.states):
        saved = kept.states.values() if use.key is None else [kept.states[use.key]]
        return not any(_is_made_in(one, loop) for one in saved)
    return whose is not None and use.into == whose and not _is_made_in(whose, loop)


def _loop(
    node: ast.AST, around: dict[int, ast.AST]
) -> tuple[ast.For | ast.AsyncFor | ast.While | None, list[ast.expr]]:
    """Give the loop around a statement, and the tests that stand between."""
    value = getattr(node, "value", None)
    tests: list[ast.expr] = [value.test] if isinstance(value, ast.IfExp) else []
    over = around.get(id(node))
    while over is not None and not isinstance(over, _LOOPS):
        if isinstance(over, ast.If):
            tests.append(over.test)
        over = around.get(id(over))
    return over, tests


def _asks_for_best(test: ast.expr) -> bool:
    """Whether a test says which of several is the best one; another one may stand for the last."""
    words = (last_name(one) for one in ast.walk(test) if isinstance(one, (ast.Name, ast.Attribute)))
    return any(map(_BEST.search, words))


def _goes_on(node: ast.AST, around: dict[int, ast.AST]) -> bool:
    """Whether the loop goes on after this: nothing beside it leaves it."""
    over = around.get(id(node))
    block = next(
        (one for one in (getattr(over, "body", []), getattr(over, "orelse", [])) if node in one), []
    )
    return not any(isinstance(one, (ast.Break, ast.Return, ast.Raise)) for one in block)


def _trains(loop: ast.AST) -> bool:
    calls = (one for one in ast.walk(loop) if isinstance(one, ast.Call))
    return any(_TRAINS.search(last_name(one.func)) for one in calls)


def _is_made_in(code: str, loop: ast.AST) -> bool:
    """Whether each round of a loop has another model, which the next one leaves alone."""
    if code.partition(".")[0] in stored([loop]):
        return True
    return any(
        isinstance(one, ast.Attribute)
        and isinstance(one.ctx, ast.Store)
        and ast.unparse(one) == code
        for one in ast.walk(loop)
    )


def _is_after(use: ast.Call | ast.Return, loop: ast.AST, name: str, body: Body) -> bool:
    """Whether it comes after a loop, with nothing else in that name since."""
    end = getattr(loop, "end_lineno", None) or 0
    since = (
        one
        for one in body.nodes
        if isinstance(one, (ast.Name, ast.Attribute))
        and isinstance(one.ctx, ast.Store)
        and end < one.lineno <= use.lineno
    )
    return use.lineno > end and all(ast.unparse(one) != name for one in since)


# --- in an object ---------------------------------------------------------------------------------


def _by_object(methods: Sequence[Body], elsewhere: Sequence[Used]) -> Iterator[tuple[Kept, Used]]:
    """Give what a method keeps in its object, and what puts it back: another call of one."""
    nodes = [node for body in methods for node in body.nodes]
    for body in methods:
        for kept in map(kept_by, body.nodes):
            if kept is None or not kept.name.startswith("self.") or not is_untouched(kept, nodes):
                continue
            use = next(_put_back(kept, body, methods, elsewhere), None)
            if use is not None:
                yield kept, use


def _put_back(
    kept: Kept, body: Body, methods: Sequence[Body], elsewhere: Sequence[Used]
) -> Iterator[Used]:
    for other in methods:
        for use in uses_in(other.nodes):
            is_same = use.name == kept.name and use.into == kept.states.get(use.key)
            if is_same and use.into and (other is not body or _is_apart(kept.node, use.node, body)):
                yield use
    own = kept.name.removeprefix("self")
    for use in elsewhere:  # `model.load_state_dict(stopping.best)`
        is_its = use.name.endswith(own) and not use.name.startswith("self.")
        if is_its and use.key in kept.states and use.into and holds_tensors(use.into):
            yield use


def _is_apart(kept: ast.AST, use: ast.AST, body: Body) -> bool:
    """Whether one test stands around the one and not around the other: another call does that."""
    return any(
        isinstance(node, ast.If) and (kept in inner) != (use in inner)
        for node in body.nodes
        if isinstance(node, ast.If)
        for inner in [list(ast.walk(node))]
        if kept in inner
    )
