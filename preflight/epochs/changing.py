"""Runs in a process of its own: finds samples that are others each time that they are asked for.

Such as a data set makes that works on what it keeps: `self.images[i] /= 255`. Asked in copies of
the process, with the same random numbers each time: what draws by chance gives the same then, and
what counts calls gives another one also after another sample was asked for.
"""

from __future__ import annotations

import itertools
import multiprocessing
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from preflight.epochs.facts import Changing
from preflight.epochs.sample_numbers import digest
from preflight.objects.attributes import classes
from preflight.objects.paths import type_name
from preflight.objects.random_state import Generators, kept_random_state, seed
from preflight.objects.where import defined

# So often a sample is asked for: one of a few captions in turn comes again by then.
_TIMES = 8

# Seconds after which a copy of the process is given up.
PATIENCE = 5


class _SameNumbers:
    """A data set that gives numbers for samples, each made with the same random numbers."""

    def __init__(self, dataset: Any, begin: Callable[[int], object]) -> None:
        self.dataset, self.begin = dataset, begin

    def __len__(self) -> int:
        return len(self.dataset)

    def __getitem__(self, index: Any) -> int:
        self.begin(0)
        return digest(self.dataset[index])


def changing(
    parts: Mapping[str, Any], root: str, seconds: float, tell: Callable[..., None]
) -> Changing | None:
    """Ask two samples again and again; None: they stay as they are, or nobody can tell.

    Args:
        parts: the attributes of a DataLoader over a data set that is asked by index.
        root: the job's folder.
        seconds: how long it may take.
        tell: says that it goes on.
    """
    dataset, begun = parts["dataset"], time.monotonic()
    few = list(dict.fromkeys(indices(parts)))[-3:]  # those that nobody has asked for as yet
    if len(few) < 3 or not may_be_copied():
        return None
    one, other, third = few
    # Where the job asks in this process itself, a copy of it may hang that the job never makes.
    copied = bool(parts.get("num_workers"))
    plain = _SameNumbers(dataset, seed)
    twice = _asked(plain, [third] * 2)[0] if copied else _here(plain, third)
    tell(beside=0)
    if twice[0] == twice[1] or (time.monotonic() - begun) * 2 * _TIMES > seconds:
        return None
    orders = [one] * _TIMES, [other, one] * (_TIMES // 2)
    # Those of this process: what a copy makes itself gives another number behind another sample.
    first, second = _asked(_SameNumbers(dataset, Generators().begin), *orders)
    if first[0] != second[1] or not (_goes_on(first) and _goes_on(second[::2])):
        return None
    at = defined(type(dataset), root, if_own=True).at
    return Changing(dataset=type_name(type(dataset)), at=at, sample=str(one))


def _here(dataset: _SameNumbers, index: Any) -> list[int]:
    """Ask twice in this process."""
    with kept_random_state():
        return [dataset[index], dataset[index]]


def _goes_on(seen: list[int]) -> bool:
    """Whether it becomes another one each time, if only until nothing is left, and none again."""
    each = [number for number, _ in itertools.groupby(seen)]
    return 2 < len({*each}) == len(each)


def may_be_copied() -> bool:
    """Whether a copy of this process can ask."""
    torch: Any = sys.modules["torch"]
    return "fork" in multiprocessing.get_all_start_methods() and not torch.cuda.is_initialized()


def indices(parts: Mapping[str, Any]) -> Iterator[Any]:
    """Give those that the first batches ask for."""
    batches: Iterable[Any] | None = parts.get("batch_sampler")
    each = parts["sampler"] if batches is None else itertools.chain.from_iterable(batches)
    yield from itertools.islice(each, 1_000)


def _asked(dataset: _SameNumbers, *orders: list[Any]) -> list[list[int]]:
    """Ask in one copy of this process for each order."""
    loader: Any = classes("torch.utils.data", "DataLoader")[0]
    asked = loader(
        dataset,
        batch_size=1,
        sampler=[*itertools.chain.from_iterable(zip(*orders, strict=True))],
        num_workers=len(orders),
        collate_fn=list,
        multiprocessing_context="fork",
        timeout=PATIENCE,
    )
    every = [number for (number,) in asked]
    return [every[place :: len(orders)] for place in range(len(orders))]
