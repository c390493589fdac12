"""Finds what is work by itself: a loop over a loader, a backward pass, a process that starts."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from preflight.sources.work.work_names import (
    LOADER_CLASSES,
    LOADERS,
    called_method,
    is_loader_name,
    short_name,
)
from preflight.syntax.bodies import COMPREHENSIONS
from preflight.syntax.imports.modules import Modules
from preflight.syntax.running import Ran, last_name
from preflight.syntax.scopes import NameScope, Own
from preflight.syntax.surroundings import Function, called

# They give what they are handed, piece by piece.
_WRAPPERS = frozenset(
    {"enumerate", "tqdm", "trange", "zip", "islice", "track", "iter", "prepare", "cycle", "chain"}
    | {"reversed", "list", "tuple", "log_every", "progress_bar", "MpDeviceLoader"}
)

# They start processes of the own function that they are handed.
_SPAWNERS = frozenset({"spawn", "start_processes"})


@dataclass(frozen=True, slots=True)
class DirectWork:
    """Looks for work in single statements and expressions."""

    modules: Modules

    def of_statement(self, ran: Ran, every: list[ast.expr], scope: NameScope) -> str | None:
        """Say what work a statement and its expressions are; None where they are none."""
        if isinstance(ran.node, (ast.For, ast.AsyncFor)) and self._is_loader(ran.node.iter, scope):
            return "loops over a loader"
        for node in every:
            if isinstance(node, COMPREHENSIONS):
                if any(self._is_loader(one.iter, scope) for one in node.generators):
                    return "loops over a loader"
            elif isinstance(node, ast.Call):
                what = self._call(node, scope) or self._process(ran, node, scope)
                if what is not None:
                    return what
        return None

    def _call(self, call: ast.Call, scope: NameScope) -> str | None:
        name = called(call)
        if name == "next" and call.args and self._is_started(call.args[0], scope):
            return "starts a loader"
        if name in {"list", "tuple"} and call.args and self._is_loader(call.args[0], scope):
            return "goes through a loader"
        what = called_method(call) or self._of_made(call, scope)
        if what == "trains" and name == "train" and self._is_model(call, scope):
            return None
        if what is not None:
            return what
        if name == "LightningCLI" and not _is_false(call, "run"):
            return "trains"
        if name in _SPAWNERS and call.args and self.is_function(call.args[0], scope):
            return f"starts processes that run {short_name(call.args[0])}()"
        return None

    def _of_made(self, call: ast.Call, scope: NameScope) -> str | None:
        """Say what work a method is of what a name was given: `t = Trainer(); t.fit(model)`."""
        if not isinstance(call.func, ast.Attribute):
            return None
        made = self.value_of(call.func.value, scope)
        if made is call.func.value or not isinstance(made, ast.Call):
            return None
        function = ast.Attribute(value=made, attr=call.func.attr)
        return called_method(ast.Call(func=function, args=call.args, keywords=call.keywords))

    def _process(self, ran: Ran, call: ast.Call, scope: NameScope) -> str | None:
        """Say what a process runs that is started here, where it is an own function.

        Whoever makes processes inside of something else, such as a list, starts them.
        """
        made: ast.expr | None = call
        if called(call) == "start" and isinstance(call.func, ast.Attribute):
            made = self.value_of(call.func.value, scope)
        elif getattr(ran.node, "value", None) is call:
            return None
        if isinstance(made, ast.Call) and called(made).endswith("Process"):
            for one in made.keywords:
                if one.arg == "target" and self.is_function(one.value, scope):
                    return f"starts a process that runs {short_name(one.value)}()"
        return None

    def is_function(self, node: ast.expr, scope: NameScope) -> bool:
        """Whether an expression stands for one of the user's functions."""
        own = self.modules.resolve(node, scope)
        return own is not None and isinstance(own.node, Function)

    def value_of(self, node: ast.expr, scope: NameScope) -> ast.expr | None:
        """Give what a name was given here, else the expression itself."""
        if isinstance(node, ast.Name):
            for names in scope.names:
                if node.id in names.values:
                    return names.values[node.id]
        return node

    def _is_model(self, call: ast.Call, scope: NameScope) -> bool:
        """Whether `x.train()` only sets the flag of an own model."""
        if not isinstance(call.func, ast.Attribute):
            return False
        holder = self.modules.resolve(call.func.value, scope)
        return holder is not None and self.is_of_model(holder)

    def is_of_model(self, holder: Own) -> bool:
        """Whether a class comes from something that speaks of a model, as `nn.Module` does."""
        lineage = [one.node for one in self.modules.lineage(holder)]
        bases = [base for one in lineage if isinstance(one, ast.ClassDef) for base in one.bases]
        return any(last_name(one).endswith(("Module", "Model", "Net", "Network")) for one in bases)

    def _is_started(self, node: ast.expr, scope: NameScope) -> bool:
        """Whether it is an iterator over a loader: `iter(loader)`, or a name of one."""
        value = self.value_of(node, scope)
        wraps = isinstance(value, ast.Call) and called(value) in _WRAPPERS
        return wraps and value is not None and self._is_loader(value, scope)

    def _is_loader(self, node: ast.expr, scope: NameScope) -> bool:
        """Whether an expression gives batches of a loader, also through enumerate, zip and tqdm."""
        waiting: list[ast.expr] = [node]
        looked_at = 0
        while waiting and looked_at < 50:
            looked_at += 1
            one = waiting.pop()
            if isinstance(one, ast.Call):
                name = called(one)
                if name in LOADER_CLASSES or (is_loader_name(name) and not name[:1].isupper()):
                    return True
                if name in _WRAPPERS:
                    waiting.extend(one.args)
            elif isinstance(one, ast.Subscript):
                if LOADERS.search(last_name(one.value)):
                    return True
            elif is_loader_name(last_name(one)):
                return True
            elif isinstance(one, ast.Name):
                value = self.value_of(one, scope)
                if isinstance(value, ast.Call):
                    waiting.append(value)
        return False


def _is_false(call: ast.Call, keyword: str) -> bool:
    return any(
        one.arg == keyword and isinstance(one.value, ast.Constant) and one.value.value is False
        for one in call.keywords
    )
