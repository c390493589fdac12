"""Finds in sources whether shards are drawn with replacement."""

from __future__ import annotations

import ast

from preflight.syntax.surroundings import called

RESAMPLED = frozenset(
    {"ResampledShards", "ResampledShardList", "SimpleShardSample", "MultiShardSample"}
)
"""webdataset's classes, of this and of earlier versions, that draw shards with replacement."""


def resampled_in(tree: ast.AST) -> int | None:
    """Give the line of a source that draws shards with replacement; None where there is none."""
    lines = [node.lineno for node in ast.walk(tree) if isinstance(node, ast.Call) and _draws(node)]
    return min(lines, default=None)


def _draws(call: ast.Call) -> bool:
    if called(call) in RESAMPLED:
        return True
    for keyword in call.keywords:
        if keyword.arg == "resampled":  # what is not written out may be true
            value = keyword.value
            return not (isinstance(value, ast.Constant) and not value.value)
    return False
