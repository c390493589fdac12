"""Finds the user's own modules that a script needs: what it imports, and what those import."""

from __future__ import annotations

import ast
import os
from collections.abc import Callable, Iterator
from typing import NamedTuple

from preflight.syntax.modules import Modules, dotted_of, places_of_job
from preflight.syntax.running import text_of
from preflight.syntax.scopes import Module
from preflight.syntax.surroundings import called, walk


class OnTheWay(NamedTuple):
    """The modules that a script needs, itself first."""

    modules: tuple[Module, ...]
    lazy: frozenset[str]
    """Files of them that are imported inside functions only."""


def on_the_way(path: str, root: str, alive: Callable[[], None] = lambda: None) -> OnTheWay:
    """Follow the imports of a script, wherever in it they stand; packages run before their modules.

    Modules are looked for beside it and below the job's folder, and never among installed ones.
    """
    full, home = os.path.abspath(path), os.path.abspath(root)
    folders = dict.fromkeys((os.path.dirname(full), home, *_packages_around(full, home)))
    folders |= dict.fromkeys((os.path.join(home, "src"), *places_of_job(root)))
    modules = Modules(folders=tuple(folders), root=root)
    named = modules.read_file(full, dotted_of(full, _packages_around(full, home)[-1]))
    if named is None:
        return OnTheWay((), frozenset())
    first = [named, *(one for one in modules.chain(named.dotted[:-1]) if one is not named)]
    found = {os.path.realpath(one.path): one for one in first}
    at_once = {one.file for one in first}
    entered = set(at_once)
    waiting = list(first)
    while waiting:
        module = waiting.pop()
        alive()
        for node, is_later in _imports(module, is_entry=module is named):
            sooner = module.file in at_once and not is_later
            for one in modules.run_by(node, module):
                own = found.setdefault(os.path.realpath(one.path), one)
                if sooner and own.file not in at_once:  # what it imports may be sooner, too
                    at_once.add(own.file)
                    waiting.append(own)
                elif own is one and not sooner and one.file not in entered:
                    waiting.append(own)
                entered.add(own.file)
    files = tuple(found.values())
    return OnTheWay(files, frozenset(one.file for one in files) - at_once)


def _packages_around(path: str, home: str) -> tuple[str, ...]:
    """Give the folder above the packages that a script lies in; the job's, where it is in none."""
    folder = os.path.dirname(path)
    while os.path.isfile(os.path.join(folder, "__init__.py")):
        folder = os.path.dirname(folder)
    return (home,) if folder == os.path.dirname(path) else (home, folder)


def _imports(module: Module, *, is_entry: bool) -> Iterator[tuple[ast.stmt, bool]]:
    """Give the imports that may run, and whether each waits for a function to be called."""
    for node, around in walk(module.parsed.tree):
        statement = _said(node) if isinstance(node, ast.Call) else node
        if not isinstance(statement, (ast.Import, ast.ImportFrom)):
            continue
        tests = {ast.unparse(one.test) for one in around.passed if one.holds}
        if "TYPE_CHECKING" in " ".join(tests) or around.rehearsed:
            continue
        if is_entry or "__main__" not in around.tested:
            yield statement, around.inside is not None


def _said(call: ast.Call) -> ast.stmt | None:
    """Write `import_module("a.b")` as the import that it is."""
    text = text_of(call.args[0]) if call.args else None
    if text is None or called(call) not in {"import_module", "__import__"}:
        return None
    name = text.lstrip(".")
    if name == text:
        return ast.Import([ast.alias(name)])
    return ast.ImportFrom(name, [ast.alias("*")], len(text) - len(name))
