"""Parses Python code in any encoding that it may have, and says plainly where it cannot."""

from __future__ import annotations

import ast
import io
import re
import tokenize
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

_LONGEST_CODE = 120

_WORD = re.compile(r"[^\W\d]\w*")


@dataclass(frozen=True, kw_only=True, eq=False)
class Parsed:
    """One file of Python code."""

    tree: ast.Module
    lines: tuple[str, ...]

    def lines_of(self, words: re.Pattern[str]) -> list[int]:
        """Give the lines that hold some words, counted from 1."""
        numbers: dict[int, None] = {}
        number, last = 1, 0
        for found in words.finditer(self._text):
            number += self._text.count("\n", last, found.start())
            last = found.start()
            numbers[number] = None
        return [*numbers]

    @cached_property
    def words(self) -> frozenset[str]:
        """All words of it that could be names."""
        return frozenset(_WORD.findall(self._text))

    @cached_property
    def _text(self) -> str:
        return "\n".join(self.lines)


class UnparsableError(Exception):
    """A file is no Python code that this interpreter reads."""

    def __init__(self, reason: str, line: int | None = None) -> None:
        super().__init__(reason)
        self.line = line


def parse(content: bytes) -> Parsed:
    """Parse Python code in whatever encoding it says that it has (PEP 263).

    Raises:
        UnparsableError: no Python of this interpreter's version, or nested too deeply.
    """
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(content).readline)
        text = content.decode(encoding)
    except SyntaxError as error:
        raise UnparsableError(f"SyntaxError: {error.msg}", error.lineno) from error
    except (UnicodeError, LookupError) as error:
        raise UnparsableError(f"its encoding cannot be read: {error}") from error
    return parse_text(text)


def parse_text(text: str) -> Parsed:
    """Parse Python code.

    Raises:
        UnparsableError: no Python of this interpreter's version, or nested too deeply.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about the user's escape sequences
            tree = ast.parse(text)
    except SyntaxError as error:
        raise UnparsableError(f"SyntaxError: {error.msg}", error.lineno) from error
    except (RecursionError, MemoryError) as error:
        raise UnparsableError("is nested too deeply") from error
    except ValueError as error:  # null bytes, before Python 3.12
        raise UnparsableError(str(error)) from error
    return Parsed(tree=tree, lines=_lines(text))


def children(node: ast.AST) -> list[ast.AST]:
    """Do what `ast.iter_child_nodes` does, in a third of its time."""
    found: list[ast.AST] = []
    for name in node._fields:
        value = getattr(node, name, None)
        if isinstance(value, ast.AST):
            if not isinstance(value, ast.expr_context):
                found.append(value)
        elif isinstance(value, list):
            found += [one for one in value if isinstance(one, ast.AST)]
    return found


def everything_in(node: ast.AST) -> list[ast.AST]:
    """Give a node and all below it in the order of `ast.walk`, but for what says load or store."""
    found = [node]
    for one in found:
        found += children(one)
    return found


@lru_cache(maxsize=256)
def nodes_of(tree: ast.AST) -> tuple[ast.AST, ...]:
    """Give all that is in a file, once for the many looks that go through all of it."""
    return tuple(everything_in(tree))


def expression_of(text: str) -> ast.expr:
    """Parse an expression; what is none by itself, such as `*rest`, stands for anything: `...`."""
    try:
        return ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ast.Constant(...)


def _lines(text: str) -> tuple[str, ...]:
    """Split as Python counts lines: a form feed, unlike for str.splitlines, ends none."""
    return tuple(text.replace("\r\n", "\n").replace("\r", "\n").split("\n"))


def code_of(node: ast.expr | ast.stmt, lines: Sequence[str]) -> str:
    """Give the text of an expression on one line; columns are counted in bytes of UTF-8."""
    last = node.end_lineno or node.lineno
    raw = [line.encode("utf-8", "replace") for line in lines[node.lineno - 1 : last]]
    if not raw:
        return ""
    raw[-1] = raw[-1][: node.end_col_offset]
    raw[0] = raw[0][node.col_offset :]
    text = " ".join(b" ".join(raw).decode("utf-8", "replace").split())
    return text if len(text) <= _LONGEST_CODE else text[:_LONGEST_CODE] + "…"
