"""Finds loops that take batches apart, and which function of the sources makes their loader."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from functools import partial
from typing import NamedTuple

from preflight.sources.batch_loops.asking import asks, is_named
from preflight.sources.batch_loops.made_by import made_by, names_in, placed
from preflight.sources.batch_loops.over_again import OverAgain, RoundsInFile
from preflight.sources.batch_loops.passed_items import PassedItems, only, values_of
from preflight.sources.batch_loops.telling import Spans, tells_epoch, untold_epochs
from preflight.sources.batch_loops.uses import uses_of
from preflight.sources.flaws.facts import BatchLoop, Use
from preflight.syntax.bodies import COMPREHENSIONS, TRIES, Body, caught_in
from preflight.syntax.running import last_name

# Exceptions by which a loop copes with a batch of another form.
_COPES = frozenset({"TypeError", "ValueError", "KeyError", "IndexError", "Exception", ""})

_SIGNS = re.compile(
    rb"\bfor\b[^\n]*,[^\n]*\bin\b|\bnext\(|^[ \t]*\(?\w+,[^\n=]*=[ \t]*\w+[ \t]*$"
    rb"|\bfor[ ](\w+)[ ]in\b(?s:.{1,4000}?)(?:\b\1[.\[]|\bin[ ]\1\b)"
    rb"|\bfor\b[^\n]*\bin\b[^\n:]*(?:[Ll]oader|_dl\b|batches|stream|\b(?:it|gen)\b)"
    rb"|[(,]\s*(?:\w+[ ]?=[ ]?)?(?:\w+\.)*\w*(?:[Ll]oader|_dl)\w*(?:\(|(?:\[[^]\n]*\])?\s*[,)])",
    re.MULTILINE,
)


def may_loop(content: bytes) -> bool:
    """Whether the text of a file may hold such a loop, or hand a loader to one."""
    return _SIGNS.search(content) is not None


def batch_loops(every: Sequence[Body], file: str) -> Iterator[BatchLoop]:
    """Give the loops of one file, of all that runs in it."""
    items = PassedItems(every)
    rounds = RoundsInFile(every, items)
    found = [(body, tuple(_taken(body, items, rounds))) for body in every]
    tells = any(tells_epoch(node) for body in every for node in body.nodes)
    if not any(several for _, several in found):
        return
    known = names_in(every, file)
    for body, several in found:
        for taken in several:
            epochs = [] if tells else untold_epochs(body, every, taken.whole)
            place = placed(known, taken.body)
            for made in dict.fromkeys(made_by(taken.over, place, 0)):
                module, maker = known.home(made.maker)
                yield BatchLoop(
                    file=file,
                    line=taken.line,
                    takes=_written(taken.target),
                    maker=maker,
                    module=module,
                    pick=made.pick,
                    given=made.given,
                    waits=made.waits,
                    is_sure=taken.is_sure,
                    asks=taken.asks,
                    uses=taken.uses,
                    is_in_epochs=is_in(taken.line, epochs),
                    again=f"{file}:{taken.rounds.again}" if taken.rounds.again else "",
                    is_whole=taken.rounds.is_whole,
                    is_iterator=taken.rounds.is_iterator,
                )


def _written(target: ast.expr) -> str:
    text = ast.unparse(target)
    return text[1:-1] if isinstance(target, ast.Tuple) and text.startswith("(") else text


# --- loops ----------------------------------------------------------------------------------------


class _Taken(NamedTuple):
    line: int
    target: ast.expr
    over: ast.expr
    body: Body
    """Where `over` stands."""

    whole: ast.expr
    """What the statement itself goes over."""

    asks: bool = False
    is_sure: bool = True
    uses: tuple[Use, ...] = ()
    rounds: OverAgain = OverAgain()


class _Begun(NamedTuple):
    """What a statement gives a target, before it is known of what it is an item."""

    line: int
    target: ast.expr
    over: ast.expr
    follows: Sequence[ast.stmt] = ()
    """What is done then, in each step."""

    node: ast.AST | None = None
    """The loop."""

    asks: bool = False
    """Whether the statement itself leaves out some, by what they are."""


def _taken(body: Body, items: PassedItems, rounds: RoundsInFile) -> Iterator[_Taken]:
    """Give what a function takes apart, and what it goes over to get it."""
    begun = [*_begun(body)]
    tested, coped = spans(body) if begun else ([], [])
    for one in begun:
        its = OverAgain() if one.node is None else rounds.of_loop(one.node, body)
        for item in items.each(one.target, one.over, body):
            whole = _Taken(one.line, *item, one.over, asks=one.asks, rounds=its)
            for taken in _apart(one, whole, items, body):
                if not is_in(taken.line, coped):
                    yield taken._replace(is_sure=not is_in(taken.line, tested))


def _apart(begun: _Begun, taken: _Taken, items: PassedItems, body: Body) -> Iterator[_Taken]:
    """Give what one statement takes apart, and those that follow."""
    if isinstance(taken.target, ast.Name):
        if taken.asks:
            yield taken
            return
        yield from _of_body(begun.follows, taken, taken.target.id, items)
    handed = partial(items.surely_handed, body=body)
    uses = uses_of(taken.target, begun.follows, handed)
    is_told = taken.rounds.again or taken.rounds.is_whole
    if uses or is_told or isinstance(taken.target, (ast.Tuple, ast.List)):
        yield taken._replace(uses=uses)


def _begun(body: Body) -> Iterator[_Begun]:
    """Give what goes over something, or draws from it."""
    draws = False
    for node in body.nodes:
        if isinstance(node, (ast.For, ast.AsyncFor)):
            yield _Begun(node.lineno, node.target, node.iter, node.body, node)
        elif isinstance(node, COMPREHENSIONS):
            first = node.generators[0]
            chosen = any(is_named(ast.unparse(first.target), one) for one in first.ifs)
            yield _Begun(node.lineno, first.target, first.iter, asks=chosen)
        elif isinstance(node, ast.Call) and last_name(node.func) == "filter":
            if len(node.args) == 2:
                yield _Begun(node.lineno, ast.Name("item"), node.args[1], asks=True)
        elif isinstance(node, ast.Assign) and (drawn := _drawn(node.value)) is not None:
            draws = True
            if not isinstance(node.targets[0], ast.Name):
                yield _Begun(node.lineno, node.targets[0], drawn)
        draws = draws or isinstance(node, ast.NamedExpr)
    if draws:
        yield from _drawn_first(body)


def _drawn(value: ast.expr) -> ast.expr | None:
    """Give what `next(iterator)` draws from."""
    if isinstance(value, ast.Call) and last_name(value.func) == "next" and value.args:
        return value.args[0]
    return None


def _drawn_first(body: Body) -> Iterator[_Begun]:
    """Give batches that have a name before they are taken apart: `batch = next(iterator)`."""
    named: dict[str, ast.expr] = {}
    for name, given in values_of(body).items():
        values = only(given)
        drawn = _drawn(values[0]) if len(values) == 1 else None
        if drawn is not None and name.isidentifier():
            named[name] = drawn
    for holder in (body.node, *body.nodes) if named else ():
        if isinstance(holder, (ast.While, ast.If)):
            chosen = isinstance(holder, ast.If)
            for one in ast.walk(holder.test):
                if isinstance(one, ast.NamedExpr) and one.target.id in named:
                    drawn = named[one.target.id]
                    yield _Begun(one.lineno, one.target, drawn, holder.body, asks=chosen)
        for block in (getattr(holder, field, ()) for field in ("body", "orelse")):
            for place, statement in enumerate(block if isinstance(block, list) else ()):
                inner = statement.body[-1] if isinstance(statement, ast.Try) else statement
                target = inner.targets[0] if isinstance(inner, ast.Assign) else None
                if isinstance(target, ast.Name) and target.id in named:
                    follows = block[place + 1 :]
                    yield _Begun(inner.lineno, target, named[target.id], follows)


def _of_body(
    statements: Sequence[ast.stmt], taken: _Taken, name: str, items: PassedItems
) -> Iterator[_Taken]:
    """Give what the first lines of a loop do with the batch, as long as they leave its name."""
    for statement in statements:
        if asks(statement, name) or _is_asked_about(statement, name, taken.body, items):
            yield taken._replace(asks=True)
            return
        if not isinstance(statement, ast.Assign):
            continue
        target, value = statement.targets[0], statement.value
        is_it = isinstance(value, ast.Name) and value.id == name
        if is_it and isinstance(target, (ast.Tuple, ast.List)):
            yield taken._replace(line=statement.lineno, target=target)
        targets = (one for each in statement.targets for one in ast.walk(each))
        if any(isinstance(one, ast.Name) and one.id == name for one in targets):
            return


def _is_asked_about(statement: ast.stmt, name: str, body: Body, items: PassedItems) -> bool:
    """Whether a function of the file is handed the batch, and asks what it is."""
    for call in ast.walk(statement):
        handed = items.handed(call, name, body) if isinstance(call, ast.Call) else None
        if handed is None:
            continue
        for one in handed.statements:
            if asks(one, handed.name):
                return True
            if is_named(handed.name, one):
                break
    return False


def spans(body: Body) -> tuple[Spans, Spans]:
    """Give what is under a test, and what is under a handler for what another form raises."""
    tested: Spans = []
    coped: Spans = []
    for node in body.nodes:
        if isinstance(node, ast.If) and "__main__" not in ast.dump(node.test):
            tested.append((node.lineno, node.end_lineno or node.lineno))
        elif isinstance(node, TRIES) and not _COPES.isdisjoint(
            name for one in node.handlers for name in caught_in(one)
        ):
            inner = node.body
            coped.append((inner[0].lineno, inner[-1].end_lineno or inner[-1].lineno))
    return tested, coped


def is_in(line: int, spans: Spans) -> bool:
    """Whether a line is within one of these."""
    return any(first <= line <= last for first, last in spans)
