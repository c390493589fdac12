"""Finds where Python code reads an environment variable that it cannot do without.

The code is parsed and never run. A read counts as guarded where anything around it says that its
author thought of the variable being absent; whoever is in doubt is believed.
"""

from __future__ import annotations

import ast
import contextlib
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from preflight.host.environment import launcher_of
from preflight.sources.facts import Conditions, EnvironmentRead, Store
from preflight.syntax.full_names import full_name, imported
from preflight.syntax.parsing import Parsed, code_of
from preflight.syntax.process_groups import JOINS, names_of_torch, needed_by
from preflight.syntax.running import is_none, text_of
from preflight.syntax.surroundings import Around, called, walk
from preflight.syntax.written_texts import only_names, written_keys, written_names

# Who speaks of the environment says one of these, unless by another name that it has given.
_WORDS = f"environ|getenv|putenv|dotenv|{JOINS}"

_ASKED = frozenset({"os", "os.environ", "os.getenv", "os.putenv"})

# Who gives them such a name writes one of these; what begins with a letter is found sooner.
_RENAMES = re.compile(r"os\b.*\bas\b|from\s+os\b|=[\s(]*(?:\w+\.)?environ\b")

_SET_BY_WINDOWS = frozenset(
    {
        *("ALLUSERSPROFILE", "APPDATA", "COMPUTERNAME", "COMSPEC", "HOMEDRIVE", "HOMEPATH"),
        *("LOCALAPPDATA", "NUMBER_OF_PROCESSORS", "PATH", "PATHEXT", "PROGRAMDATA"),
        *("PROGRAMFILES", "PROGRAMFILES(X86)", "PUBLIC", "SYSTEMDRIVE", "SYSTEMROOT", "TEMP"),
        *("TMP", "USERDOMAIN", "USERNAME", "USERPROFILE", "WINDIR"),
    }
)
_ASKS_FOR_WINDOWS = re.compile(r"win(32|dows)|[\"']nt[\"']", re.IGNORECASE)

# Tests around one place that are looked into, and the letters of one.
_MOST_TESTS = 12
_LONGEST_TEST = 300

# Which exceptions a handler must name to catch each of ours.
_EVERYTHING = frozenset({"Exception", "BaseException", "*"})
_CAUGHT_BY = {
    "KeyError": _EVERYTHING | {"KeyError", "LookupError"},
    "TypeError": _EVERYTHING | {"TypeError"},
    "AttributeError": _EVERYTHING | {"AttributeError"},
    "ValueError": _EVERYTHING | {"ValueError"},
}


class FoundReads(NamedTuple):
    """Everything about the environment in one file."""

    reads: tuple[EnvironmentRead, ...] = ()
    """As if nothing were set."""

    stores: tuple[Store, ...] = ()
    loads_dotenv: bool = False
    """Whether variables are also taken from a file `.env`."""


def environment_reads(parsed: Parsed, file: str) -> FoundReads:
    """Find all reads and stores of one file."""
    lines = parsed.lines
    if not any("env" in line or JOINS in line for line in lines):  # environ, getenv, putenv, …
        return FoundReads()
    names = _names(parsed)
    torch = names_of_torch(parsed)
    also = [*(name for name, full in names.items() if full != "os"), *torch]
    spelled = [rf"{re.escape(name)}\b" for name in also]
    places = parsed.lines_of(re.compile("|".join((_WORDS, *spelled))))
    hard: list[tuple[EnvironmentRead, Around]] = []
    needed: set[int] = set()
    stores: list[Store] = []
    soft: set[str] = set()
    dotenv = False
    for node, around in walk(parsed.tree, places):
        by_names = _by_names(node, names, parsed.tree, around)
        for variable, raises, lookup in (*_hard_reads(node, names, torch), *by_names):
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
                stands=standing(around),
            )
            hard.append((found, around))
        if id(node) not in needed:
            soft.update(_soft_reads(node, names))
        if not around.rehearsed:
            stores += (
                Store(name, node.lineno, around.inside)
                for name in _stored(node, names, parsed.tree)
            )
        dotenv = dotenv or (isinstance(node, ast.Call) and called(node) == "load_dotenv")
    reads = [read._replace(guarded=_guarded(read, around, soft)) for read, around in hard]
    reads.sort(key=lambda read: read.line)
    return FoundReads(tuple(reads), tuple(stores), dotenv)


def standing(around: Around) -> Conditions:
    """Say under which tests a place stands, as they have to come out, and what else it is for."""
    tests: list[str] = []
    for test, holds in around.passed[-_MOST_TESTS:]:
        with contextlib.suppress(RecursionError):
            text = ast.unparse(test if holds else ast.UnaryOp(ast.Not(), test))
            tests += [text] if len(text) <= _LONGEST_TEST else []
    return Conditions(tuple(tests), "__main__" in around.tested, around.rehearsed)


def is_stored_before(read: EnvironmentRead, stores: Sequence[Store]) -> bool:
    """Whether the same file sets the variable before it is read, as far as that can be known.

    One that sets what a loop or a config gives may set any, but what launchers set.
    """
    any_name = {read.variable} if launcher_of(read.variable) else {read.variable, ""}
    return any(
        store.variable in any_name
        and (store.line < read.line or (read.inside is not None and store.inside != read.inside))
        for store in stores
    )


def _guarded(read: EnvironmentRead, around: Around, soft: set[str]) -> bool:
    launcher = launcher_of(read.variable)
    if around.caught & _CAUGHT_BY[read.raises or ""] or launcher in around.launchers:
        return True
    if _names_it(read.variable, launcher, around.tested) or _is_for_windows(read):
        return True
    return around.conditional and _names_it(read.variable, launcher, soft)


def _is_for_windows(read: EnvironmentRead) -> bool:
    """Whether it is read on Windows alone, which always sets it."""
    if read.variable.upper() not in _SET_BY_WINDOWS:
        return False
    tests = (one for one in read.stands.tests if not one.startswith("not ") and "!=" not in one)
    return any(map(_ASKS_FOR_WINDOWS.search, tests))


def _names_it(variable: str, launcher: str | None, texts: set[str] | frozenset[str]) -> bool:
    """Whether one of the texts is the variable, or another one that the same launcher sets."""
    if launcher is None:
        return variable in texts
    return any(launcher_of(text) == launcher for text in texts)


# --- the names under which a file knows the environment -------------------------------------------


def _names(parsed: Parsed) -> dict[str, str]:
    """Give the full names of what a file calls otherwise: `{"env": "os.environ", "o": "os"}`."""
    kept: list[str] = []
    places = parsed.lines_of(_RENAMES)
    nodes = [node for node, _ in walk(parsed.tree, places) if isinstance(node, ast.stmt)]
    known = imported(nodes).items()
    names = {"os": "os"} | {name: full for name, full in known if full in _ASKED}
    for node in nodes:
        if isinstance(node, ast.Assign) and full_name(node.value, names) == "os.environ":
            kept += (one.id for one in node.targets if isinstance(one, ast.Name))
    return names | dict.fromkeys(kept, "os.environ")


# --- one place ------------------------------------------------------------------------------------


def _lookup(node: ast.AST, names: Mapping[str, str]) -> tuple[str, bool] | None:
    """Read `os.environ.get("X")` and `os.getenv("X")`: the variable, and whether None may come."""
    if not isinstance(node, ast.Call) or not node.args:
        return None
    variable = text_of(node.args[0])
    if variable is None or full_name(node.func, names) not in {"os.environ.get", "os.getenv"}:
        return None
    defaults = [*node.args[1:], *(keyword.value for keyword in node.keywords)]
    return variable, all(map(is_none, defaults))


def _hard_reads(
    node: ast.AST, names: Mapping[str, str], torch: frozenset[str]
) -> Iterator[tuple[str, str, ast.AST]]:
    """Give the variable, the exception and the lookup of an expression that needs the variable."""
    yield from ((variable, "ValueError", node) for variable in needed_by(node, torch))
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
        variable = text_of(node.slice) if full_name(node.value, names) == "os.environ" else None
        if variable is not None:
            yield variable, "KeyError", node
            return
    for part, raises in _parts_that_must_be_text(node):
        found = _lookup(part, names)
        if found is not None and found[1]:
            yield found[0], raises, part
            return


def _by_names(
    node: ast.AST, names: Mapping[str, str], tree: ast.Module, around: Around
) -> Iterator[tuple[str, str, ast.AST]]:
    """Give the same of `os.environ[name]`, where it is written out what the name is.

    A test of the name guards whatever it is.
    """
    if not isinstance(node, ast.Subscript) or not isinstance(node.slice, ast.Name):
        return
    if not isinstance(node.ctx, ast.Load) or full_name(node.value, names) != "os.environ":
        return
    name = node.slice.id
    tested = (one for test, _ in around.passed for one in ast.walk(test))
    if not any(isinstance(one, ast.Name) and one.id == name for one in tested):
        yield from ((one, "KeyError", node) for one in only_names(node.slice, tree))


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


def _soft_reads(node: ast.AST, names: Mapping[str, str]) -> Iterator[str]:
    """Give the variables of which the author knew that they may be absent."""
    found = _lookup(node, names)
    if found is not None:
        yield found[0]
    if isinstance(node, ast.Compare) and isinstance(node.ops[0], (ast.In, ast.NotIn)):
        variable = text_of(node.left)
        if variable is not None and full_name(node.comparators[0], names) == "os.environ":
            yield variable


def _stored(node: ast.AST, names: Mapping[str, str], tree: ast.Module) -> Iterator[str]:
    """Give the variables that a statement or a call sets; empty of one that is not written out."""
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
        if full_name(node.value, names) == "os.environ":
            yield from written_names(node.slice, tree) or ("",)
    elif isinstance(node, ast.AugAssign) and full_name(node.target, names) == "os.environ":
        yield from written_keys(node.value, tree) or ("",)
    elif isinstance(node, ast.Call):
        name = full_name(node.func, names)
        if name in {"os.environ.setdefault", "os.putenv"}:
            for one in node.args[:1]:
                yield from written_names(one, tree) or ("",)
        elif name == "os.environ.update":
            yield from (keyword.arg for keyword in node.keywords if keyword.arg)
            unpacked = (keyword.value for keyword in node.keywords if keyword.arg is None)
            for one in (*node.args, *unpacked):
                yield from written_keys(one, tree) or ("",)
