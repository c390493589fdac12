"""Whether a file that was written holds one whole version: by the library that reads its format."""

from __future__ import annotations

import contextlib
import hashlib
import os
import pathlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from preflight.formats.by_name import NUMPY, SAFETENSORS, TORCH

# Of arrays and tensors within each other, how deep is looked.
_DEEP = 4

_DATABASE = b"SQLite format 3\0"


class TornError(Exception):
    """What was read is no version that a writer has written."""


def loader_of(suffix: str) -> tuple[str, Callable[[str], Any]] | None:
    """Give what reads files of a suffix, and its name for people; None: nobody knows."""
    if suffix in TORCH:
        return "torch.load", _by_torch
    if suffix in NUMPY:
        return "numpy.load", _by_numpy
    if suffix == SAFETENSORS:
        return "safetensors", _by_safetensors
    return None


def _by_torch(path: str) -> Any:
    import torch

    return torch.load(path, map_location="cpu", weights_only=True)


def _by_numpy(path: str) -> Any:
    import numpy as np

    with open(path, "rb") as file:
        loaded = np.load(file, allow_pickle=False)
        return {name: loaded[name] for name in loaded.files} if hasattr(loaded, "files") else loaded


def _by_safetensors(path: str) -> Any:
    from safetensors import safe_open

    with safe_open(path, framework="np") as file:
        return {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  no mapping


def _by_sqlite(path: str) -> Any:
    """Read a database, to which each writer may add: its bytes are no version of anybody's."""
    import sqlite3

    os.stat(path)  # which raises FileNotFoundError
    address = f"{pathlib.Path(path).absolute().as_uri()}?mode=ro"
    with contextlib.closing(sqlite3.connect(address, timeout=10, uri=True)) as database:
        (said,) = database.execute("PRAGMA quick_check(1)").fetchone()
    if said != "ok":
        raise ValueError(said)


def values_in(loaded: Any, deep: int = _DEEP) -> Iterator[tuple[float, float]]:
    """Give the lowest and the highest number of each array."""
    if isinstance(loaded, dict):
        loaded = list(loaded.values())
    if isinstance(loaded, (list, tuple)):
        for one in loaded if deep else ():
            yield from values_in(one, deep - 1)
    elif hasattr(loaded, "min") and hasattr(loaded, "max") and len(getattr(loaded, "shape", ())):
        yield float(loaded.min()), float(loaded.max())


def is_of_one(loaded: Any) -> bool:
    """Whether all numbers of all arrays are one, as each writer writes its own everywhere."""
    ends = [end for both in values_in(loaded) for end in both]
    return bool(ends) and len(set(ends)) == 1


def digest(path: str) -> str:
    """Give the hash of a file."""
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


class Judge:
    """Says of a file whether it is whole, by what was learnt of whole ones."""

    def __init__(self, whole: Iterable[str]) -> None:
        """Learn from files that each writer has written alone, and the first one twice.

        Raises:
            TornError: nothing tells whole ones from others.
        """
        paths = list(whole)
        self._load: Callable[[str], Any] | None = None
        self._is_of_one = False
        self._digests: frozenset[str] = frozenset()
        self.name = ""
        known = loader_of(os.path.splitext(paths[0])[1].lower())
        with open(paths[0], "rb") as file:
            if file.read(len(_DATABASE)) == _DATABASE:
                known = "sqlite3", _by_sqlite
        if known is not None:
            name, load = known
            try:
                loaded = [load(path) for path in paths]
            except Exception as error:  # noqa: BLE001  whatever a library makes of another format
                why = f"{name} raises {type(error).__name__}"
            else:
                self.name, self._load = name, load
                self._is_of_one = all(map(is_of_one, loaded))
                return
        else:
            why = "nobody knows what reads it"
        digests = [digest(path) for path in paths]
        if digests[0] != digests[1]:
            raise TornError(f"{why}, and it is never written alike twice")
        self.name, self._digests = "their bytes", frozenset(digests)

    def look(self, path: str) -> None:
        """Read a file.

        Raises:
            FileNotFoundError: there is none.
            TornError: it is not whole.
        """
        if self._load is None:
            if digest(path) not in self._digests:
                size = os.path.getsize(path)
                raise TornError(f"{size:,} bytes that are no version of the file")
            return
        try:
            loaded = self._load(path)
        except FileNotFoundError:
            raise
        except Exception as error:
            text = " ".join(str(error).split())[:120]
            raise TornError(f"{self.name} raises {type(error).__name__}: {text}") from error
        if self._is_of_one and not is_of_one(loaded):
            raise TornError("a mixture of what two writers have written")
