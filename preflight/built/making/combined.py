"""Knows Lightning's CombinedLoader: what it gives of the batches of the loaders that it holds."""

from __future__ import annotations

import sys
from typing import Any

from preflight.batches.facts import Combined
from preflight.objects.attributes import own_attributes

_NAME, _HELD = "CombinedLoader", "_iterables"

# It is there since Lightning 2.1, whose loaders give a number with each batch, and not before.
_GIVES_NUMBERS = "_ITERATOR_RETURN"


def combined(name: str, thing: object) -> Combined | None:
    """Say what one is; None of anything else, and of one whose parts have parts of their own."""
    kind = type(thing)
    if kind.__name__ != _NAME or not hasattr(sys.modules.get(kind.__module__), _GIVES_NUMBERS):
        return None
    own = own_attributes(thing)
    held: Any = own.get(_HELD)
    keys: tuple[Any, ...] = ()
    if isinstance(held, dict):
        keys = tuple(held)
        held = [*held.values()]
    elif type(held) in (list, tuple):
        keys = tuple(range(len(held)))
    if any(isinstance(one, (dict, list, tuple)) for one in (held if keys else ())):
        return None
    if not all(isinstance(one, (str, int)) for one in keys):
        return None
    return Combined(name=name, mode=str(own.get("_mode")), keys=keys)


def is_in(holder: Combined, name: str) -> bool:
    """Whether a loader is held by it, by its name."""
    return name in _ways(holder)


def in_it(holder: Combined, name: str) -> Combined:
    """Say it of one of its loaders."""
    return holder._replace(key=_ways(holder)[name])


def _ways(holder: Combined) -> dict[str, str | int | None]:
    alone = f"{holder.name}.{_HELD}"
    return {f"{alone}[{key!r}]": key for key in holder.keys} or {alone: None}
