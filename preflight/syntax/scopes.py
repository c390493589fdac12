"""Collects the names that code gives to things, and what calling one of its functions runs."""

from __future__ import annotations

import ast
import functools
import os
from collections.abc import Iterator
from dataclasses import dataclass, field

from preflight.syntax.parsing import Parsed
from preflight.syntax.running import FUNCTIONS, Ran, expressions, running
from preflight.syntax.surroundings import Function


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


@dataclass(frozen=True, eq=False)
class Module:
    """One file of the user's, read."""

    file: str
    """As reports name it."""

    parsed: Parsed
    path: str = ""
    dotted: tuple[str, ...] = ()

    def running(self) -> Iterator[Ran]:
        """Give the statements that run when it is imported."""
        return running(self.parsed.tree.body)

    @functools.cached_property
    def names(self) -> Names:
        """What it gives a name at its top level."""
        return names_of(self.running())

    @property
    def scope(self) -> NameScope:
        """Where names are looked up at its top level."""
        return NameScope(self, (self.names,))


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


def inner_scope(own: Own) -> NameScope:
    """Look names up inside an own function."""
    names = names_of(statements_of(own))
    if isinstance(own.node, Function):
        arguments = ast.iter_child_nodes(own.node.args)
        names.values |= {one.arg: None for one in arguments if isinstance(one, ast.arg)}
    return NameScope(own.scope.module, (names, *own.scope.names), own.scope.owner)


def names_of(statements: Iterator[Ran]) -> Names:
    """Collect the names that statements give; those of class bodies are not among them."""
    names = Names()
    hidden: set[int] = set()
    for ran in statements:
        node = ran.node
        if id(node) in hidden:
            hidden.update(map(id, ast.iter_child_nodes(node)))
            continue
        if isinstance(node, FUNCTIONS):
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
    # For a package its relative imports begin with itself, for a module with what holds it.
    up = one.level - (os.path.basename(module.path) == "__init__.py")
    kept = len(module.dotted) - up
    return (*module.dotted[:kept], *one.module) if kept > 0 else None


# --- how a function is built ----------------------------------------------------------------------


def statements_of(own: Own) -> Iterator[Ran]:
    """Give the statements that run when a function is called."""
    if isinstance(own.node, ast.Lambda):
        returned = ast.copy_location(ast.Return(value=own.node.body), own.node.body)
        yield Ran(returned, returned, in_loop=False)
    elif isinstance(own.node, FUNCTIONS):
        yield from running(own.node.body)


def is_generator(own: Own) -> bool:
    """Whether calling it only makes a generator."""
    if not isinstance(own.node, ast.FunctionDef):
        return False
    return any(
        isinstance(node, (ast.Yield, ast.YieldFrom))
        for ran in running(own.node.body)
        for node in expressions(ran.node)
    )


def called_parameters(own: Own) -> frozenset[int | str]:
    """Give the parameters that a function calls itself, by place and by name."""
    if not isinstance(own.node, FUNCTIONS):
        return frozenset()
    arguments = own.node.args
    order = [one.arg for one in (*arguments.posonlyargs, *arguments.args)]
    if order and order[0] in {"self", "cls"}:
        order = order[1:]
    every = {*order, *(one.arg for one in arguments.kwonlyargs)}
    names = {
        node.func.id
        for ran in running(own.node.body)
        for node in expressions(ran.node)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    return frozenset((names & every) | {order.index(name) for name in names if name in order})


def takes_mode(own: Own) -> bool:
    """Whether it is a `train(self, mode=True)`, which sets a flag."""
    if not isinstance(own.node, Function):
        return False
    return any(one.arg == "mode" for one in own.node.args.args)


def only_returns(own: Own) -> bool:
    """Whether a function does nothing but make what it gives."""
    body = getattr(own.node, "body", None)
    if not isinstance(body, list):
        return True
    documented = isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant)
    return len(body) == 1 + documented and isinstance(body[-1], ast.Return)
