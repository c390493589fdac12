"""Looks at the place that a cache is written to, and tries it where the job says so."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import replace

from preflight.kinds.asked import Asked, reason_of
from preflight.storage.facts import StorageProbe
from preflight.storage.probe import RefusedError, try_out
from preflight.storage.probe_process import is_full
from preflight.storage.scratch import scratch
from preflight.storage.space import entry_sizes, nearest_folder, space_of
from preflight.storage.system_files import PLAIN, load
from preflight.values.names import name_of

MARK = "PREFLIGHT_CHILD"
"""The variable that marks processes of ours, as `preflight/processes/spawn.py` sets it."""


def look(asked: Asked) -> Iterator[StorageProbe]:
    """Look at the place that is asked about."""
    told = asked.wire
    yield look_at(
        told["path"],
        asked.root,
        asked.alive,
        entry=told["entry"],
        is_written=told["is_written"],
        missing=told["missing"],
        cased=tuple(told["cased"]),
    )


def look_at(
    path: str,
    root: str,
    alive: Callable[[], object],
    *,
    entry: int | None = None,
    is_written: bool = True,
    missing: int = 0,
    cased: tuple[str, ...] = (),
    layer: str = PLAIN,
) -> StorageProbe:
    """Say what can be seen without writing; then, of a cache that is written to, what is tried.

    Raises:
        OSError: nobody can look there.
    """
    place = nearest_folder(path)
    space = space_of(place)
    is_there = os.path.isdir(path)
    sizes = entry_sizes(path) if is_there and missing else []
    seen = StorageProbe(
        file=name_of(path, root),
        entry=entry,
        place=name_of(place, os.path.realpath(root)),
        is_there=is_there,
        is_written=is_written,
        entry_size=round(sum(sizes) / len(sizes)) if sizes else None,
        missing=missing,
        cased=cased,
        **space._asdict(),
    )
    if not is_written or seen.read_only:
        return seen
    if stands_in_the_way := _in_the_way(path):
        return replace(seen, refused=f"{name_of(stands_in_the_way, root)} is no folder")
    try:
        files = load(layer)
        with scratch(place, files, MARK) as folder:
            return replace(seen, tried=try_out(folder, files, layer, alive))
    except RefusedError as error:
        return replace(seen, refused=str(error), is_full=error.is_full)
    except OSError as error:
        return replace(seen, refused=reason_of(error), is_full=is_full(error))


def _in_the_way(path: str) -> str | None:
    """Give what stands where the folder of a cache, or one above it, would have to be made."""
    while not os.path.lexists(path) and os.path.dirname(path) != path:
        path = os.path.dirname(path)
    return None if os.path.isdir(path) else path
