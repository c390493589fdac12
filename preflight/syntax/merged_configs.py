"""Says of config files that a source merges which of them has the last word."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from preflight.syntax.given_values import OPTIONS, given_in
from preflight.syntax.running import key_of, last_name, text_of

_MERGES = frozenset({"merge", "unsafe_merge"})
_ENDINGS = (".yaml", ".yml", ".json", ".toml")

# `merge(base, OmegaConf.load(args.config))`: names that stand for others.
_DEEPEST = 6


def merged_in(content: bytes) -> Iterator[Sequence[str]]:
    """Give the files of each `OmegaConf.merge`, in order: the last overrules the others."""
    if b"merge(" not in content:
        return
    try:
        nodes = list(ast.walk(ast.parse(content)))
    except (SyntaxError, ValueError, RecursionError):
        return
    given = given_in(one for one in nodes if isinstance(one, ast.Assign) or _is_option(one)).values
    for node in nodes:
        if isinstance(node, ast.Call) and last_name(node.func) in _MERGES:
            files = [next(_files_in(one, given, 0), "") for one in node.args]
            yield [one for one in files if one]


def _is_option(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and last_name(node.func) in OPTIONS


def _files_in(node: ast.expr, given: dict[str, list[ast.expr]], depth: int) -> Iterator[str]:
    text = text_of(node)
    if text is not None:
        yield from [text] if text.endswith(_ENDINGS) else []
        return
    if depth > _DEEPEST:
        return
    name = key_of(node)
    inner = given.get(name, []) if name else []
    if isinstance(node, ast.Call):
        inner = [*node.args, *(one.value for one in node.keywords)]
    for one in inner:
        yield from _files_in(one, given, depth + 1)
