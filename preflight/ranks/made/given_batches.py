"""Runs in a process that stands for a rank: counts what a loop is given by what is around loaders.

What a class, a generator or an iterator of the job's makes of batches, only running it tells. So
that this ends, samples are decoded for a second, and are then given again in place of others.
"""

from __future__ import annotations

import functools
import itertools
import operator
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from preflight.loaders.sent import is_loader
from preflight.loaders.workers.starting import is_data_loader
from preflight.loaders.wrappers import without_own
from preflight.objects.attributes import own_attributes
from preflight.objects.random_state import kept_random_state
from preflight.ranks.made.stream_items import STREAM_SECONDS
from preflight.values.own_files import passes_on

_DECODING = 1.0

# Samples that are kept to be given again.
_KEPT = 16

# With so many times as many batches as its loaders have, it may go on for ever.
_ENDLESS, _AT_LEAST = 4, 100

_LIBRARIES = frozenset({"torch", "torchdata", "accelerate", "lightning", "pytorch_lightning"})
"""Whose classes give the batches that their samplers make."""


NOTHING_ELSE = {
    "about": {"even_batches": None, "is_webdataset": False, "batch_size": None, "drop_last": None},
    "is_stream": False,
    "by": "",
    "keys": [],
    "names": [],
}
"""What is told of what stands around several loaders, or around one that it has made itself."""


class _Recalled:
    """A data set that gives samples again which it gave, once enough time went into decoding."""

    _spent = 0.0
    """By all data sets of this process."""

    def __init__(self, dataset: Any) -> None:
        self._dataset = dataset
        self._known: list[Any] = []
        self._again: Iterator[Any] | None = None

    @passes_on
    def __getattr__(self, name: str) -> Any:
        return getattr(self._dataset, name)

    @passes_on
    def __getitem__(self, place: Any) -> Any:
        return self.__getitems__([place])[0]

    @passes_on
    def __getitems__(self, places: Sequence[Any]) -> list[Any]:
        if self._known and _Recalled._spent > _DECODING:
            self._again = self._again or itertools.cycle(self._known)
            return [*map(_as_new, itertools.islice(self._again, len(places)))]
        begun = time.monotonic()
        at_once = getattr(self._dataset, "__getitems__", None)
        one = functools.partial(operator.getitem, self._dataset)
        found = [*(at_once(places) if at_once else map(one, places))]
        _Recalled._spent += time.monotonic() - begun
        self._known = [*self._known, *map(_as_new, found)][-_KEPT:]
        return found


def _as_new(sample: Any) -> Any:
    """Give a sample that stays as it is where whoever takes it takes something out."""
    return sample.copy() if type(sample) in (dict, list) else sample


def decode_few() -> None:
    """Have loaders over places give samples again, once this process has decoded for a while."""
    from torch.utils.data._utils import fetch

    fetcher: Any = vars(fetch)["_MapDatasetFetcher"]
    begin = fetcher.__init__

    @passes_on
    def beginning(self: Any, dataset: Any, *given: Any, **named: Any) -> None:
        begin(self, _Recalled(dataset), *given, **named)

    fetcher.__init__ = beginning


def is_around(thing: Any) -> bool:
    """Whether a loader's batches go through code of the job's, a class or a generator."""
    if getattr(thing, "taken_from", ()) or without_own(thing) is not thing:
        return True
    if own_attributes(thing).get("next_iter_state"):  # torchdata's goes on where it was stopped
        return True
    home = next((one for one in type(thing).__mro__ if "__iter__" in vars(one)), object)
    return is_data_loader(thing) and home.__module__.partition(".")[0] not in _LIBRARIES


@passes_on
def count_given(around: Any, alive: Callable[[], None], known: int) -> dict[str, Any] | None:
    """Count what it gives in an epoch; None where that is no batches, but loaders.

    Args:
        around: what the loop goes over.
        alive: says that it goes on.
        known: batches that its loaders have.
    """
    until = time.monotonic() + STREAM_SECONDS
    number, most = 0, _ENDLESS * known + _AT_LEAST
    with kept_random_state():
        for one in around:
            if not number and is_loader(one):
                return None
            number += 1
            alive()
            if number >= most or time.monotonic() > until:
                return {"batches": number, "samples": None, "ended": False}
    return {"batches": number, "samples": None, "ended": True}
