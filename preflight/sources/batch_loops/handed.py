"""Follows loaders from the calls that hand them on to the functions that loop over them."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Iterator, Sequence

from preflight.sources.batch_loops.loops import is_in, spans
from preflight.sources.batch_loops.made_by import ExpressionPlace, made_by, names_in, placed
from preflight.sources.batch_loops.over_again import RoundsInFile
from preflight.sources.batch_loops.passed_items import written
from preflight.sources.flaws.facts import BatchLoop, Handed
from preflight.syntax.bodies import Body

# How often one is handed on, from function to function.
_MOST_HOPS = 6

_NOT_OF_THE_JOB = {*sys.stdlib_module_names, "torch", "numpy", "PIL"}


def handed_on(
    every: Sequence[Body], file: str, loops: Iterable[BatchLoop] = ()
) -> tuple[Handed, ...]:
    """Give what the calls of one file hand to functions of others, or to those that hold its loops.

    Args:
        every: all that runs in the file.
        file: its name.
        loops: those of its loops that go over what a function is handed, and any others.
    """
    found = [
        one
        for one in _handed(every, file)
        if one.to_module.partition("/")[0] not in _NOT_OF_THE_JOB
    ]
    wait = {one.maker for one in loops if one.waits and not one.module}
    before = -1
    while before < len(wait):
        before = len(wait)
        wait |= {one.maker for one in found if one.waits and (one.to_module or one.to in wait)}
    return tuple(dict.fromkeys(one for one in found if one.to_module or one.to in wait))


def _handed(every: Sequence[Body], file: str) -> Iterator[Handed]:
    found = [(body, [*_calls(body)]) for body in every]
    known = names_in(every, file) if any(calls for _, calls in found) else None
    rounds = None if known is None else RoundsInFile(every, known.items)
    for body, calls in found:
        if known is None or rounds is None or not calls:
            continue
        place = placed(known, body)
        tested, coped = spans(body)
        callees: dict[int, list[tuple[str, str]]] = {}
        for call, at, value in calls:
            if is_in(call.lineno, coped):
                continue
            if id(call) not in callees:
                callees[id(call)] = [*_callees(call.func, place)]
            makers = dict.fromkeys(made_by(value, place, 0)) if callees[id(call)] else {}
            its = rounds.of_call(call, value, body) if makers else None
            again = f"{file}:{its.again}" if its is not None and its.again else ""
            for to_module, to in callees[id(call)]:
                for made in makers:
                    module, maker = known.home(made.maker)
                    is_sure = not is_in(call.lineno, tested)
                    more = (maker, module, made.pick, made.given, made.waits, is_sure, again)
                    is_iterator = its is not None and its.is_iterator
                    yield Handed(file, to, to_module, at, *more, is_iterator)


def _calls(body: Body) -> Iterator[tuple[ast.Call, str | int, ast.expr]]:
    for node in body.nodes:
        if not isinstance(node, ast.Call) or not isinstance(node.func, (ast.Name, ast.Attribute)):
            continue
        starred = [isinstance(one, ast.Starred) for one in node.args]
        by_place = node.args[: starred.index(True)] if any(starred) else node.args
        given: list[tuple[str | int, ast.expr]] = [*enumerate(by_place)]
        given += [(one.arg, one.value) for one in node.keywords if one.arg is not None]
        for at, value in given:
            if isinstance(value, (ast.Name, ast.Attribute, ast.Subscript, ast.Call)):
                yield node, at, value


def _callees(function: ast.expr, place: ExpressionPlace) -> Iterator[tuple[str, str]]:
    """Give the module and the name of what is called; of a method, by what makes its object."""
    if isinstance(function, ast.Attribute) and written(function.value) in {"self", "cls"}:
        yield "", f"{place.body.owner}.{function.attr}"
        return
    called = ast.Call(func=function, args=[], keywords=[])
    found = [place.file.home(one.maker) for one in made_by(called, place, 0)]
    yield from found
    if not found and isinstance(function, ast.Attribute):
        for one in made_by(function.value, place, 0):
            module, maker = place.file.home(one.maker)
            yield module, f"{maker}.{function.attr}"


def over_loaders(loops: Iterable[BatchLoop], handed: Iterable[Handed]) -> tuple[BatchLoop, ...]:
    """Give the loops of all files, those over a parameter with what the calls of it hand over."""
    calls: dict[str, list[Handed]] = {}
    for call in handed:
        calls.setdefault(call.to, []).append(call)
    known: dict[BatchLoop, None] = {}
    waiting = list(loops)
    homes: dict[str, set[str]] = {}
    for loop in waiting:
        homes.setdefault(loop.maker, set()).add(loop.module or loop.file)
    for _ in range(_MOST_HOPS):
        known |= dict.fromkeys(one for one in waiting if not one.waits)
        waiting = [
            _through(one, call)
            for one in waiting
            for call in calls.get(one.maker, ())
            if call.at in one.waits and _is_of(call, one.module or one.file)
        ] + [
            _through(one, call._replace(is_sure=False))
            for one in waiting
            for call in calls.get(one.maker, ())
            if call.at in one.waits and _is_below(call, one, homes.get(one.maker, set()))
        ]
    return tuple(known)


def _through(loop: BatchLoop, call: Handed) -> BatchLoop:
    return loop._replace(
        maker=call.maker,
        module=call.module or f"./{_stem(call.file)}",
        pick=f"{call.pick}{loop.pick}",
        given=call.given,
        waits=call.waits,
        is_sure=loop.is_sure and call.is_sure,
        again=loop.again or (call.again if loop.is_whole else ""),
        is_iterator=call.is_iterator or (bool(loop.again) and loop.is_iterator),
    )


def _is_of(call: Handed, home: str) -> bool:
    """Whether what is called is of this module or file."""
    there, stem = _stem(call.to_module or f"./{call.file}"), _stem(home)
    return there == stem or (call.to_module[:2] != "./" and f"/{stem}".endswith(f"/{there}"))


def _is_below(call: Handed, loop: BatchLoop, homes: Iterable[str]) -> bool:
    """Whether what is called is of a package, and this alone has the name below: it hands it on."""
    home = loop.module or loop.file
    if not call.to_module or any(_is_of(call, one) for one in homes):
        return False
    below = [one for one in homes if f"/{_stem(call.to_module)}/" in f"/{_stem(one)}"]
    return below == [home]


def _stem(file: str) -> str:
    return file.removeprefix("./").removesuffix(".py").removesuffix("/__init__")
