"""Finds the user's lines that make the stages of a pipeline, in the sources of what made it."""

from __future__ import annotations

import ast
import functools
import linecache
import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from preflight.objects.facts import Definition
from preflight.objects.source_trees import parsed, source_of
from preflight.syntax.running import last_name
from preflight.values.names import name_of


class _Call(NamedTuple):
    """A call in the user's source."""

    name: str
    node: ast.Call
    file: str
    line: int
    inside: bool
    """Whether it stands in the factory itself."""


class Lines:
    """The calls in the file of a loader's factory, and in the user's other files.

    Which those are is asked when a line is: most loaders have no pipeline.
    """

    def __init__(
        self, made: Definition, root: str, others: Callable[[], Sequence[str]] = tuple
    ) -> None:
        self.root = root
        self._made = made
        self._others = others

    def of(self, *names: str, args: Sequence[Any] = (), given: str = "") -> Definition:
        """Give the line that calls one of these, or that gives an argument of this name.

        Of several, the one of the same first literal, then the only one in the factory itself or in
        its file; of several alike none, since any may be the one.
        """
        found = [
            one
            for one in self._calls
            if one.name in names or (given and any(k.arg == given for k in one.node.keywords))
        ]
        first = args[0] if args and type(args[0]) is str else None
        alike = [one for one in found if first is not None and _first(one.node) == first]
        inside = [one for one in found if one.inside]
        at_home = [one for one in found if one.file == self._files[0]]
        for those in (alike, inside, at_home, found):
            if len({(one.file, one.line) for one in those}) == 1:
                return self._at(those[0])
        return Definition()

    def _at(self, call: _Call) -> Definition:
        text = linecache.getline(call.file, call.line).strip()
        return Definition(file=name_of(call.file, self.root), line=call.line, line_text=text)

    @functools.cached_property
    def _files(self) -> tuple[str, ...]:
        own = os.path.join(self.root, self._made.file) if self._made.file else ""
        return tuple(dict.fromkeys(one for one in (own, *self._others()) if os.path.isfile(one)))

    @functools.cached_property
    def _calls(self) -> list[_Call]:
        return [call for file in self._files for call in self._found(file)]

    def _found(self, file: str) -> Iterator[_Call]:
        tree = parsed(source_of(file))
        if tree is None:
            return
        begins, ends = self._factory(tree) if file == self._files[0] else (0, -1)
        for node in ast.walk(tree):
            if isinstance(node, ast.Call):
                name = last_name(node.func)
                # Of a chain over several lines, the line of the name, not that of its beginning.
                line = node.func.end_lineno or node.lineno
                yield _Call(name, node, file, line, begins <= line <= ends)

    def _factory(self, tree: ast.AST) -> tuple[int, int]:
        """Give the lines of the innermost function or class that begins where the factory does."""
        kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
        found = [n for n in ast.walk(tree) if isinstance(n, kinds) and n.lineno == self._made.line]
        return (found[0].lineno, found[0].end_lineno or found[0].lineno) if found else (0, -1)


def _first(node: ast.Call) -> object:
    return node.args[0].value if node.args and isinstance(node.args[0], ast.Constant) else None
