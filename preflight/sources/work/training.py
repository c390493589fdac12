"""Says whether code trains: by what stands in it, by the own functions it calls, by their names."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from preflight.sources.work.direct_work import DirectWork
from preflight.sources.work.work_names import DATA, PREPARES, TRAINS, is_running_name, short_name
from preflight.syntax.bodies import COMPREHENSIONS
from preflight.syntax.imports.modules import Modules
from preflight.syntax.running import FUNCTIONS, Ran, expressions, last_name, text_of
from preflight.syntax.scopes import (
    Module,
    NameScope,
    Own,
    called_parameters,
    inner_scope,
    is_generator,
    only_returns,
    statements_of,
    takes_mode,
)
from preflight.syntax.surroundings import Function, called

# They ask a generator for its values.
_ASKS = frozenset({"next", "list", "tuple", "set", "dict", "sum", "max", "min", "sorted", "deque"})

# They run the own function that they are handed, whatever it is: as the program, or in processes.
_RUNNERS = frozenset({"asyncio", "anyio", "trio", "typer", "app"})
_PROGRAMS = frozenset({"Fire", "CLI", "notebook_launcher", "debug_launcher", "launch"})

# They call what they are handed, which may be anything.
_CALLERS = frozenset(
    {"run", "map", "starmap", "submit", "apply", "optimize", "agent", "cli", "call"}
)
_CALLED_LATER = frozenset({"Process", "Thread", "Timer", "partial"})

_APPS = frozenset({"Typer", "Group", "Command", "MultiCommand"})

_MOST_FUNCTIONS = 2_000


class _Work(NamedTuple):
    """Work found inside a function."""

    what: str
    line: int
    module: Module


class _Followed(NamedTuple):
    """An own function that runs with a statement."""

    own: Own
    name: str
    """As its definition has it: `Core.fit` of `core.fit()`."""

    call: ast.Call | None = None
    """None where something else calls it."""

    is_named: bool = True
    """Whether its name may say what it does; a decorator's speaks of what it decorates."""


@dataclass(slots=True)
class Training:
    """Looks for training in code, and remembers the functions that hold none."""

    modules: Modules
    direct: DirectWork = field(init=False)
    harmless: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.direct = DirectWork(self.modules)

    def of_statement(self, ran: Ran, scope: NameScope) -> str | None:
        """Say what work a statement starts, as a predicate of its place; None where none."""
        every = list(expressions(ran.node))
        direct = self.direct.of_statement(ran, every, scope)
        if direct is not None:
            return direct
        for one in self._followed(ran, every, scope):
            below = self._below(one.own)
            if below is not None:
                is_here = below.module is scope.module
                place = f"line {below.line}" if is_here else f"{below.module.file}:{below.line}"
                return f"calls {one.name}(), which {below.what} in {place}"
            if self._trains_by_name(one, ran, scope.module):
                return f"calls {one.name}()"
        for node in every:
            name = self._program(node, scope) if ran.alone else None
            if name is not None:
                return f"calls {name}()"
        return None

    # --- own functions ----------------------------------------------------------------------------

    def _followed(self, ran: Ran, every: list[ast.expr], scope: NameScope) -> Iterator[_Followed]:
        """Give the own functions that run with a statement."""
        asked = _asked(ran, every)
        for node in every:
            if not isinstance(node, ast.Call):
                continue
            own = self._function(node.func, scope)
            if own is not None and not (is_generator(own) and id(node) not in asked):
                yield _Followed(own, self._shown(node.func, scope), node)
            yield from self._handed(node, own, scope)
        if isinstance(ran.node, FUNCTIONS):
            yield from self._decorated(ran.node, scope)

    def _function(self, callee: ast.expr, scope: NameScope) -> Own | None:
        """Find the own function that calling this runs."""
        if isinstance(callee, ast.Lambda):
            return None  # called at once: its expressions are the statement's
        own = self.modules.resolve(callee, scope)
        if own is None or isinstance(own.node, Module):
            return None
        if isinstance(own.node, ast.ClassDef):
            return self.modules.method(own, "__call__" if own.is_made else "__init__")
        return own

    def _shown(self, callee: ast.expr, scope: NameScope) -> str:
        own = self.modules.resolve(callee, scope)
        if own is not None and isinstance(own.node, ast.ClassDef):
            return f"{own.node.name}.{'__call__' if own.is_made else '__init__'}"
        if isinstance(callee, ast.Attribute):
            holder = self.modules.resolve(callee.value, scope)
            if holder is not None and isinstance(holder.node, ast.ClassDef):
                return f"{holder.node.name}.{callee.attr}"
        if own is not None and isinstance(callee, ast.Call):  # `partial(train)()`
            return str(getattr(own.node, "name", "it"))
        return short_name(callee)

    def _handed(self, call: ast.Call, callee: Own | None, scope: NameScope) -> Iterator[_Followed]:
        """Give the own functions among a call's arguments that it calls in turn."""
        name = called(call)
        if callee is not None:
            wanted = called_parameters(callee)
            given = [one for index, one in enumerate(call.args) if index in wanted]
            given += [one.value for one in call.keywords if one.arg in wanted]
        elif name in _CALLERS | _PROGRAMS:
            given = [*call.args, *(one.value for one in call.keywords)]
        elif name == "start" and isinstance(call.func, ast.Attribute):
            made = self.direct.value_of(call.func.value, scope)
            if not isinstance(made, ast.Call) or called(made) not in _CALLED_LATER:
                return
            given = [*made.args, *(one.value for one in made.keywords)]
        else:
            return
        for argument in given:
            if isinstance(argument, (ast.Name, ast.Attribute)):
                own = self.modules.resolve(argument, scope)
                if own is not None and isinstance(own.node, Function):
                    yield _Followed(own, short_name(argument))

    def _decorated(
        self, node: ast.FunctionDef | ast.AsyncFunctionDef, scope: NameScope
    ) -> Iterator[_Followed]:
        """Give an own decorator, which is called, and the function if the decorator calls it."""
        for decorator in node.decorator_list:
            own = None if isinstance(decorator, ast.Call) else self._function(decorator, scope)
            if own is not None:
                yield _Followed(own, short_name(decorator), is_named=False)
                # A decorator that is decorated itself is handed the function later, if at all.
                if 0 in called_parameters(own) and not getattr(own.node, "decorator_list", ()):
                    yield _Followed(Own(node, scope), node.name)

    def _below(self, function: Own) -> _Work | None:
        """Find work in an own function, or in any that it calls; else a name that speaks of it."""
        waiting, seen = [function], {id(function.node)}
        named: _Work | None = None
        while waiting and len(seen) < _MOST_FUNCTIONS:
            own = waiting.pop(0)
            if id(own.node) in self.harmless:
                continue
            scope = inner_scope(own)
            for ran in statements_of(own):
                every = list(expressions(ran.node))
                what = self.direct.of_statement(ran, every, scope)
                if what is not None:
                    return _Work(what, ran.line, scope.module)
                for one in self._followed(ran, every, scope):
                    if named is None and self._trains_by_name(one, ran, scope.module):
                        named = _Work(f"calls {one.name}()", ran.line, scope.module)
                    if id(one.own.node) not in seen:
                        seen.add(id(one.own.node))
                        waiting.append(one.own)
        if named is None:
            self.harmless |= seen
        return named

    # --- names ------------------------------------------------------------------------------------

    def _trains_by_name(self, one: _Followed, ran: Ran, module: Module) -> bool:
        """Whether a name alone says that an own function trains, or runs what does."""
        holder, _, name = one.name.rpartition(".")
        if is_generator(one.own) or not one.is_named:
            return False
        owner = one.own.scope.owner
        if owner is not None:
            if PREPARES.search(holder):
                return False
            made = Own(owner, one.own.scope)
            if name == "train" and (takes_mode(one.own) or self.direct.is_of_model(made)):
                return False
        if TRAINS.match(name):
            return ran.alone or not (only_returns(one.own) or _keeps_data(ran, name))
        # Of another module's `run` its code says enough.
        is_here = ran.alone and one.own.scope.module is module
        if not is_here or not is_running_name(name, in_loop=ran.in_loop):
            return False
        return one.call is None or not _is_about_text(one.call)

    def _program(self, node: ast.expr, scope: NameScope) -> str | None:
        """Name what is run as the program: a command, an app, or what a runner is handed."""
        if not isinstance(node, ast.Call):
            return None
        own = self.modules.resolve(node.func, scope)
        name = last_name(node.func)
        if own is None and isinstance(node.func, ast.Name):
            value = self.direct.value_of(node.func, scope)
            if isinstance(value, ast.Call) and called(value) in _APPS:
                return name
            if value is not None and TRAINS.match(name):
                return name  # imported from where it cannot be read
        if own is not None and any(map(_is_command, getattr(own.node, "decorator_list", ()))):
            return name
        holder = last_name(node.func.value) if isinstance(node.func, ast.Attribute) else ""
        if name not in _PROGRAMS and not (name == "run" and holder in _RUNNERS):
            return None
        handed = (one.func if isinstance(one, ast.Call) else one for one in node.args)
        named = (one for one in handed if isinstance(one, (ast.Name, ast.Attribute)))
        return next((short_name(one) for one in named if self.direct.is_function(one, scope)), None)


def _asked(ran: Ran, every: list[ast.expr]) -> set[int]:
    """Give the calls whose values are gone through, so that generators run."""
    asked = [ran.node.iter] if isinstance(ran.node, (ast.For, ast.AsyncFor)) else []
    for node in every:
        if isinstance(node, COMPREHENSIONS):
            asked.extend(one.iter for one in node.generators)
        elif isinstance(node, (ast.YieldFrom, ast.Starred)):
            asked.append(node.value)
        elif isinstance(node, ast.Call) and called(node) in _ASKS:
            asked.extend(node.args)
    inner = [argument for one in asked if isinstance(one, ast.Call) for argument in one.args]
    return {id(one) for one in (*asked, *inner)}


def _keeps_data(ran: Ran, name: str) -> bool:
    """Whether `train(…)` gives the data of that split: `train_set = train(root)`."""
    targets = ran.node.targets if isinstance(ran.node, ast.Assign) else []
    names = [last_name(node) for one in targets for node in ast.walk(one)]
    return name == "train" and any(map(DATA.search, names))


def _is_about_text(call: ast.Call) -> bool:
    """Whether it is handed a command line: `run("git status")`, `run(["git", "status"])`."""
    first = call.args[0] if call.args else None
    return text_of(first) is not None or isinstance(first, (ast.JoinedStr, ast.List))


def _is_command(decorator: ast.expr) -> bool:
    """Whether it makes a program of a function: `@click.command()`, `@hydra.main(…)`."""
    made = decorator.func if isinstance(decorator, ast.Call) else decorator
    name = last_name(made)
    holder = last_name(made.value) if isinstance(made, ast.Attribute) else ""
    return name in {"command", "group"} or (name == "main" and holder == "hydra")
