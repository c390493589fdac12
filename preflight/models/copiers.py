"""Finds the line of the job's sources that copies a model, and who makes the copy."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from preflight.objects.facts import Definition
from preflight.syntax.copies import Code, model_copies
from preflight.syntax.parsing import UnparsableError, parse
from preflight.syntax.surroundings import called
from preflight.values.names import name_of

# These keep an average of the parameters only (diffusers, torch_ema).
_AVERAGERS = frozenset({"EMAModel", "ExponentialMovingAverage"})

_INNER = re.compile(r"\.module$|\bunwrap\w*\(")

_LONGEST = 60


class Copier(NamedTuple):
    """A call in the job's sources that copies a model."""

    at: Definition | None = None
    call: str | None = None
    of_package: str | None = None
    """What is called, where it is none of the job's own classes and no `deepcopy`."""

    averages_parameters: str | None = None
    """Where there is none: the call that keeps parameters only, with its place."""

    with_memo: bool = False
    """Whether every copy is made with a memo, which says what it shares."""

    of_inner: bool = False
    """Whether every call is given what a wrapper holds: `….module`, `unwrap_model(…)`."""


def find_copier(sources: Sequence[str], root: str) -> Copier:
    """Find the call that copies a model; a class made for it goes before a bare `deepcopy`."""
    code = [*_parsed(sources, root)]
    found = model_copies(code)
    if not found:
        return Copier(averages_parameters=next(_averagers(code), None))
    first = found[0]
    text = ast.unparse(first.call)
    is_own = first.is_own or not first.by_class
    copies = [one.call for one in found if not one.by_class]
    given = [one.call for one in found if one.by_class] or copies
    return Copier(
        at=Definition(file=first.file, line=first.call.lineno, line_text=text),
        call=short(text),
        of_package=None if is_own else ast.unparse(first.call.func),
        with_memo=is_own and bool(copies) and all(map(_has_memo, copies)),
        of_inner=all(one.args and _INNER.search(ast.unparse(one.args[0])) for one in given),
    )


def short(code: str) -> str:
    """Cut code that is too long to be read in a sentence."""
    return code if len(code) <= _LONGEST else f"{code[: _LONGEST - 3]}..."


def _has_memo(call: ast.Call) -> bool:
    return len(call.args) > 1 or any(one.arg == "memo" for one in call.keywords)


def _averagers(sources: Sequence[Code]) -> Iterator[str]:
    trees = [(one.file, [*ast.walk(one.parsed.tree)]) for one in sources]
    own = {node.name for _, nodes in trees for node in nodes if isinstance(node, ast.ClassDef)}
    for file, nodes in trees:
        for node in nodes:
            if isinstance(node, ast.Call) and node.args and called(node) in _AVERAGERS - own:
                yield f"{short(ast.unparse(node))}, {file}:{node.lineno}"


def _parsed(sources: Sequence[str], root: str) -> Iterator[Code]:
    for file in sources:
        try:
            with open(file, "rb") as stream:
                yield Code(name_of(file, root), parse(stream.read()))
        except (OSError, UnparsableError):
            continue  # what cannot be read as Python names no line; other checks speak of it
