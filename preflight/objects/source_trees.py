"""Parses the sources of what is in the user's process.

Their lines come from `linecache`, which also holds those of notebook cells.
"""

from __future__ import annotations

import ast
import functools
import inspect
import linecache
import textwrap
import types
from collections.abc import Iterator


def source_of(file: str) -> str:
    """Give the text of a file, as it is now; empty: nobody has it."""
    linecache.checkcache(file)
    return "".join(linecache.getlines(file))


@functools.lru_cache(maxsize=64)
def parsed(source: str) -> ast.Module | None:
    """Parse a source, once for all who ask; None where that cannot be done."""
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # all that ast documents
        return None


def function_tree(function: types.FunctionType) -> ast.Module | None:
    """Parse a function by itself, with its lines as its file has them; None where that fails."""
    try:
        lines, begin = inspect.getsourcelines(function)
        tree = ast.parse(textwrap.dedent("".join(lines)))
    except (OSError, TypeError, SyntaxError, ValueError):
        return None
    return ast.increment_lineno(tree, begin - 1)


def codes_of(code: types.CodeType) -> Iterator[types.CodeType]:
    """Give the code of a function, and of all that are written inside it."""
    yield code
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            yield from codes_of(inner)


def names_used(code: types.CodeType) -> set[str]:
    """Give the names and attributes that the code of a function asks for, also inside it."""
    return {name for one in codes_of(code) for name in one.co_names}
