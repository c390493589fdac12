"""Runs in a process that stands for a rank: runs a stream with its workers, and tells its items."""

from __future__ import annotations

import copy
import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from preflight.epochs.sample_numbers import digest
from preflight.loaders.sent import never_ends
from preflight.loaders.workers.starting import is_data_loader
from preflight.loaders.wrappers import real_loader
from preflight.ranks.made.item_names import is_empty, keys_in, rows_of, texts_in
from preflight.values.own_files import passes_on

STREAM_SECONDS = 3.0
"""How long a stream may be run."""

MOST_ITEMS = 100_000
"""Items that are told of a rank."""

MOST_BATCHES = 1_000_000

SHOWN = 64
"""Items whose names are told."""


def number_of(text: str) -> int:
    """Give a number for a name."""
    data = text.encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(data, digest_size=6).digest(), "big")


class _Told(dict[str, Any]):
    """What a batch tells of its samples, in place of it."""


class _Keys:
    """Stands in for the collate function, so that workers send back what tells samples apart."""

    def __init__(self, *, each: bool) -> None:
        self._each = each
        """Whether it is given a list of samples, and not what the data set gives."""

    @passes_on
    def __call__(self, given: Any) -> _Told:
        sure = [key for one in (given if self._each else [given]) for key in keys_in(one)]
        number = len(given) if self._each else len(sure) or 1
        if sure:
            return _told("key", sure, number)
        empty: list[int] = []
        try:
            keys = [digest(one) for one in given] if self._each else []
            empty = [key for key, one in zip(keys, given, strict=False) if is_empty(one)]
        except Exception:  # noqa: BLE001  a class of the user's of which nobody can make bytes
            keys = []
        if texts := texts_in(given):  # of which several samples may have the same
            return _Told(_told("text", texts, number), bytes=keys)
        return _Told(by="whole", keys=keys, names=[], samples=number, empty=empty)


def _told(by: str, names: list[str], samples: int) -> _Told:
    return _Told(by=by, keys=[*map(number_of, names)], names=names, samples=samples)


def by_running(
    loader: Any, real: Any, alive: Callable[[], None], *, once_each: bool
) -> dict[str, Any]:
    """Run a stream; of one with stages behind its DataLoader, run that once more for its items.

    Where workers give some items twice, and it is wanted (`once_each`), tell what it gives without
    them, too: it may hold each but once.
    """
    counted, found = _run(loader if real is None else _of_keys(real), alive)
    told = {**counted, "endless": never_ends(loader), "is_stream": True}
    if real is not None:
        told |= found
        if once_each and told["ended"] and real.num_workers and are_twice(told["keys"]):
            told["alone"] = _without_workers(real, alive)
        return told
    inner = real_loader(loader)
    told |= {**found, "samples": None}
    if inner is loader or not is_data_loader(inner) or not told["ended"]:
        return told
    counted, found = _run(_of_keys(inner), alive)
    more = {**found, "samples": None, "read": found["samples"]}
    return {**told, **more} if counted["ended"] else told


@passes_on
def _of_keys(real: Any) -> Any:
    """Give a copy of a DataLoader that gives what tells its samples apart."""
    own = copy.copy(real)
    own.collate_fn = _Keys(each=own.batch_size is not None or own.batch_sampler is not None)
    return own


@passes_on
def _without_workers(real: Any, alive: Callable[[], None]) -> list[int] | None:
    """Give the items of a stream that one process runs alone; None: it does not end in time."""
    own = _of_keys(real)
    own.num_workers, own.timeout = 0, 0
    counted, found = _run(own, alive)
    return found["keys"] if counted["ended"] else None


def are_twice(keys: Sequence[int]) -> bool:
    """Whether some items are there several times."""
    return len({*keys}) < len(keys)


@passes_on
def _run(loader: Any, alive: Callable[[], None]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Count the batches of a stream, and keep what they tell of its samples."""
    endless = never_ends(loader)
    until = None  # counted from the first batch: workers take long to start on a busy machine
    found: dict[str, Any] = {"by": "", "keys": [], "names": [], "samples": 0, "empty": []}
    found["bytes"] = []
    number, ended = 0, True
    for batch in loader:
        number += 1
        until = until or time.monotonic() + STREAM_SECONDS
        _keep(found, batch if isinstance(batch, _Told) else _Keys(each=True)(rows_of(batch)))
        alive()
        if endless or time.monotonic() > until or number >= MOST_BATCHES:
            ended = False
            break
    return {"batches": number, "ended": ended}, found


@passes_on
def _keep(found: dict[str, Any], batch: Mapping[str, Any]) -> None:
    found["by"] = batch["by"] if found["by"] in ("", batch["by"]) else "mixed"
    found["samples"] += batch["samples"]
    if len(found["keys"]) < MOST_ITEMS:
        found["keys"] += batch["keys"]
        found["empty"] += batch.get("empty", ())
        found["bytes"] += batch.get("bytes", ())
    if len(found["names"]) < SHOWN:
        found["names"] += batch["names"]
