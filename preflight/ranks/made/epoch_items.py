"""Runs in a process that stands for a rank: counts an epoch of a loader, and tells its items.

Of a map-style data set, the sampler alone is asked, and a few samples are drawn. A stream is run,
with its workers, as far as it is bounded.
"""

from __future__ import annotations

import operator
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from preflight.epochs.sample_numbers import digest
from preflight.epochs.taken_batches import skipped_by
from preflight.loaders.drawn_shards import drawn_shards
from preflight.loaders.epoch import batch_size_of, divided_by, length_of
from preflight.loaders.sent import resamples
from preflight.loaders.workers.starting import is_data_loader, parts_of
from preflight.loaders.wrappers import as_it_comes, real_loader, without_own
from preflight.objects.attributes import classes, own_attributes
from preflight.objects.paths import type_name
from preflight.objects.random_state import kept_random_state, seed
from preflight.ranks.made.behind_the_end import ask_behind_the_end
from preflight.ranks.made.item_names import Names, is_empty, names_of
from preflight.ranks.made.stream_items import (
    MOST_BATCHES,
    MOST_ITEMS,
    SHOWN,
    by_running,
    number_of,
)
from preflight.values.own_files import passes_on

SAMPLER_SECONDS = 5.0
"""How long a sampler may be asked."""

_DRAWING = 1.5

# Samples that are drawn of a large data set with names; of one no larger than the second, all.
# Without names, more are drawn for so many seconds: nothing else tells samples apart.
_FEW, _ALL, _MORE = 8, 64, 0.5

_Wanted: TypeAlias = Callable[["Names | None"], bool]
"""Says whether samples are to be drawn that have such names."""


def told_of_epoch(
    loader: Any,
    alive: Callable[[], None],
    *,
    draws: bool,
    nameless: bool = False,
    once_each: bool = False,
) -> dict[str, Any]:
    """Count an epoch of one rank, and tell what is in it; where it is to, draw samples as well.

    Args:
        loader: what the rank has made.
        alive: says that it goes on.
        draws: whether samples are drawn.
        nameless: whether those are that have no names.
        once_each: whether a stream is run without workers, too, where these give items twice.

    Raises:
        Exception: what the user's code raises.
    """
    loader = without_own(loader)
    real = real_loader(loader)
    parts = parts_of(real)
    told: dict[str, Any] = {"about": about(parts), "workers": parts.get("num_workers") or 0}
    told["resampled"] = resamples(own_attributes(loader))
    told["skips"] = own_attributes(parts.get("batch_sampler")).get("skip_batches") or 0
    if draws:
        drawn = drawn_shards(loader, told["workers"])
        told["shards"] = [] if drawn is None else [*map(number_of, drawn.addresses[0])]

    def wanted(names: Names | None) -> bool:
        return draws or (nameless and names is None)

    if type_name(type(loader)).endswith("DataLoaderDispatcher"):
        # Rank 0 alone reads, and hands each batch to its rank: what it has is that of all.
        read = {} if loader.state.process_index else _counted(real, parts, alive, lambda _: False)
        return {**told, **read, "handed_out": True}
    pipes = classes("torch.utils.data", "IterDataPipe")
    if not (own_attributes(loader).get("rng_types") or isinstance(parts.get("dataset"), pipes)):
        return {**told, **_counted(loader, parts, alive, wanted, once_each=once_each)}
    with kept_random_state():
        _agree(loader)
        return {**told, **_counted(loader, parts, alive, wanted, once_each=once_each)}


def _counted(
    loader: Any,
    parts: Mapping[str, Any],
    alive: Callable[[], None],
    draws: _Wanted,
    *,
    once_each: bool = False,
) -> dict[str, Any]:
    real = real_loader(loader)
    stream = classes("torch.utils.data", "IterableDataset")
    is_plain = as_it_comes(loader) is not None and is_data_loader(real)
    if is_plain and not issubclass(type(parts["dataset"]), stream):
        return _by_sampler(parts, alive, draws)
    return by_running(loader, real if is_plain else None, alive, once_each=once_each)


@passes_on
def about(parts: Mapping[str, Any]) -> dict[str, Any]:
    """Say what a loader is, for whoever says what evens it out."""
    batches = parts.get("batch_sampler")
    stages = own_attributes(parts.get("dataset")).get("pipeline")
    names = {type_name(base) for base in type(parts.get("dataset")).__mro__}
    even = own_attributes(batches).get("even_batches")
    inner = own_attributes(batches).get("batch_sampler", batches)
    return {
        "even_batches": even if isinstance(even, bool) else None,
        "is_webdataset": isinstance(stages, list)
        or any(n.startswith("webdataset.") for n in names),
        "batch_size": batch_size_of({**parts, "batch_sampler": inner}),
        "drop_last": bool(getattr(inner, "drop_last", parts.get("drop_last"))),
    }


def _agree(loader: object) -> None:
    """Have random numbers begin as all ranks agree at each epoch, as accelerate and pipes do.

    Here nobody is there to send them to.
    """
    import torch

    torch.manual_seed(0)
    shared: Any = own_attributes(loader).get("synchronized_generator")
    if shared is not None:
        shared.manual_seed(0)


# --- a sampler ------------------------------------------------------------------------------------


@passes_on
def _by_sampler(
    parts: Mapping[str, Any], alive: Callable[[], None], draws: _Wanted
) -> dict[str, Any]:
    batches = parts.get("batch_sampler")
    until = time.monotonic() + SAMPLER_SECONDS
    indices: list[Any] = []
    number, samples, ended = 0, 0, True
    for one in parts["sampler"] if batches is None else batches:
        these = [one] if batches is None else [*one]
        number, samples = number + 1, samples + len(these)
        if len(indices) < MOST_ITEMS:
            indices += these
        if number >= MOST_BATCHES or (not number % 256 and time.monotonic() > until):
            ended = False
            break
        if not number % 4_096:
            alive()
    told = {"batches": number, "samples": samples, "ended": ended, "is_stream": False}
    dataset = parts["dataset"]
    names, length = names_of(dataset), length_of(dataset)
    ask_behind_the_end(dataset, indices, length)
    drawn: dict[str, Any] = {"length": length, "offsets": skipped_by(dataset)}
    if draws(names):
        with kept_random_state():  # the next loader's sampler draws on from here
            drawn |= _draws(dataset, names, alive)
    items = _items(indices, names)
    if items["by"] == "place" and drawn.get("drew_all"):
        at = dict(zip(drawn["places"], drawn["draws"], strict=False))
        items["bytes"] = [at[one] for one in indices if one in at]
    return {**told, **items, **drawn, **divided_by(parts)}


def _items(indices: Sequence[Any], names: Names | None) -> dict[str, Any]:
    """Tell the items of an epoch by their names, or else by their places."""
    try:
        found: list[Any] | None = (
            [names(operator.index(one)) for one in indices] if names is not None else None
        )
    except Exception:  # noqa: BLE001  what the list holds is the user's own
        found = None
    if found is None or None in found:
        return {"keys": [number_of(repr(one)) for one in indices], "by": "place", "names": []}
    keys = [*map(number_of, found)]
    in_order = {"listed": [key for _, key in sorted(zip(indices, keys, strict=True))]}
    return {"keys": keys, **in_order, "by": "name", "names": found[:SHOWN]}


def _draws(dataset: Any, names: Names | None, alive: Callable[[], None]) -> dict[str, Any]:
    """Draw samples, each with the same random numbers; where one differs from itself, give none.

    Beside them stand the names at these places, to tell whether a name decides on the sample.
    """
    begun = time.monotonic()
    told: dict[str, Any] = {"draws": None, "drew_all": False, "there": []}
    found: list[int] = []
    empty: list[int] = []
    try:
        number = len(dataset)
        spread = [number * one // _FEW for one in range(_FEW)] if number > _ALL else []
        places = [*spread, *(one for one in range(min(number, MOST_ITEMS)) if one not in spread)]
        for place in places[: None if names is None or number <= _ALL else _FEW]:
            found.append(_drawn(dataset, place, empty))
            alive()
            may_take = _DRAWING if number <= _ALL or len(found) < _FEW else _MORE
            if time.monotonic() - begun > may_take:
                break
        if found and _drawn(dataset, places[0], empty) != found[0]:
            return told
        there = [number_of(names(one) or "") for one in places[: len(found)]] if names else []
    except Exception:  # noqa: BLE001  the user's code; a sampler may give it something else
        return told
    drawn = {"draws": found, "places": places[: len(found)], "there": there}
    return {**drawn, "empty": empty, "drew_all": len(found) == number}


def _drawn(dataset: Any, place: int, empty: list[int]) -> int:
    """Give the number of a sample, and keep it where a part of it holds nothing."""
    seed(0)
    sample = dataset[place]
    found = digest(sample)
    if is_empty(sample):
        empty.append(found)
    return found
