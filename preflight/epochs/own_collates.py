"""Runs in a process of its own: finds the collate functions that a stream itself calls.

As a data set of the job's own does that gives whole batches, and `batched` of webdataset. They are
known by their names: `collate`, `self.collate_fn`, `collation_fn=`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, MutableMapping
from types import FunctionType
from typing import Any

from preflight.epochs.dropped import WatchedCollate, is_of_the_job
from preflight.objects.attributes import own_attributes
from preflight.objects.source_trees import names_used
from preflight.users_code.frames import is_users

_WORD = "collat"

# Streams in streams: more is nobody's.
_DEEPEST = 4

# Where what a stream is made of has others, or what these are called with.
_INNER = ("dataset", "source", "stream", "base", "ds")


@contextlib.contextmanager
def watching(dataset: Any, root: str, seconds: float) -> Iterator[list[WatchedCollate]]:
    """Have each of them looked at where it is called."""
    found, before = list[WatchedCollate](), list[tuple[MutableMapping[str, Any], str, Any]]()
    for holder, name, collate in [*_places(dataset, root, 0)]:
        found.append(WatchedCollate(collate, seconds))
        before.append((holder, name, holder.get(name, _NOTHING)))
        holder[name] = found[-1]
    try:
        yield found
    finally:
        for holder, name, collate in reversed(before):
            if collate is _NOTHING:
                del holder[name]
            else:
                holder[name] = collate


_NOTHING = object()


def has_any(dataset: Any, root: str) -> bool:
    """Whether there is one."""
    return any(True for _ in _places(dataset, root, 0))


def _places(
    thing: Any, root: str, depth: int
) -> Iterator[tuple[MutableMapping[str, Any], str, Any]]:
    """Give where each is kept, by which name, and the function itself."""
    own: Any = own_attributes(thing)
    if depth > _DEEPEST or not isinstance(own, dict):
        return
    named = (one for one in (own.get("kw"), own.get("kwargs")) if isinstance(one, dict))
    for held in (own, *named):
        for name, one in held.items():
            if _WORD in str(name) and is_of_the_job(one, root):
                yield held, name, one
    yield from _called(thing, own, root)
    stages = own.get("pipeline")
    inner = [own.get(name) for name in _INNER]
    for one in [*inner, *(stages if isinstance(stages, (list, tuple)) else ())]:
        if one is not None:
            yield from _places(one, root, depth + 1)


def _called(
    thing: Any, own: dict[str, Any], root: str
) -> Iterator[tuple[MutableMapping[str, Any], str, Any]]:
    """Give those that `__iter__` calls: methods of its class, and functions of its file."""
    begins = getattr(type(thing), "__iter__", None)
    if not isinstance(begins, FunctionType) or not is_users(begins.__code__.co_filename, root):
        return
    for name in names_used(begins.__code__):
        if _WORD not in name or name in own:
            continue
        if isinstance(getattr(type(thing), name, None), FunctionType):
            yield own, name, getattr(thing, name)
        elif is_of_the_job(begins.__globals__.get(name), root):
            yield begins.__globals__, name, begins.__globals__[name]
