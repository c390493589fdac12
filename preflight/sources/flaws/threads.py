"""Says which functions are handed to threads, and how others wait for what these do."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence

from preflight.sources.flaws.facts import Spot, Thread
from preflight.syntax.bodies import Body
from preflight.syntax.parsing import Parsed, code_of
from preflight.syntax.running import last_name

# Where in their arguments calls take the function, if it is not said by name.
_TAKES = {
    "Thread": 1,
    "Timer": 1,
    "submit": 0,
    "run_in_executor": 1,
    "to_thread": 0,
    "start_new_thread": 0,
}

_QUEUE = re.compile(r"(?i)queue|buffer|pending|jobs|(^|_)q$")
_THREAD = re.compile(r"(?i)thread|worker|queue|writer|reader|(^|_)[qt]$")
_ASKED = frozenset({"qsize", "empty", "unfinished_tasks", "is_set", "done"})
_MOST = 4


def threads_in(every: Sequence[Body], parsed: Parsed) -> Mapping[str, Thread]:
    """Give the functions that threads run, by their names with what holds them."""
    known = {one.name for one in every}
    found: dict[str, Thread] = {}
    for body in every:
        found.update(_handed(body, known, parsed))
        found.update(_classes(body, known))
    return {name: one._replace(waits=_waits(every, name, parsed)) for name, one in found.items()}


def _handed(body: Body, known: set[str], parsed: Parsed) -> Iterator[tuple[str, Thread]]:
    for node in body.nodes:
        if not isinstance(node, ast.Call) or last_name(node.func) not in _TAKES:
            continue
        place = _TAKES[last_name(node.func)]
        said = {one.arg: one.value for one in node.keywords}
        given = said.get("target", said.get("function"))
        if given is None and len(node.args) > place:
            given = node.args[place]
        name = _function(given, body, known)
        if name is not None:
            yield name, Thread(node.lineno, code_of(node, parsed.lines))


def _function(given: ast.expr | None, body: Body, known: set[str]) -> str | None:
    """Give the function of this file that an expression is."""
    if isinstance(given, ast.Attribute) and isinstance(given.value, ast.Name):
        holder = body.owner if given.value.id in {"self", "cls"} else given.value.id
        name = f"{holder}.{given.attr}"
        return name if name in known else None
    if not isinstance(given, ast.Name):
        return None
    inner = f"{body.name}.{given.id}" if body.name else given.id
    return next((one for one in (inner, given.id) if one in known), None)


def _classes(body: Body, known: set[str]) -> Iterator[tuple[str, Thread]]:
    """Give the `run` of classes that are threads themselves."""
    for node in body.nodes:
        if isinstance(node, ast.ClassDef) and "Thread" in map(last_name, node.bases):
            name = f"{body.name}.{node.name}.run" if body.name else f"{node.name}.run"
            if name in known:
                code = f"class {node.name}({', '.join(map(last_name, node.bases))})"
                yield name, Thread(node.lineno, code)


def _waits(every: Sequence[Body], name: str, parsed: Parsed) -> tuple[Spot, ...]:
    """Give where its class, or its file, waits: for an item, for the thread, for a flag."""
    holder = name.rpartition(".")[0]
    near = [one for one in every if one.name != name and one.name.startswith(holder)]
    found: dict[int, str] = {}
    for body in near:
        for node in body.nodes:
            if isinstance(node, ast.While) and _asks(node.test):
                found.setdefault(node.lineno, f"while {code_of(node.test, parsed.lines)}")
            elif isinstance(node, ast.Call) and _is_wait(node):
                found.setdefault(node.lineno, code_of(node, parsed.lines))
    return tuple(Spot(line, found[line]) for line in sorted(found)[:_MOST])


def _asks(test: ast.expr) -> bool:
    return any(last_name(node) in _ASKED for node in ast.walk(test))


def _is_wait(call: ast.Call) -> bool:
    if not isinstance(call.func, ast.Attribute):
        return False
    holder = last_name(call.func.value)
    if call.func.attr == "join":
        return not call.args and bool(_THREAD.search(holder))
    if call.func.attr == "get":
        return not call.args and bool(_QUEUE.search(holder))
    return call.func.attr == "result" and not call.args and not call.keywords
