"""Finds the user's own modules that a script needs: what it imports, and what those import."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Callable, Iterator
from functools import cache, lru_cache
from typing import NamedTuple

from preflight.syntax.imports.modules import MOST_MODULES, Modules, dotted_of, places_of_job
from preflight.syntax.imports.path_of_modules import added_to_path, texts_in
from preflight.syntax.running import text_of
from preflight.syntax.scopes import Module
from preflight.syntax.surroundings import called, walk

_RUNS = frozenset({"import_module", "__import__", "run_path", "run_module"})
_IMPORTS = re.compile(r"import|run_path|run_module")


class NeededModules(NamedTuple):
    """The modules that a script needs, itself first."""

    modules: tuple[Module, ...]
    lazy: frozenset[str]
    """Files of them that are imported inside functions only."""

    started: frozenset[str] = frozenset()
    """Files of them that are run as a script is: `runpy.run_path("x.py", run_name="__main__")`."""


def on_the_way(path: str, root: str, alive: Callable[[], None] = lambda: None) -> NeededModules:
    """Follow the imports of a script, wherever in it they stand; packages run before their modules.

    Modules are looked for beside it, below the job's folder and where a source puts it on sys.path,
    and never among installed ones. What `runpy` runs counts as imported.
    """
    full, home = os.path.abspath(path), os.path.abspath(root)
    folders = dict.fromkeys((os.path.dirname(full), home, *_packages_around(full, home)))
    folders |= dict.fromkeys((os.path.join(home, "src"), *places_of_job(root)))
    modules = Modules(folders=tuple(folders), root=root)
    named = modules.read_file(full, dotted_of(full, _packages_around(full, home)[-1]))
    if named is None:
        return NeededModules((), frozenset())
    first = [named, *(one for one in modules.chain(named.dotted[:-1]) if one is not named)]
    real = cache(os.path.realpath)
    found = {real(one.path): one for one in first}
    at_once = {one.file for one in first}
    entered = set(at_once)
    started = {named.file}
    waiting = list(first)
    while waiting:
        module = waiting.pop()
        alive()
        if modules.look_in(added_to_path(module, home)) and module is not named:
            waiting.extend(one for one in found.values() if one is not module)
        for node, is_later in _imports(module, is_entry=module.file in started):
            sooner = module.file in at_once and not is_later
            those = _run_by(node, module, modules)
            if isinstance(node, ast.Call) and _is_started(node):
                started.update(one.file for one in those[-1:])
            for one in those:
                own = found.setdefault(real(one.path), one)
                if sooner and own.file not in at_once:  # what it imports may be sooner, too
                    at_once.add(own.file)
                    waiting.append(own)
                elif own is one and not sooner and one.file not in entered:
                    waiting.append(own)
                entered.add(own.file)
    files = tuple(found.values())
    lazy = frozenset(one.file for one in files) - at_once
    return NeededModules(files, lazy, frozenset(started))


def _packages_around(path: str, home: str) -> tuple[str, ...]:
    """Give the folder above the packages that a script lies in; the job's, where it is in none."""
    folder = os.path.dirname(path)
    while os.path.isfile(os.path.join(folder, "__init__.py")):
        folder = os.path.dirname(folder)
    return (home,) if folder == os.path.dirname(path) else (home, folder)


@lru_cache(maxsize=2 * MOST_MODULES)
def _imports(module: Module, *, is_entry: bool) -> tuple[tuple[ast.stmt | ast.Call, bool], ...]:
    """Give what may run another module, and whether each waits for a function to be called."""
    return tuple(_imports_in(module, is_entry=is_entry))


def _imports_in(module: Module, *, is_entry: bool) -> Iterator[tuple[ast.stmt | ast.Call, bool]]:
    for node, around in walk(module.parsed.tree, module.parsed.lines_of(_IMPORTS)):
        runs = isinstance(node, ast.Call) and called(node) in _RUNS
        if not isinstance(node, (ast.Import, ast.ImportFrom)) and not runs:
            continue
        tests = {ast.unparse(one.test) for one in around.passed if one.holds}
        if "TYPE_CHECKING" in " ".join(tests) or around.rehearsed:
            continue
        if is_entry or "__main__" not in around.tested:
            yield node, around.inside is not None  # type: ignore[misc]  # of the kinds above


def _run_by(node: ast.stmt | ast.Call, module: Module, modules: Modules) -> list[Module]:
    if isinstance(node, ast.stmt):
        return modules.run_by(node, module)
    if not node.args:
        return []
    if called(node) == "run_path":
        found = _file_of(node.args[0], module, modules)
        return [] if found is None else [found]
    text = text_of(node.args[0])
    return [] if text is None else modules.run_by(_said(text), module)


def _said(text: str) -> ast.stmt:
    """Write `import_module("a.b")` as the import that it is."""
    name = text.lstrip(".")
    if name == text:
        return ast.Import([ast.alias(name)])
    return ast.ImportFrom(name, [ast.alias("*")], len(text) - len(name))


def _file_of(node: ast.expr, module: Module, modules: Modules) -> Module | None:
    """Read the script that `runpy.run_path` runs: from the job's folder, or else beside it."""
    path = texts_in(module, modules.root).only(node)
    for folder in (modules.root, os.path.dirname(module.path)):
        full = os.path.normpath(os.path.join(folder, path or ""))
        if full.endswith(".py") and os.path.isfile(full):
            dotted = dotted_of(full, os.path.abspath(modules.root))
            return modules.known.get(dotted) or modules.read_file(full, dotted)
    return None


def _is_started(call: ast.Call) -> bool:
    said = {one.arg: one.value for one in call.keywords}
    name = said.get("run_name") or (call.args[2] if len(call.args) > 2 else None)
    return called(call).startswith("run_") and text_of(name) == "__main__"
