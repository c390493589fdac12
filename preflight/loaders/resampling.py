"""Finds whether a loader draws shards with replacement, so that no worker runs out of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from preflight.objects.attributes import own_attributes
from preflight.sources.resampled_shards import RESAMPLED

# Pipelines that stand in one another: more is nobody's loader.
_DEEPEST = 5


def resamples(parts: Mapping[str, Any]) -> bool:
    """Whether a loader draws shards with replacement, by the classes in its pipeline.

    Args:
        parts: the loader's own attributes; no property of anything is called.
    """
    return any(type(one).__name__ in RESAMPLED for one in _stages(parts, 0))


def _stages(parts: Mapping[str, Any], depth: int) -> Iterator[object]:
    if depth > _DEEPEST:
        return
    inner = parts.get("pipeline")
    for one in (parts.get("dataset"), *(inner if isinstance(inner, (list, tuple)) else ())):
        if one is not None:
            yield one
            yield from _stages(own_attributes(one), depth + 1)
