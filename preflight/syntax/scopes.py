"""Collects the names that code gives to things, without importing anything."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from preflight.syntax.parsing import Parsed
from preflight.syntax.running import Ran, running

Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


@dataclass(frozen=True, slots=True)
class Imported:
    """What one name of an import stands for."""

    level: int
    """Dots before the name."""

    module: tuple[str, ...]
    name: str | None
    """What is taken out of the module; None where the name is the module itself."""


@dataclass(slots=True)
class Names:
    """The names that a module, a class or a function gives to things, by the first use of each."""

    functions: dict[str, Function] = field(default_factory=dict)
    classes: dict[str, ast.ClassDef] = field(default_factory=dict)
    values: dict[str, ast.expr | None] = field(default_factory=dict)
    """What is assigned; None for parameters, which may be anything."""

    imports: dict[str, Imported] = field(default_factory=dict)
    stars: list[Imported] = field(default_factory=list)

    def __contains__(self, name: str) -> bool:
        return any(name in one for one in (self.functions, self.classes, self.values, self.imports))


@dataclass(frozen=True, slots=True, eq=False)
class Module:
    """One file of the user's, read."""

    file: str
    """As reports name it."""

    path: str
    dotted: tuple[str, ...]
    is_package: bool
    parsed: Parsed
    names: Names


@dataclass(frozen=True, slots=True, eq=False)
class NameScope:
    """Where a name is looked up."""

    module: Module
    names: tuple[Names, ...]
    """The innermost first; the module's are last."""

    owner: ast.ClassDef | None = None
    """The class whose method this is."""


@dataclass(frozen=True, slots=True, eq=False)
class Own:
    """Something of the user's own that a name stands for."""

    node: Function | ast.ClassDef | Module
    scope: NameScope
    """Where it is defined."""

    is_made: bool = False
    """Whether it is an object of the class, not the class."""


def holder_class(own: Own) -> ast.ClassDef | None:
    """Give the class of an object or a class."""
    return own.node if isinstance(own.node, ast.ClassDef) else None


def module_scope(module: Module) -> NameScope:
    """Look names up at the top level of a module."""
    return NameScope(module, (module.names,))


def inner_scope(own: Own) -> NameScope:
    """Look names up inside an own function."""
    names = Names()
    if isinstance(own.node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
        body = [] if isinstance(own.node, ast.Lambda) else own.node.body
        names = names_of(running(body))
        arguments = own.node.args
        every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        every.extend(one for one in (arguments.vararg, arguments.kwarg) if one is not None)
        for one in every:
            names.values[one.arg] = None
    return NameScope(own.scope.module, (names, *own.scope.names), own.scope.owner)


def module_of(
    parsed: Parsed,
    *,
    file: str,
    path: str = "",
    dotted: tuple[str, ...] = (),
    is_package: bool = False,
) -> Module:
    """Make a module of parsed code."""
    names = names_of(running(parsed.tree.body))
    return Module(file, path, dotted, is_package, parsed, names)


def names_of(statements: Iterator[Ran]) -> Names:
    """Collect the names that statements give; those of class bodies are not among them."""
    names = Names()
    hidden: set[int] = set()
    for ran in statements:
        node = ran.node
        if id(node) in hidden:
            hidden.update(id(one) for one in _statements_in(node))
            continue
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            names.functions.setdefault(node.name, node)
        elif isinstance(node, ast.ClassDef):
            names.classes.setdefault(node.name, node)
            hidden.update(id(one) for one in node.body)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            add_import(names, node)
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    names.values.setdefault(target.id, node.value)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value:
            names.values.setdefault(node.target.id, node.value)
    return names


def _statements_in(node: ast.stmt) -> list[ast.stmt]:
    return [one for one in ast.iter_child_nodes(node) if isinstance(one, ast.stmt)]


def add_import(names: Names, node: ast.stmt) -> None:
    """Add what an import statement names."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            parts = tuple(alias.name.split("."))
            own = alias.asname or parts[0]
            names.imports[own] = Imported(0, parts if alias.asname else parts[:1], None)
    elif isinstance(node, ast.ImportFrom):
        parts = tuple(node.module.split(".")) if node.module else ()
        for alias in node.names:
            one = Imported(node.level, parts, alias.name)
            if alias.name == "*":
                names.stars.append(one)
            else:
                names.imports[alias.asname or alias.name] = one


def absolute(one: Imported, module: Module) -> tuple[str, ...] | None:
    """Give the full name of what is imported; None where it leads out of the package."""
    if one.level == 0:
        return one.module
    package: Sequence[str] = module.dotted if module.is_package else module.dotted[:-1]
    up = one.level - 1
    if up >= len(package):
        return None
    return (*package[: len(package) - up], *one.module)
