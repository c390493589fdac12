"""Makes the loaders of all cases: small, and with one worker or two that are spawned."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from torch.utils.data import DataLoader, Dataset, IterableDataset

_KEPT: list[object] = []


class Held(Dataset):
    """A data set of two numbers that holds what a case is about, and never touches it."""

    def __init__(self, held: object = None) -> None:
        self.held = held

    def __len__(self) -> int:
        return 2

    def __getitem__(self, index: int) -> int:
        return index


class Using(Held):
    """Uses what it holds: only then does a worker of Python 3.10 die of a lock for forking."""

    def __init__(self, held: object, use: Callable[[Any], object]) -> None:
        super().__init__(held)
        self.use = use

    def __getitem__(self, index: int) -> int:
        self.use(self.held)
        return index


class Stream(IterableDataset):
    """The same as a stream."""

    def __init__(self, held: object = None) -> None:
        self.held = held

    def __iter__(self) -> Iterator[int]:
        return iter((0, 1))


def spawned(dataset: Any, **options: Any) -> DataLoader:
    """Make a loader whose worker is spawned."""
    return DataLoader(dataset, **{"num_workers": 1, "multiprocessing_context": "spawn"} | options)


def holding(*held: object) -> DataLoader:
    """Make a loader whose data set holds this."""
    return spawned(Held(held[0] if len(held) == 1 else held))


def asked(event: Any, _worker: int) -> bool:
    """Use an event where a worker begins."""
    return event.is_set()


def as_is(thing: Any) -> Any:
    """Give back what was given."""
    return thing


def kept(thing: Any) -> Any:
    """Keep open what must be while a loader starts."""
    _KEPT.append(thing)
    return thing


def ready(*_: object) -> None:
    """Stand for a worker_init_fn."""


def written(folder: str, name: str, text: str) -> ModuleType:
    """Import a module from a folder that is on the path only until it was imported."""
    place = Path(folder).absolute()
    place.mkdir(exist_ok=True)
    (place / f"{name}.py").write_text(text, encoding="utf-8")
    sys.path.insert(0, str(place))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(str(place))
