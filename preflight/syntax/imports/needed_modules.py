"""Finds the user's own modules that a script needs: what it imports, and what those import."""

from __future__ import annotations

import ast
import os
import re
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import cache, lru_cache
from typing import NamedTuple

from preflight.syntax.imports.modules import (
    MOST_MODULES,
    BrokenModule,
    Modules,
    dotted_of,
    places_of_job,
)
from preflight.syntax.imports.path_of_modules import added_to_path, texts_in
from preflight.syntax.running import text_of
from preflight.syntax.scopes import Module, absolute
from preflight.syntax.surroundings import Around, called, walk
from preflight.values.this_process import full_path

_RUNS = frozenset({"import_module", "__import__", "run_path", "run_module"})

# What a `try` may catch of all that an import may raise.
_CAUGHT = frozenset({"*", "BaseException", "Exception", "SyntaxError"})

_IMPORTS = re.compile(r"import|run_path|run_module")


class NeededModules(NamedTuple):
    """The modules that a script needs, itself first."""

    modules: tuple[Module, ...]
    lazy: frozenset[str]
    """Files of them that are imported only inside functions, behind tests or under a `try`."""

    started: frozenset[str] = frozenset()
    """Files of them that are run as a script is: `runpy.run_path("x.py", run_name="__main__")`."""

    stops: tuple[BrokenModule, ...] = ()
    """Those that cannot be parsed and that every run imports, so that it ends there."""

    broken: tuple[BrokenModule, ...] = ()
    """Others that cannot be parsed."""


def on_the_way(path: str, root: str, alive: Callable[[], None] = lambda: None) -> NeededModules:
    """Follow the imports of a script, wherever in it they stand; packages run before their modules.

    Modules are looked for beside it, below the job's folder and where a source puts it on sys.path,
    and never among installed ones. What `runpy` runs counts as imported.
    """
    full, home = full_path(path), full_path(root)
    folders = dict.fromkeys((os.path.dirname(full), home, *_packages_around(full, home)))
    folders |= dict.fromkeys((os.path.join(home, "src"), *places_of_job(root)))
    modules = Modules(folders=tuple(folders), root=root)
    named = modules.read_file(full, dotted_of(full, _packages_around(full, home)[-1]))
    if named is None:
        return NeededModules((), frozenset(), stops=tuple(modules.broken.values()))
    packages = [one for one in modules.chain(named.dotted[:-1]) if one is not named]
    way = _Way(modules, home, named)
    way.follow([*packages, named], alive)
    files = tuple(way.found.values())
    lazy = frozenset(one.file for one in files) - way.sure
    stops = tuple(modules.broken[one] for one in way.stops)
    broken = tuple(one for one in modules.broken.values() if one not in stops)
    return NeededModules(files, lazy, frozenset(way.started), stops, broken)


class _Visit(NamedTuple):
    """A module whose imports are followed, one after the other."""

    is_sure: bool
    """Whether those that run when it does; else those that wait for a function."""

    runs: Iterator[Sequence[Module]]
    """What each import runs."""


class _Way:
    """Goes through imports as Python does: what is imported runs before what follows the import.

    Imports inside functions come last. So where there are more modules than are read, those that
    need not run are left out, and the others are the ones that `work_of_import` reads as well.
    """

    def __init__(self, modules: Modules, home: str, named: Module) -> None:
        self._modules, self._home, self._named = modules, home, named
        self._real = cache(os.path.realpath)
        self.found = {self._real(named.path): named}
        self.sure: set[str] = set()
        """Files that are imported by what runs when its file does."""

        self.started = {named.file}
        """Files that are run as a script is."""

        self.stops: list[tuple[str, ...]] = []
        """Modules that cannot be parsed and are imported so."""

        self._later: deque[Module] = deque()
        self._is_known_better = False

    def follow(self, first: Sequence[Module], alive: Callable[[], None]) -> None:
        """Find what runs with these modules, which run in this order."""
        waiting = self._visits(first, is_sure=True)
        while waiting or self._again(waiting):
            those = next(waiting[-1].runs, None)
            if those is None:
                waiting.pop()
                alive()
            else:
                waiting += self._visits(those, is_sure=waiting[-1].is_sure)

    def _again(self, waiting: list[_Visit]) -> bool:
        """Go on with everything, if more is known of where to look or what is run; or functions."""
        if self._is_known_better:
            self._is_known_better = False
            every = self.found.values()
            self._later.extend(one for one in every if one.file not in self.sure)
            sure = [one for one in every if one.file in self.sure]
            waiting += (self._visit(one, is_sure=True) for one in reversed(sure))
        elif self._later:
            waiting.append(self._visit(self._later.popleft(), is_sure=False))
        return bool(waiting)

    def _visits(self, those: Sequence[Module], *, is_sure: bool) -> list[_Visit]:
        """Take note of what an import runs; give visits to what is new of it, the first one last.

        What was imported inside a function before, and now by what is in none, is new again.
        """
        fresh: list[Module] = []
        for one in those:
            place = self._real(one.path)
            is_new = place not in self.found
            own = self.found.setdefault(place, one)
            if is_new or (is_sure and own.file not in self.sure):
                fresh.append(own)
            self.sure |= {own.file} if is_sure else set()
        return [self._visit(one, is_sure=is_sure) for one in reversed(fresh)]

    def _visit(self, module: Module, *, is_sure: bool) -> _Visit:
        return _Visit(is_sure, self._runs(module, is_sure=is_sure))

    def _runs(self, module: Module, *, is_sure: bool) -> Iterator[Sequence[Module]]:
        """Give what each import of a module runs; nobody has looked at it before it is gone to."""
        if self._modules.look_in(added_to_path(module, self._home)):
            self._is_known_better |= module is not self._named
        if is_sure:
            self._later.append(module)
        for node, is_later in _imports(module, is_entry=module.file in self.started):
            if is_sure is is_later and module.file in self.sure:
                continue
            known = len(self._modules.broken)
            those = _run_by(node, module, self._modules)
            new = list(self._modules.broken)[known:] if is_sure else ()
            self.stops += (one for one in new if not self._may_be_a_name(one))
            if isinstance(node, ast.Call) and _is_started(node):
                ran = {one.file for one in those[-1:]} - self.started
                self._is_known_better |= any(one.file in ran for one in self.found.values())
                self.started |= ran
            yield those

    def _may_be_a_name(self, dotted: tuple[str, ...]) -> bool:
        """Whether a package itself may hold what is imported of it, so that no module is."""
        package = self._modules.known.get(dotted[:-1])
        if package is None:
            return False
        names = package.names
        own = names.imports.get(dotted[-1])
        if own is not None and own.name is not None:
            return (*(absolute(own, package) or ()), own.name) != dotted
        return bool(names.stars) or dotted[-1] in names or "__getattr__" in names


def _packages_around(path: str, home: str) -> tuple[str, ...]:
    """Give the folder above the packages that a script lies in; the job's, where it is in none."""
    folder = os.path.dirname(path)
    while os.path.isfile(os.path.join(folder, "__init__.py")):
        folder = os.path.dirname(folder)
    return (home,) if folder == os.path.dirname(path) else (home, folder)


@lru_cache(maxsize=2 * MOST_MODULES)
def _imports(module: Module, *, is_entry: bool) -> tuple[tuple[ast.stmt | ast.Call, bool], ...]:
    """Give what may run another module, in order, and whether that need not be run."""
    those = _imports_in(module, is_entry=is_entry)
    return tuple(sorted(those, key=lambda one: (one[0].lineno, one[0].col_offset)))


def _imports_in(module: Module, *, is_entry: bool) -> Iterator[tuple[ast.stmt | ast.Call, bool]]:
    for node, around in walk(module.parsed.tree, module.parsed.lines_of(_IMPORTS)):
        runs = isinstance(node, ast.Call) and called(node) in _RUNS
        if not isinstance(node, (ast.Import, ast.ImportFrom)) and not runs:
            continue
        tests = {ast.unparse(one.test) for one in around.passed if one.holds}
        if "TYPE_CHECKING" in " ".join(tests) or around.rehearsed:
            continue
        if is_entry or "__main__" not in around.tested:
            yield node, _may_not_run(around)  # type: ignore[misc]  # of the kinds above


def _may_not_run(around: Around) -> bool:
    """Whether code waits for a call or for a test, or its errors are caught around it."""
    tests = [(ast.unparse(one.test), one.holds) for one in around.passed]
    known = [("__main__" in said, holds) for said, holds in tests if "TYPE_CHECKING" not in said]
    is_tested = around.conditional and (not tests or not all(map(all, known)))
    return around.inside is not None or is_tested or bool(around.caught & _CAUGHT)


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
            dotted = dotted_of(full, full_path(modules.root))
            return modules.known.get(dotted) or modules.read_file(full, dotted)
    return None


def _is_started(call: ast.Call) -> bool:
    said = {one.arg: one.value for one in call.keywords}
    name = said.get("run_name") or (call.args[2] if len(call.args) > 2 else None)
    return called(call).startswith("run_") and text_of(name) == "__main__"
