"""Finds the user's own modules, and what a name in them stands for, without importing anything."""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import NamedTuple

from preflight.syntax.parsing import UnparsableError, parse
from preflight.syntax.running import FUNCTIONS
from preflight.syntax.scopes import (
    Imported,
    Module,
    Names,
    NameScope,
    Own,
    absolute,
    add_import,
)
from preflight.syntax.surroundings import Function
from preflight.values.code_name import module_file
from preflight.values.names import name_of
from preflight.values.this_process import full_path

# A job's own modules are tens; nobody writes one of more than two megabytes by hand.
MOST_MODULES = 500
_LARGEST_FILE = 2 << 20  # bytes

# How many names are followed from one to the next: `a = b`, `b = partial(c)`, `from d import c`.
_MOST_HOPS = 16


@lru_cache(maxsize=2 * MOST_MODULES)
def _module(content: bytes, path: str, dotted: tuple[str, ...], root: str) -> Module:
    """Read a module once: several scripts of a job lead to it, and each is followed by itself."""
    return Module(name_of(path, root), parse(content), path, dotted)


class BrokenModule(NamedTuple):
    """A module that cannot be parsed."""

    file: str
    line: str
    """Where, or nothing."""

    reason: str


@dataclass(slots=True)
class Modules:
    """The modules below one folder, each read once and when it is first asked for."""

    folders: tuple[str, ...] = ()
    """Where top-level modules are looked for, the first one first."""

    root: str = ""
    known: dict[tuple[str, ...], Module | None] = field(default_factory=dict)
    broken: dict[tuple[str, ...], BrokenModule] = field(default_factory=dict)
    """Those that are there and cannot be parsed."""

    def look_in(self, folders: Iterable[str]) -> bool:
        """Look in more folders, also for what was not found before; say whether any is new."""
        more = [one for one in dict.fromkeys(folders) if one not in self.folders]
        if more:
            self.folders = (*self.folders, *more)
            self.known = {name: one for name, one in self.known.items() if one is not None}
        return bool(more)

    def find(self, dotted: tuple[str, ...]) -> Module | None:
        """Read a module; None where it is not the user's own, or cannot be read."""
        if dotted not in self.known:
            self.known[dotted] = self._read(dotted)
        return self.known[dotted]

    def _read(self, dotted: tuple[str, ...]) -> Module | None:
        if not dotted or not all(part.isidentifier() for part in dotted):
            return None
        for folder in self.folders:
            path = module_file(folder, dotted)
            if path is not None:
                return self.read_file(path, dotted)
        return None

    def read_file(self, path: str, dotted: tuple[str, ...]) -> Module | None:
        """Read a file as the module of this name."""
        if len(self.known) >= 20 * MOST_MODULES:
            return None
        if sum(one is not None for one in self.known.values()) >= MOST_MODULES:
            return None
        try:
            with open(path, "rb") as file:
                content = file.read(_LARGEST_FILE + 1)
            if len(content) > _LARGEST_FILE:
                return None
            module = _module(content, path, dotted, self.root)
        except OSError:
            return None
        except UnparsableError as error:
            line = str(error.line or "")
            self.broken[dotted] = BrokenModule(name_of(path, self.root), line, str(error))
            return None
        self.known[dotted] = module
        return module

    def run_by(self, node: ast.stmt, module: Module) -> list[Module]:
        """Give the own modules that an import statement runs, packages before what is in them."""
        names = Names()
        add_import(names, node)
        asked: list[tuple[str, ...]] = []
        for one in (*names.imports.values(), *names.stars):
            dotted = absolute(one, module)
            if dotted is None:
                continue
            asked.append(dotted)
            if one.name is not None and one.name != "*":
                asked.append((*dotted, one.name))
        if isinstance(node, ast.Import):
            asked.extend(tuple(alias.name.split(".")) for alias in node.names)
        return [found for dotted in asked for found in self.chain(dotted)]

    def chain(self, dotted: tuple[str, ...]) -> list[Module]:
        """Give a module behind the packages that it lies in, which run first."""
        every = (self.find(dotted[:length]) for length in range(1, len(dotted) + 1))
        return [module for module in every if module is not None]

    def resolve(self, node: ast.expr, scope: NameScope, hops: int = 0) -> Own | None:
        """Say what of the user's own an expression stands for; None where that cannot be told."""
        if hops > _MOST_HOPS:
            return None
        if isinstance(node, ast.Lambda):
            return Own(node, scope)
        if isinstance(node, ast.Name):
            return self._named(node.id, scope, hops)
        if isinstance(node, ast.Attribute):
            return self._attribute(node, scope, hops)
        if isinstance(node, ast.Call):
            return self._result(node, scope, hops)
        return None

    def _named(self, name: str, scope: NameScope, hops: int) -> Own | None:
        if name in {"self", "cls"} and scope.owner is not None:
            return Own(scope.owner, scope.module.scope, is_made=True)
        for index, names in enumerate(scope.names):
            if name in names:
                around = NameScope(scope.module, scope.names[index:], scope.owner)
                return self._in(names, name, around, hops)
        return self._starred(name, scope.module, hops)

    def _starred(self, name: str, module: Module, hops: int) -> Own | None:
        """Look for a name in what `from module import *` brings, and in what that brings."""
        waiting, seen = [module], {module}
        while waiting and hops < _MOST_HOPS:
            one = waiting.pop(0)
            if one is not module and name in one.names:
                return self._in(one.names, name, one.scope, hops + 1)
            wanted = [absolute(star, one) for star in one.names.stars]
            found = [self.find(dotted) for dotted in wanted if dotted is not None]
            fresh = [other for other in found if other is not None and other not in seen]
            seen.update(fresh)
            waiting.extend(fresh)
        return None

    def _in(self, names: Names, name: str, scope: NameScope, hops: int) -> Own | None:
        if name in names.functions:
            return Own(names.functions[name], scope)
        if name in names.classes:
            return Own(names.classes[name], scope)
        if name in names.imports:
            return self._imported(names.imports[name], scope.module, hops)
        value = names.values[name]
        return None if value is None else self.resolve(value, scope, hops + 1)

    def _imported(self, one: Imported, module: Module, hops: int) -> Own | None:
        dotted = absolute(one, module)
        if dotted is None:
            return None
        if one.name is None:
            return self._module(dotted)
        if hops >= _MOST_HOPS:
            return None
        found = self.find(dotted)
        if found is None:
            return self._module((*dotted, one.name))
        return self._in_module(found, one.name, hops)

    def _module(self, dotted: tuple[str, ...]) -> Own | None:
        found = self.find(dotted)
        return None if found is None else Own(found, found.scope)

    def _in_module(self, module: Module, name: str, hops: int) -> Own | None:
        """Find what a module calls so, else a module of that name in its package."""
        named = self._named(name, module.scope, hops + 1)
        if named is not None or name in module.names:
            return named
        return self._module((*module.dotted, name))

    def _attribute(self, node: ast.Attribute, scope: NameScope, hops: int) -> Own | None:
        holder = self.resolve(node.value, scope, hops + 1)
        if holder is None:
            return None
        if isinstance(holder.node, Module):
            return self._in_module(holder.node, node.attr, hops)
        return self.method(holder, node.attr, hops)

    def method(self, holder: Own, name: str, hops: int = 0) -> Own | None:
        """Find a method of an own class, or of an own class that it comes from."""
        for one in self.lineage(holder, hops):
            for statement in getattr(one.node, "body", ()):
                if isinstance(statement, FUNCTIONS) and (statement.name == name):
                    owner = holder.node if isinstance(holder.node, ast.ClassDef) else None
                    return Own(statement, replace(one.scope, owner=owner))
        return None

    def lineage(self, holder: Own, hops: int = 0) -> Iterator[Own]:
        """Give a class and the own classes that it comes from, the nearest first."""
        waiting = [holder]
        seen: set[int] = set()
        while waiting and len(seen) < _MOST_HOPS:
            one = waiting.pop(0)
            if not isinstance(one.node, ast.ClassDef) or id(one.node) in seen:
                continue
            seen.add(id(one.node))
            yield one
            bases = [
                self.resolve(base, one.scope, hops + _MOST_HOPS // 2)
                for base in one.node.bases[:_MOST_HOPS]
            ]
            waiting.extend(base for base in bases if base is not None and not base.is_made)

    def _result(self, node: ast.Call, scope: NameScope, hops: int) -> Own | None:
        """Say what a call gives: an object of an own class, or the own function in `partial(f)`."""
        callee = self.resolve(node.func, scope, hops + 1)
        if callee is not None:
            is_class = isinstance(callee.node, ast.ClassDef) and not callee.is_made
            return Own(callee.node, callee.scope, is_made=True) if is_class else None
        if len(node.args) > _MOST_HOPS:
            return None
        for argument in node.args[:2]:
            if isinstance(argument, (ast.Name, ast.Attribute)):
                found = self.resolve(argument, scope, hops + 4)
                if found is not None and isinstance(found.node, Function):
                    return found
        return None


# --- where modules are ----------------------------------------------------------------------------


def places_of_job(root: str) -> Iterator[str]:
    """Give the places below the job's folder where modules are found, libraries left out."""
    base = full_path(root) + os.sep
    libraries = tuple(os.path.join(prefix, "") for prefix in {sys.prefix, sys.base_prefix})
    for place in map(full_path, sys.path):
        inside = place + os.sep
        if not inside.startswith(base) or inside.startswith(libraries):
            continue
        if "site-packages" not in inside and "dist-packages" not in inside:
            yield place


def dotted_of(path: str, folder: str) -> tuple[str, ...]:
    """Name a module by its place below a folder: `("package", "module")`."""
    stem = path.removesuffix(".py").removesuffix(os.sep + "__init__")
    if not stem.startswith(os.path.join(folder, "")):
        return (os.path.basename(stem),)
    return tuple(os.path.relpath(stem, folder).split(os.sep))
