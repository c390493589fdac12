"""Runs in a process of its own: finds batches that are taken from a DataLoader and not given.

As by what fetches one ahead and loses the last, or looks at the first one and throws it away. What
divides batches, joins them or makes others of them has no part of a batch as it came, or gives half
of them at most; what is left out because it is not full, or as somebody says by a number to skip,
is meant.
"""

from __future__ import annotations

import contextlib
import functools
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from preflight.epochs.facts import LostBatches
from preflight.epochs.sample_numbers import count, digest
from preflight.objects.attributes import own_attributes
from preflight.objects.facts import Definition
from preflight.values.own_files import passes_on

# Of more batches nobody is told; of fewer, one may be left out to look at it.
_MOST, _FEWEST = 10_000, 3

_SKIPS = ("skip", "start", "resume", "offset", "consumed")


class _Taken(NamedTuple):
    parts: dict[Any, int]
    rows: int | None


@contextlib.contextmanager
def fetching(dataset: object, fetch: Callable[[Callable[[], Any]], Any]) -> Iterator[None]:
    """Have a function fetch what the DataLoaders of a data set give meanwhile, batch by batch."""
    from torch.utils.data import dataloader

    kind: Any = dataloader._BaseDataLoaderIter  # noqa: SLF001
    following = kind.__next__

    @passes_on
    def following_one(iterator: Any) -> Any:
        if own_attributes(iterator).get("_dataset") is not dataset:
            return following(iterator)
        return fetch(functools.partial(following, iterator))

    kind.__next__ = following_one
    try:
        yield
    finally:
        kind.__next__ = following


class TakenBatches:
    """Notes what is taken of a DataLoader in an epoch, and what is given of it."""

    def __init__(self, loader: object, inner: object) -> None:
        self._loader, self._dataset = loader, own_attributes(inner).get("dataset")
        self._taken: list[_Taken] = []
        self._given: list[set[int]] = []
        self._ends = 0
        self._is_known = True
        self.error: Exception | None = None
        """What came in place of a batch."""

    def noting(self) -> contextlib.AbstractContextManager[None]:
        """Note meanwhile what any iterator of that data set gives."""
        return fetching(self._dataset, self._fetch)

    @passes_on
    def _fetch(self, following: Callable[[], Any]) -> Any:
        try:
            batch = following()
        except StopIteration:
            self._ends += 1
            raise
        except Exception as error:
            self.error = error
            raise
        self._take(batch)
        return batch

    def _take(self, batch: Any) -> None:
        parts = self._parts(batch)
        if parts is not None:
            self._taken.append(_Taken(parts, count(batch)))

    def give(self, batch: Any) -> None:
        """Note a batch that the loop gets."""
        parts = self._parts(batch)
        if parts is not None:
            self._given.append({*parts.values()})

    def _parts(self, batch: Any) -> dict[Any, int] | None:
        if self._is_known and len(self._taken) < _MOST:
            with contextlib.suppress(Exception):  # what nobody can make bytes of
                return parts_of_batch(batch)
        self._is_known = False
        return None

    def goes_round(self) -> bool:
        """Whether it takes from the DataLoader for the third time, as what has no end does."""
        return self._ends > 1

    @property
    def number(self) -> int | None:
        """How many came; None: nobody knows."""
        return len(self._taken) if self._is_known else None

    def lost(self, at: Definition) -> LostBatches | None:
        """Say which full batches came to the loader, and did not come out."""
        number = len(self._taken)
        is_part = number // 2 < len(self._given) < number
        if not self._is_known or self._ends != 1 or not is_part or number < _FEWEST:
            return None
        places = next(filter(None, map(self._lacking, self._taken[0].parts)), None)
        if not places or self._is_meant(places):
            return None
        return LostBatches(number=len(places), taken=number, first=places[0] + 1, at=at)

    def _lacking(self, part: Any) -> list[int] | None:
        """Give the places of those that did not come out, by a part that tells all apart."""
        there = [one.parts.get(part, 0) for one in self._taken]
        known = {*there}
        came = Counter(key for one in self._given for key in one & known)
        if len(known) < len(there) or not all(one & known for one in self._given):
            return None
        if came.total() != len(self._given) or max(came.values()) > 1:
            return None
        return [place for place, key in enumerate(there) if key not in came]

    def _is_meant(self, places: list[int]) -> bool:
        rows = [one.rows or 0 for one in self._taken]
        if all(rows[place] < max(rows) for place in places):
            return True
        begins = places == [*range(len(places))]
        return begins and len(places) in skipped_by(self._loader)


def skipped_by(thing: object) -> list[int]:
    """Give the numbers that a thing holds under a name which says that so many are skipped."""
    own = own_attributes(thing)
    said = [v for name, v in own.items() if any(one in str(name) for one in _SKIPS)]
    return [one for one in said if type(one) is int and one > 0]


def parts_of_batch(batch: Any) -> dict[Any, int]:
    """Give a number for each part of a batch, and one for what has none.

    Raises:
        Exception: it can be made no bytes of.
    """
    if isinstance(batch, dict) or (hasattr(batch, "items") and hasattr(batch, "keys")):
        return {key: digest(one) for key, one in batch.items()}
    if isinstance(batch, (list, tuple)):
        return {place: digest(one) for place, one in enumerate(batch)}
    return {None: digest(batch)}
