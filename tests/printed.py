"""What the sources may print: each text, and the code in it."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import Path

from preflight.command.cli import preflight as command
from tests.conftest import ROOT

# Calls, arguments by name, options of commands.
CODE = re.compile(
    r"(?<![\w.])[A-Za-z_][\w.]*\([^()\s]*(?:\([^()]*\))?[^()]*\)"
    r"|(?<![\w-])\w+=[\w\"'\[{]+|(?<![\w-])--[a-z][\w-]+"
)


@functools.cache
def literals(folder: str, naming: str = "") -> tuple[tuple[str, str], ...]:
    """Give each text that may be printed, with its file; what is filled in reads `{}`.

    Of files in which `naming` stands nowhere, none is given.
    """
    return tuple(_literals(ROOT / folder, naming))


def _literals(folder: Path, naming: str) -> Iterator[tuple[str, str]]:
    for path in sorted(folder.rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        left: list[ast.AST] = [ast.parse(source)] if naming in source else []
        while left:
            node = left.pop()
            if isinstance(node, ast.Expr):  # what is only told, as by a docstring
                left += ast.iter_child_nodes(node.value)
            elif isinstance(node, ast.JoinedStr):
                pieces = (getattr(one, "value", "{}") for one in node.values)
                yield path.name, "".join(one if isinstance(one, str) else "{}" for one in pieces)
            elif not isinstance(node, ast.Constant):
                left += ast.iter_child_nodes(node)
            elif isinstance(node.value, str):
                yield path.name, node.value


def printed() -> set[str]:
    """Give all code that stands among the words of a check."""
    sentences = (text for _, text in literals("checks") if re.search(r"[a-z]\S* [a-z{]", text))
    return {code for text in sentences for code in CODE.findall(text)}


def own_options() -> set[str]:
    return {
        word
        for one in (command, *command.commands.values())
        for option in one.params
        for word in (*option.opts, *option.secondary_opts)
    }
