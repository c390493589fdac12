"""Finds where Python code reads an environment variable that it cannot do without.

The code is parsed and never run. A read counts as guarded where anything around it says that its
author thought of the variable being absent; whoever is in doubt is believed.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from preflight.host.environment import launcher_of
from preflight.sources.facts import EnvironmentRead
from preflight.syntax.parsing import Parsed, code_of
from preflight.syntax.surroundings import Around, all_nodes, called, walk

# Which exceptions a handler must name to catch each of ours.
_EVERYTHING = frozenset({"Exception", "BaseException", "*"})
_CAUGHT_BY = {
    "KeyError": _EVERYTHING | {"KeyError", "LookupError"},
    "TypeError": _EVERYTHING | {"TypeError"},
    "AttributeError": _EVERYTHING | {"AttributeError"},
}


class Store(NamedTuple):
    """One place that sets a variable."""

    variable: str
    line: int
    inside: str | None


class FoundReads(NamedTuple):
    """Everything about the environment in one file."""

    reads: tuple[EnvironmentRead, ...] = ()
    """As if nothing were set."""

    stores: tuple[Store, ...] = ()
    loads_dotenv: bool = False
    """Whether variables are also taken from a file `.env`."""


def environment_reads(parsed: Parsed, file: str, *, about: str = "") -> FoundReads:
    """Find all reads and stores of one file.

    Args:
        parsed: what stands in it.
        file: as reports name it.
        about: its name, where that may say what it is for.
    """
    tree, lines = parsed.tree, parsed.lines
    if not any("env" in line for line in lines):  # environ, getenv, putenv, load_dotenv
        return FoundReads()
    names = _names(tree)
    hard: list[tuple[EnvironmentRead, Around]] = []
    needed: set[int] = set()
    stores: list[Store] = []
    soft: set[str] = set()
    dotenv = False
    for node, around in walk(tree, about):
        read = _hard_read(node, names)
        if read is not None:
            variable, raises, lookup = read
            needed.add(id(lookup))
            found = EnvironmentRead(
                file=file,
                line=node.lineno,
                variable=variable,
                code=code_of(node, lines),
                line_text=lines[node.lineno - 1] if node.lineno <= len(lines) else "",
                is_set=False,
                raises=raises,
                inside=around.inside,
            )
            hard.append((found, around))
        if id(node) not in needed:
            soft.update(_soft_reads(node, names))
        stores += (Store(name, node.lineno, around.inside) for name in _stored(node, names))
        dotenv = dotenv or (isinstance(node, ast.Call) and called(node) == "load_dotenv")
    reads = [replace(read, guarded=_guarded(read, around, soft)) for read, around in hard]
    reads.sort(key=lambda read: (read.line, read.variable))
    return FoundReads(tuple(reads), tuple(stores), dotenv)


def is_stored_before(read: EnvironmentRead, stores: Sequence[Store]) -> bool:
    """Whether the same file sets the variable before it is read, as far as that can be known."""
    for store in stores:
        if store.variable != read.variable:
            continue
        if store.line < read.line or (read.inside is not None and store.inside != read.inside):
            return True
    return False


def _guarded(read: EnvironmentRead, around: Around, soft: set[str]) -> bool:
    launcher = launcher_of(read.variable)
    if around.caught & _CAUGHT_BY[read.raises or ""] or launcher in around.launchers:
        return True
    if _names_it(read.variable, launcher, around.tested):
        return True
    return around.conditional and _names_it(read.variable, launcher, soft)


def _names_it(variable: str, launcher: str | None, texts: set[str] | frozenset[str]) -> bool:
    """Whether one of the texts is the variable, or another one that the same launcher sets."""
    if launcher is None:
        return variable in texts
    return any(launcher_of(text) == launcher for text in texts)


# --- the names under which a file knows the environment -------------------------------------------


class _Names(NamedTuple):
    os: frozenset[str]
    environ: frozenset[str]
    getenv: frozenset[str]


def _names(tree: ast.Module) -> _Names:
    modules, environs, getenvs = {"os"}, set(), set()
    aliases: list[ast.Assign] = []
    for node in all_nodes(tree):
        if isinstance(node, ast.Import):
            modules.update(one.asname or one.name for one in node.names if one.name == "os")
        elif isinstance(node, ast.ImportFrom) and node.module == "os":
            for one in node.names:
                if one.name == "environ":
                    environs.add(one.asname or one.name)
                elif one.name == "getenv":
                    getenvs.add(one.asname or one.name)
        elif isinstance(node, ast.Assign):
            aliases.append(node)
    known = _Names(frozenset(modules), frozenset(environs), frozenset(getenvs))
    for node in aliases:
        if _is_environ(node.value, known):
            environs.update(one.id for one in node.targets if isinstance(one, ast.Name))
    return _Names(known.os, frozenset(environs), known.getenv)


def _is_environ(node: ast.AST, names: _Names) -> bool:
    if isinstance(node, ast.Name):
        return node.id in names.environ
    return _is_of_os(node, "environ", names)


def _is_of_os(node: ast.AST, attribute: str, names: _Names) -> bool:
    return (
        isinstance(node, ast.Attribute)
        and node.attr == attribute
        and isinstance(node.value, ast.Name)
        and node.value.id in names.os
    )


def _text(node: ast.AST | None) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


# --- one place ------------------------------------------------------------------------------------


def _lookup(node: ast.AST, names: _Names) -> tuple[str, bool] | None:
    """Read `os.environ.get("X")` and `os.getenv("X")`: the variable, and whether None may come."""
    if not isinstance(node, ast.Call) or not node.args:
        return None
    function = node.func
    is_get = (
        isinstance(function, ast.Attribute)
        and function.attr == "get"
        and _is_environ(function.value, names)
    )
    is_getenv = _is_of_os(function, "getenv", names) or (
        isinstance(function, ast.Name) and function.id in names.getenv
    )
    variable = _text(node.args[0])
    if variable is None or not (is_get or is_getenv):
        return None
    defaults = [*node.args[1:], *(keyword.value for keyword in node.keywords)]
    return variable, all(isinstance(one, ast.Constant) and one.value is None for one in defaults)


def _hard_read(node: ast.AST, names: _Names) -> tuple[str, str, ast.AST] | None:
    """Give the variable, the exception and the lookup of an expression that needs the variable."""
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
        variable = _text(node.slice) if _is_environ(node.value, names) else None
        if variable is not None:
            return variable, "KeyError", node
    for part, raises in _parts_that_must_be_text(node):
        found = _lookup(part, names)
        if found is not None and found[1]:
            return found[0], raises, part
    return None


def _parts_that_must_be_text(node: ast.AST) -> list[tuple[ast.AST, str]]:
    """Give the parts of an expression that raise where they are None, and what."""
    if isinstance(node, ast.Attribute):
        return [(node.value, "AttributeError")]
    if isinstance(node, ast.Subscript):
        return [(node.value, "TypeError")]
    if isinstance(node, ast.Call) and _wants_text(node.func):
        return [(one, "TypeError") for one in node.args]
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Div)):
        return [(node.left, "TypeError"), (node.right, "TypeError")]
    if isinstance(node, ast.Compare) and isinstance(node.ops[-1], (ast.In, ast.NotIn)):
        return [(node.comparators[-1], "TypeError")]
    return []


def _wants_text(function: ast.expr) -> bool:
    if isinstance(function, ast.Name):
        return function.id in {"int", "float", "len", "Path"}
    if not isinstance(function, ast.Attribute):
        return False
    owner = function.value
    of_path = owner.attr if isinstance(owner, ast.Attribute) else getattr(owner, "id", None)
    return function.attr == "Path" or (
        of_path in {"path", "osp"} and function.attr in {"join", "exists", "isdir", "abspath"}
    )


def _soft_reads(node: ast.AST, names: _Names) -> Iterator[str]:
    """Give the variables of which the author knew that they may be absent."""
    found = _lookup(node, names)
    if found is not None:
        yield found[0]
    if isinstance(node, ast.Compare) and isinstance(node.ops[0], (ast.In, ast.NotIn)):
        variable = _text(node.left)
        if variable is not None and _is_environ(node.comparators[0], names):
            yield variable


def _stored(node: ast.AST, names: _Names) -> Iterator[str]:
    """Give the variables that a statement or a call sets."""
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
        if _is_environ(node.value, names):
            yield _text(node.slice) or ""
    elif isinstance(node, ast.AugAssign) and _is_environ(node.target, names):
        yield from _keys(node.value)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if node.func.attr == "setdefault" and _is_environ(node.func.value, names):
            yield from filter(None, map(_text, node.args[:1]))
        elif node.func.attr == "update" and _is_environ(node.func.value, names):
            yield from (keyword.arg for keyword in node.keywords if keyword.arg)
            for one in node.args:
                yield from _keys(one)
        elif _is_of_os(node.func, "putenv", names):
            yield from filter(None, map(_text, node.args[:1]))


def _keys(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Dict):
        yield from filter(None, map(_text, node.keys))
    elif isinstance(node, ast.Call) and called(node) == "dict":
        yield from (keyword.arg for keyword in node.keywords if keyword.arg)
