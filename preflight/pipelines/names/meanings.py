"""Says what the names of some files stand for where each is read, once that is found out."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field

from preflight.pipelines.names.handed_over import HandedOver
from preflight.syntax.parsing import everything_in
from preflight.syntax.written_texts import WrittenTexts

ROOTS = frozenset({"WebDataset", "DataPipeline"})
"""The classes that a pipeline begins with."""

# What has a value of its own in the place where it stands.
_GIVEN = (ast.Name, ast.Attribute, ast.Subscript, ast.Call)


@dataclass(slots=True)
class Meanings:
    """What the expressions of some files come to, each name where it stands."""

    given: dict[str, list[ast.expr]] = field(default_factory=dict)
    """What names are given: at their own places, and the constants of each file."""

    handed: HandedOver = field(default_factory=HandedOver)
    grown: dict[int, ast.Call] = field(default_factory=dict)
    """By the calls that begin them, pipelines to which stages were added in their place."""

    adding: set[int] = field(default_factory=set)
    """Calls that add these stages, and are none by themselves."""

    told: dict[int, str] = field(default_factory=dict)
    """By what they are, values that a file of settings gives, each with the file."""

    files: dict[int, int] = field(default_factory=dict)
    """By names and calls, the number of their file, but for those of the first one."""

    @property
    def texts(self) -> WrittenTexts:
        """Give what expressions come to."""
        return WrittenTexts(self.given, self.key)

    def key(self, node: ast.expr) -> str | None:
        """Name a place, or the constant that a name is where nobody has given it another value."""
        if isinstance(node, _GIVEN) and (place := place_of(node)) in self.given:
            return place
        return self.constant(node, node.id) if isinstance(node, ast.Name) else None

    def constant(self, node: ast.AST, name: str) -> str:
        """Name a constant of the file of a node."""
        number = self.number(node)
        return f"{number}:{name}" if number else name

    def number(self, node: ast.AST) -> int:
        """Give the number of the file in which a name or a call stands."""
        return self.files.get(id(node), 0)

    def at_home(self, call: ast.Call, beside: ast.AST) -> ast.Call:
        """Have a call that nobody has written stand in the file of another one."""
        self.files[id(call)] = self.number(beside)
        return call

    def assumed(self, node: ast.expr) -> str:
        """Say which default an expression is made of; empty: of none."""
        return self._of(node, self.handed.defaults)

    def config(self, node: ast.expr) -> str:
        """Name the file of settings of which an expression has a value; empty: of none."""
        return self._of(node, self.told)

    def _of(self, node: ast.expr, said: Mapping[int, str]) -> str:
        waiting, seen, found = [node], set[int](), ""
        while waiting:
            for one in everything_in(waiting.pop()):
                if id(one) in seen:
                    continue
                seen.add(id(one))
                found = said.get(id(one), found)
                if isinstance(one, ast.expr):
                    waiting += self.given.get(self.key(one) or "", ())
        return found


def chain_of(call: ast.Call, texts: WrittenTexts) -> list[ast.Call]:
    """Give a call, the one whose outcome it is a method of, and so on, also by way of names."""
    chain = [call]
    while isinstance(chain[-1].func, ast.Attribute):
        inner = texts.meant(chain[-1].func.value)
        if not isinstance(inner, ast.Call) or any(inner is one for one in chain):
            break
        chain.append(inner)
    return chain


def place_of(node: ast.expr) -> str:
    """Name the one place where something is read; no name of Python is a number."""
    return str(id(node))
