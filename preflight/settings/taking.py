"""How a loop takes a batch apart: `images, labels`, `(image, mask), label`, `batch["image"]`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from typing import NamedTuple, TypeAlias

_LOOP = re.compile(r"for\b.*\bin\b.*", re.DOTALL)

# What a batch is called where an attribute of it is asked for, and none is set.
_BATCH = "batch"


class OwnName(NamedTuple):
    """An attribute, which is no key."""

    name: str


Way: TypeAlias = "tuple[str | int | OwnName, ...]"
"""From a batch to a part of it: `batch["meta"].size[0]`."""


class Taking(NamedTuple):
    """What a loop takes a batch, or a part of one, for."""

    text: str
    """As it is written."""

    parts: tuple[Taking, ...] | None = None
    """What is taken apart by its order; None: it is taken as it is."""

    starred: int | None = None
    """The place of the part that takes the rest: `first, *rest`."""

    ways: tuple[Way, ...] = ()
    """What is asked of it by key, place or name: `batch["image"]`."""

    @property
    def takes_apart(self) -> bool:
        """Whether there is anything that can be wrong with a batch."""
        return self.parts is not None or bool(self.ways)


def parse_taking(text: str) -> Taking | None:
    """Read what a loop names, or a line of it: the target of a `for`, keys, `a, b = batch`.

    None where it is none of them.
    """
    line = text.strip()
    try:
        if _LOOP.fullmatch(line):
            return _of_loop(ast.parse(f"{line.rstrip(':')}: pass").body)
        body = ast.parse(line if "=" in line else f"({line}\n)").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    match body:
        case [ast.Expr(value=node)] | [ast.Assign(targets=[_], value=ast.Subscript() as node)]:
            return taking_of(node)
        case [ast.Assign(targets=[_], value=ast.Attribute() | ast.Tuple() as node)]:
            return taking_of(node)
        case [ast.Assign(targets=[target], value=ast.Name())]:
            return taking_of(target)
    return None


def _of_loop(body: list[ast.stmt]) -> Taking | None:
    """Read a whole `for`; of one that counts, what it takes beside the number."""
    if len(body) != 1 or not isinstance(body[0], ast.For):
        return None
    target = body[0].target
    called = {ast.unparse(one.func) for one in ast.walk(body[0].iter) if isinstance(one, ast.Call)}
    if "enumerate" in called and isinstance(target, ast.Tuple) and len(target.elts) == 2:
        target = target.elts[1]
    return taking_of(target)


def taking_of(node: ast.expr) -> Taking | None:
    """Say what the target of a loop takes; None where it is no target."""
    text = ast.unparse(node)
    if isinstance(node, ast.Set):
        keys = map(_constant, node.elts)
        return _by_ways(text, [None if key is None else (key,) for key in keys])
    if isinstance(node, (ast.Tuple, ast.List)):
        if node.elts and all(map(_asks, node.elts)):
            return _by_ways(text, map(_way, node.elts))
        return _in_order(text, node.elts)
    if _asks(node):
        return _by_ways(text, [_way(node)])
    return Taking(text) if isinstance(node, (ast.Name, ast.Attribute)) else None


def _asks(node: ast.expr) -> bool:
    """Whether a part is asked for, rather than a target named."""
    if isinstance(node, ast.Attribute):
        inner = node.value
        return (isinstance(inner, ast.Name) and inner.id == _BATCH) or _asks(inner)
    return isinstance(node, ast.Subscript)


def _way(node: ast.expr) -> Way | None:
    """Say how a part is come to; None where that is not written out."""
    if isinstance(node, ast.Name):
        return ()
    if not isinstance(node, (ast.Subscript, ast.Attribute)):
        return None
    before = _way(node.value)
    step = OwnName(node.attr) if isinstance(node, ast.Attribute) else _constant(node.slice)
    return None if before is None or step is None else (*before, step)


def _constant(node: ast.expr) -> str | int | None:
    try:
        value = ast.literal_eval(node)
    except ValueError:
        return None
    return value if isinstance(value, (str, int)) else None


def _by_ways(text: str, ways: Iterable[Way | None]) -> Taking | None:
    known = tuple(ways)
    found = tuple(one for one in known if one is not None)
    return Taking(text, ways=found) if found and len(found) == len(known) else None


def _in_order(text: str, nodes: list[ast.expr]) -> Taking | None:
    stars = [place for place, one in enumerate(nodes) if isinstance(one, ast.Starred)]
    inner = [taking_of(one.value if isinstance(one, ast.Starred) else one) for one in nodes]
    parts = tuple(one for one in inner if one is not None)
    if not nodes or len(stars) > 1 or len(parts) != len(inner):
        return None
    return Taking(text, parts, stars[0] if stars else None)
