"""Finds whether shards are drawn with replacement, so that no rank or worker runs out of them."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

from preflight.loaders.starting import own_attributes

# webdataset's own, of this and of earlier versions.
_SOURCES = frozenset(
    {"ResampledShards", "ResampledShardList", "SimpleShardSample", "MultiShardSample"}
)

# Pipelines that stand in one another: more is nobody's loader.
_DEEPEST = 5


def resampled_in(tree: ast.AST) -> int | None:
    """Give the line of a source that draws shards with replacement; None where there is none."""
    lines = [node.lineno for node in ast.walk(tree) if isinstance(node, ast.Call) and _draws(node)]
    return min(lines, default=None)


def _draws(call: ast.Call) -> bool:
    name = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    if isinstance(call.func, ast.Name):
        name = call.func.id
    if name in _SOURCES:
        return True
    for keyword in call.keywords:
        if keyword.arg == "resampled":  # what is not written out may be true
            value = keyword.value
            return not (isinstance(value, ast.Constant) and not value.value)
    return False


def resamples(parts: Mapping[str, Any]) -> bool:
    """Whether a loader draws shards with replacement, by the classes in its pipeline.

    Args:
        parts: the loader's own attributes; no property of anything is called.
    """
    return any(type(one).__name__ in _SOURCES for one in _stages(parts, 0))


def _stages(parts: Mapping[str, Any], depth: int) -> Iterator[object]:
    if depth > _DEEPEST:
        return
    inner = parts.get("pipeline")
    for one in (parts.get("dataset"), *(inner if isinstance(inner, (list, tuple)) else ())):
        if one is not None:
            yield one
            yield from _stages(own_attributes(one), depth + 1)
