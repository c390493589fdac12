"""Wraps public entry points of libraries, now or when they are imported, and puts them back.

A script may import a library late, under another name, or not at all, and may put something of its
own in the place of what is wrapped: then it stays there.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from preflight.scripts.failing import guarded
from preflight.scripts.watch import Watch
from preflight.values.own_files import passes_on, theirs


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One public entry point, and what is put in its place."""

    module: str
    """`torch.utils.data.dataloader`."""

    name: str
    """In the module: `DataLoader.__iter__`."""

    wrap: Callable[[Any, Watch], Any]
    """`(original, watch) -> replacement`; of a method, both are plain functions."""


class Points:
    """All points of a rehearsal, and what was there before."""

    def __init__(self, points: Iterable[Point], watch: Watch) -> None:
        self._watch = watch
        self._by_module: dict[str, list[Point]] = {}
        for one in points:
            self._by_module.setdefault(one.module, []).append(one)
        self._finder = _Finder(self._by_module, guarded(self._put_into, watch), watch.sign)
        self._undo: list[tuple[Any, str, Any, Any]] = []

    def install(self) -> None:
        """Wrap what is imported, and whatever comes when it comes."""
        sys.meta_path.insert(0, self._finder)
        for name in self._by_module:
            module = sys.modules.get(name)
            if module is not None:
                self._put_into(module)

    def remove(self) -> None:
        """Put everything back, but for what somebody else has put there since."""
        if self._finder in sys.meta_path:
            sys.meta_path.remove(self._finder)
        while self._undo:
            owner, name, ours, before = self._undo.pop()
            if vars(owner).get(name) is ours:
                setattr(owner, name, before)

    def _put_into(self, module: ModuleType) -> None:
        for point in self._by_module[module.__name__]:
            *path, name = point.name.split(".")
            owner: Any = module
            for part in path:
                owner = getattr(owner, part, None)
            before = vars(owner).get(name) if owner is not None else None
            if before is None:  # another version of the library has no such thing
                continue
            ours = guarded(point.wrap(theirs(before), self._watch), self._watch)
            setattr(owner, name, ours)
            self._undo.append((owner, name, ours, before))


class _Finder:
    """Finds nothing by itself; has what others find told of once it is loaded."""

    def __init__(
        self,
        wanted: Mapping[str, Sequence[Point]],
        loaded: Callable[[ModuleType], None],
        sign: Callable[[], None],
    ) -> None:
        self._sign = sign  # whoever imports much goes on
        self._wanted = wanted
        self._loaded = loaded
        self._within: set[str] = set()

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Have the other finders find it."""
        self._sign()
        if name not in self._wanted or name in self._within:
            return None
        self._within.add(name)
        try:
            spec = self._by_others(name, path, target)
        finally:
            self._within.discard(name)
        if spec is not None and hasattr(spec.loader, "exec_module"):
            self._tell_when_loaded(spec)
        return spec

    @passes_on
    def _by_others(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None
    ) -> importlib.machinery.ModuleSpec | None:
        for finder in sys.meta_path:
            find = getattr(finder, "find_spec", None)
            if finder is self or find is None:
                continue
            spec: importlib.machinery.ModuleSpec | None = find(name, path, target)
            if spec is not None:
                return spec
        return None

    def _tell_when_loaded(self, spec: importlib.machinery.ModuleSpec) -> None:
        loader: Any = spec.loader
        run = loader.exec_module

        @passes_on
        def exec_module(module: ModuleType) -> None:
            del loader.exec_module
            run(module)
            self._loaded(module)

        loader.exec_module = exec_module
