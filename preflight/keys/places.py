"""Says whose the folders of a cache are: of a folder of samples, or of a data set."""

from __future__ import annotations

import os
from array import array
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache

from preflight.keys.entries import Entries
from preflight.keys.samples.sample import Sample
from preflight.targets.targets import KeyedData


class Places:
    """The folders of a cache, held against those of the samples."""

    def __init__(
        self,
        entries: Entries,
        of: Sequence[KeyedData],
        folders: Collection[str],
        root: str,
        *,
        cache: str,
        was_said: bool,
    ) -> None:
        """Take the folders in which samples lie, below those of their data sets.

        Where nobody has said the rule of the keys, a folder of the cache that is called as the data
        set may be meant for it, unless the cache itself is called so already.
        """
        self._entries = entries
        self._folders = frozenset(folders) - {""}
        self._labels = {id(one): labels_of(one) for one in of}
        self._paths: Mapping[int, Sequence[Sequence[str]]] = {
            id(one): _paths(one, root) for one in of
        }
        called = os.path.basename(os.path.abspath(os.path.join(root, cache)))
        is_meant = was_said or any(called in one for one in self._labels.values())
        self._may_be_label = len(of) > 1 or not is_meant
        self._of_entry: array[int] | None = None
        self._names: list[str] = []
        self.is_others = lru_cache(1 << 14)(self._is_others)
        self.is_again = lru_cache(1 << 14)(self._is_again)

    def leads(self, one: Sample, number: int, *, again: bool) -> bool:
        """Whether an entry may be that of a sample, by the folder in which it lies.

        None of another folder of samples, or of another data set, is; where it lies below the path
        of the data set once more, it is only where that is asked for.
        """
        folder = self.folder(number)
        free, data = self.free(one, folder), id(one.home.data)
        if self.is_others(folder, one.folder, free, data):
            return False
        return self.is_again(free, data) == again

    def folder(self, number: int) -> str:
        """Give the folder of an entry, below the cache."""
        if self._of_entry is None:
            known: dict[str, int] = {}
            self._of_entry = array("i")
            for name in self._entries.names():
                folder = name.rpartition("/")[0]
                self._of_entry.append(known.setdefault(folder, len(known)))
            self._names = list(known)
        return self._names[self._of_entry[number]]

    def free(self, one: Sample, folder: str) -> str:
        """Give what stands in a folder of the cache before the one in which the sample lies."""
        if folder == one.folder or not one.folder:
            return "" if folder == one.folder else folder
        return folder.removesuffix(f"/{one.folder}")

    def _is_others(self, folder: str, own: str, free: str, data: int) -> bool:
        tail = folder
        while tail and tail not in self._folders:
            tail = tail.partition("/")[2]
        if tail and tail != own:
            return True
        labels = self._labels[data]
        return free not in labels and any(free in one for one in self._labels.values())

    def _is_again(self, free: str, data: int) -> bool:
        parts = free.split("/") if free else []
        if len(parts) < 1 + 1:
            return bool(parts) and not self._may_be_label and free in self._labels[data]
        paths = self._paths[data]
        return any(parts[-1] == path[-1] or _is_part(parts, path) for path in paths if path)


def labels_of(data: KeyedData) -> frozenset[str]:
    """Give what a folder for the entries of a data set may be called."""
    folder = os.path.basename(os.path.abspath(data.folder)) if data.folder is not None else ""
    return frozenset({data.name, folder} - {""})


def _paths(data: KeyedData, root: str) -> Sequence[Sequence[str]]:
    if data.folder is None:
        return ()
    path = os.path.join(root, data.folder)
    wholes = dict.fromkeys((os.path.abspath(path), os.path.realpath(path)))
    return [[part for part in one.replace(os.sep, "/").split("/") if part] for one in wholes]


def _is_part(parts: Sequence[str], path: Sequence[str]) -> bool:
    """Whether these stand in a path in this order, whatever was taken out of it."""
    rest = iter(path)
    return all(part in rest for part in parts)
