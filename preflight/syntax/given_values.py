"""Says what a file gives to names, and whether a number that is given is more than 0."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from preflight.syntax.parsing import nodes_of
from preflight.syntax.running import key_of, last_name, text_of
from preflight.syntax.surroundings import called

# How far values are followed: `a = b`, `min(8, a)`.
_DEEPEST = 30

# They make an option of a command line; the first words name it.
OPTIONS = frozenset({"add_argument", "option", "Option", "add_option"})

# They give what is there under a name, else their last argument.
_LOOKUPS = frozenset({"get", "getattr", "getenv", "pop", "setdefault"})

_PROCESSORS = frozenset({"cpu_count", "sched_getaffinity", "process_cpu_count"})

# Whoever asks for these before choosing has thought of the systems that spawn.
_PLATFORMS = frozenset({"platform", "system", "uname", "get_start_method"})

_SEVERAL = (ast.Tuple, ast.List)


@dataclass(frozen=True, slots=True)
class Given:
    """What one file gives to its names, wherever in it that is."""

    values: dict[str, list[ast.expr]] = field(default_factory=dict)
    _known: dict[str, bool | None] = field(default_factory=dict)
    _asked: set[str] = field(default_factory=set)
    """Names that are being looked up: what hands them on says nothing new."""

    def is_some(self, node: ast.expr, depth: int = 0) -> bool | None:
        """Say whether an expression is a number above 0; None where the file does not tell."""
        if depth > _DEEPEST:
            return None
        if isinstance(node, ast.Constant):
            return _is_some_constant(node.value)
        name = key_of(node)
        if name is not None:
            return self.of_name(name, depth + 1)
        if isinstance(node, ast.IfExp):
            if _asks_platform(node.test):
                return False
            return _agreed(self.is_some(one, depth + 1) for one in (node.body, node.orelse))
        return self._of_call(node, depth + 1) if isinstance(node, ast.Call) else None

    def of_name(self, name: str, depth: int = 0) -> bool | None:
        """Say whether what a name is given is above 0, where all that it is given agrees."""
        if name not in self._known:
            self._asked.add(name)
            new = (one for one in self.values.get(name, ()) if key_of(one) not in self._asked)
            self._known[name] = _agreed(self.is_some(one, depth) for one in new)
            self._asked.discard(name)
        return self._known[name]

    def _of_call(self, node: ast.Call, depth: int) -> bool | None:
        callee = called(node)
        if callee in _PROCESSORS:
            return True
        if callee in _LOOKUPS and len(node.args) > 1:
            key, default = node.args[-2:]
            name = text_of(key)
            known = None if name is None else self.of_name(name, depth)
            return self.is_some(default, depth) if known is None else known
        each = {self.is_some(one, depth) for one in node.args}
        if callee == "min" and False in each:
            return False
        if callee == "max" and True in each:
            return True
        return _agreed(each) if callee in {"int", "len", "min", "max"} else None


def _is_some_constant(value: object) -> bool | None:
    if isinstance(value, str) and value.isascii() and value.isdigit():
        return value.strip("0") != ""
    return value > 0 if isinstance(value, int) and not isinstance(value, bool) else None


def _agreed(each: Iterable[bool | None]) -> bool | None:
    """Give what all say; None where they differ, or nobody says anything."""
    said = set(each)
    return said.pop() if len(said) == 1 else None


def _asks_platform(test: ast.expr) -> bool:
    return any(
        last_name(one) in _PLATFORMS
        or (isinstance(one, ast.Attribute) and one.attr == "name" and last_name(one.value) == "os")
        for one in ast.walk(test)
    )


# --- what is given to names -----------------------------------------------------------------------


def given_in(nodes: Iterable[ast.AST]) -> Given:
    """Collect what the names of a file are given: by assignments, defaults, keywords and keys."""
    given = Given()
    for node in nodes:
        for name, value in given_by(node):
            if value is not None:
                given.values.setdefault(name, []).append(value)
    return given


def given_by(node: ast.AST) -> Iterator[tuple[str, ast.expr | None]]:
    """Give the names that a statement or an expression gives a value, each with it.

    It is None of parameters and options without a default.
    """
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
        yield from defaults(node.args)
    elif isinstance(node, ast.Dict):
        named = zip(map(text_of, node.keys), node.values, strict=True)
        yield from ((name, value) for name, value in named if name is not None)
    elif isinstance(node, ast.Call):
        if called(node) in OPTIONS:
            yield from _option(node)
        else:
            yield from ((one.arg, one.value) for one in node.keywords if one.arg is not None)
    else:
        each = ((key_of(target), value) for target, value in assigned(node))
        yield from ((name, value) for name, value in each if name is not None)


def assigned(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Give what a statement gives a value to, each with its own, also of `a, b = c, d`."""
    if isinstance(node, ast.Assign):
        for target in node.targets:
            yield from _one_by_one(target, node.value)
    elif isinstance(node, (ast.AnnAssign, ast.NamedExpr)) and node.value is not None:
        yield node.target, node.value


def _one_by_one(target: ast.expr, value: ast.expr) -> Iterator[tuple[ast.expr, ast.expr]]:
    if (
        isinstance(target, _SEVERAL)
        and isinstance(value, _SEVERAL)
        and len(target.elts) == len(value.elts)
    ):
        for one, its in zip(target.elts, value.elts, strict=True):
            yield from _one_by_one(one, its)
    else:
        yield target, value


def defaults(arguments: ast.arguments) -> Iterator[tuple[str, ast.expr | None]]:
    """Give the parameters of a function, each with its default; None: it has none."""
    places = [*arguments.posonlyargs, *arguments.args]
    bare = [None] * (len(places) - len(arguments.defaults))
    names = [one.arg for one in (*places, *arguments.kwonlyargs)]
    yield from zip(names, (*bare, *arguments.defaults, *arguments.kw_defaults), strict=True)


def _option(call: ast.Call) -> Iterator[tuple[str, ast.expr | None]]:
    """Give the default of `add_argument("-j", "--workers", default=4)`, under each of its names."""
    default = next((one.value for one in call.keywords if one.arg == "default"), None)
    words = [*call.args, *(one.value for one in call.keywords if one.arg == "dest")]
    names = (name for name in map(text_of, words) if name is not None)
    yield from ((name.lstrip("-").replace("-", "_"), default) for name in names)


def constants_of(tree: ast.AST) -> dict[str, list[ast.expr]]:
    """Give what each name is given that a file binds once, at its top level and in no function."""
    bound = Counter(name for node in nodes_of(tree) for name in bound_by(node))
    given: dict[str, ast.expr] = {}
    body = [*getattr(tree, "body", ())]
    for node in body:  # grows while it is gone through
        body += node.body if isinstance(node, ast.With) else ()
        if isinstance(node, ast.Assign):
            given |= {one.id: node.value for one in node.targets if isinstance(one, ast.Name)}
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value:
            given[node.target.id] = node.value
    return {name: [value] for name, value in given.items() if bound[name] == 1}


def bound_by(node: ast.AST) -> Iterator[str]:
    """Give the names to which a node itself gives something, or takes it from them."""
    if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
        yield node.id
    elif isinstance(node, ast.arg):
        yield node.arg
    elif isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)):
        yield from filter(None, (node.name,))
    elif isinstance(node, ast.Global):  # whoever says so gives it another value
        yield from node.names
    elif isinstance(node, ast.alias):
        yield (node.asname or node.name).partition(".")[0]
    elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        yield node.name
