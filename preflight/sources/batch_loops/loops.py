"""Finds loops that take batches apart, and which function of the sources makes their loader."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from preflight.sources.batch_loops.made_by import PASS_ON, made_by, names_in, placed
from preflight.sources.batch_loops.telling import Spans, tells_epoch, untold_epochs
from preflight.sources.batch_loops.uses import uses_of
from preflight.sources.flaws.facts import BatchLoop, Use
from preflight.syntax.bodies import TRIES, Body, caught_in
from preflight.syntax.running import last_name

# Exceptions by which a loop copes with a batch of another form.
_COPES = frozenset({"TypeError", "ValueError", "KeyError", "IndexError", "Exception", ""})

_TAKES = (ast.For, ast.AsyncFor, ast.Assign)

_SIGNS = re.compile(
    rb"\bfor\b[^\n]*,[^\n]*\bin\b|\bnext\(|^[ \t]*\(?\w+,[^\n=]*=[ \t]*\w+[ \t]*$"
    rb"|\bfor[ ](\w+)[ ]in\b(?s:.{1,4000}?)(?:\b\1[.\[]|\bin[ ]\1\b)"
    rb"|[(,]\s*(?:\w+[ ]?=[ ]?)?(?:\w+\.)*\w*(?:[Ll]oader|_dl)\w*(?:\[[^]\n]*\])?\s*[,)]",
    re.MULTILINE,
)


def may_loop(content: bytes) -> bool:
    """Whether the text of a file may hold such a loop, or hand a loader to one."""
    return _SIGNS.search(content) is not None


def batch_loops(every: Sequence[Body], file: str) -> Iterator[BatchLoop]:
    """Give the loops of one file, of all that runs in it."""
    found = [(body, tuple(_taken(body))) for body in every]
    tells = any(tells_epoch(node) for body in every for node in body.nodes)
    if not any(several for _, several in found):
        return
    known = names_in(every, file)
    for body, several in found:
        place = placed(known, body) if several else None
        for taken in several:
            epochs = [] if tells else untold_epochs(body, every, taken.over)
            for made in dict.fromkeys(made_by(taken.over, place, 0)) if place else ():
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
                )


def _written(target: ast.expr) -> str:
    text = ast.unparse(target)
    return text[1:-1] if isinstance(target, ast.Tuple) and text.startswith("(") else text


# --- loops ----------------------------------------------------------------------------------------


class _Taken(NamedTuple):
    line: int
    target: ast.expr
    over: ast.expr
    asks: bool = False
    is_sure: bool = True
    uses: tuple[Use, ...] = ()


def _taken(body: Body) -> Iterator[_Taken]:
    """Give what a function takes apart, and what it goes over to get it."""
    found = [
        (node.lineno, one)
        for node in body.nodes
        if isinstance(node, _TAKES)
        for one in _apart(node)
    ]
    tested, coped = spans(body) if found else ([], [])
    for line, one in found:
        if not is_in(line, coped):
            yield one._replace(is_sure=not is_in(line, tested))


def _apart(node: ast.For | ast.AsyncFor | ast.Assign) -> Iterator[_Taken]:
    """Give what one statement takes apart."""
    if isinstance(node, (ast.For, ast.AsyncFor)):
        target, over = _bare(node.target, node.iter)
        uses = uses_of(target, node.body)
        if isinstance(target, ast.Name):
            yield from _of_body(node, target, over)
        if uses or isinstance(target, (ast.Tuple, ast.List)):
            yield _Taken(node.lineno, target, over, uses=uses)
        return
    drawn = _drawn(node.value)
    if drawn is not None and isinstance(node.targets[0], (ast.Tuple, ast.List)):
        yield _Taken(node.lineno, node.targets[0], drawn)


def _bare(target: ast.expr, over: ast.expr) -> tuple[ast.expr, ast.expr]:
    """Take `enumerate` and its number away."""
    if isinstance(over, ast.Call) and last_name(over.func) in PASS_ON and over.args:
        inner, inner_over = _bare(target, over.args[0])
        return (inner, inner_over) if inner is not target else (target, over)
    if isinstance(over, ast.Call) and last_name(over.func) == "enumerate" and over.args:
        if isinstance(target, ast.Tuple) and len(target.elts) == 2:
            return target.elts[1], over.args[0]
        return ast.Constant(None), over
    return target, over


def _drawn(value: ast.expr) -> ast.expr | None:
    """Give what `next(iter(loader))` draws from."""
    if isinstance(value, ast.Call) and last_name(value.func) == "next" and len(value.args) == 1:
        inner = value.args[0]
        if isinstance(inner, ast.Call) and last_name(inner.func) == "iter" and inner.args:
            return inner.args[0]
    return None


def _of_body(node: ast.For | ast.AsyncFor, name: ast.Name, over: ast.expr) -> Iterator[_Taken]:
    """Give what the first lines of a loop do with the batch, as long as they leave its name."""
    for statement in node.body:
        asks = not isinstance(statement, (ast.Assign, ast.Expr))
        if asks and any(
            isinstance(one, ast.Name) and one.id == name.id for one in ast.walk(statement)
        ):
            yield _Taken(node.lineno, name, over, asks=True)
            return
        if not isinstance(statement, ast.Assign):
            continue
        target, value = statement.targets[0], statement.value
        is_it = isinstance(value, ast.Name) and value.id == name.id
        if is_it and isinstance(target, (ast.Tuple, ast.List)):
            yield _Taken(statement.lineno, target, over)
        targets = (one for each in statement.targets for one in ast.walk(each))
        if any(isinstance(one, ast.Name) and one.id == name.id for one in targets):
            return


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
