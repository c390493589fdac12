"""What a file of settings says, or a part of it, as far as it stands there."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

_MOST_ITEMS = 10_000


@dataclass(frozen=True, slots=True)
class SettingsSaid:
    """What a file of settings says, or a part of it."""

    said: Any
    name: str
    """As reports name the file."""

    read_by: ast.Call
    keys: tuple[str, ...] = ()
    assumed: bool = False
    """Whether a command line may name another one, or say otherwise."""

    moves: bool = False
    """Whether the run may have another current folder than that in which it was started."""

    layers: tuple[SettingsSaid, ...] = ()
    """Those that it was put together of, of which each overrules those before."""

    @property
    def file(self) -> str:
        """What says it, as reports name it."""
        said = (one.file for one in reversed(self.layers) if one.says(self.keys))
        return self.name or next(said, "")

    def says(self, keys: Sequence[str]) -> bool:
        """Whether it itself says anything of a key of keys."""
        said = self.said
        for one in keys:
            said = said.get(one) if isinstance(said, dict) else None
        return said is not None

    @property
    def read_by_all(self) -> Iterator[ast.Call]:
        """Give the calls that read it."""
        yield self.read_by
        for one in self.layers:
            yield from one.read_by_all

    def part(self, said: Any, key: str) -> SettingsSaid:
        """Give what one of its keys has."""
        return replace(self, said=said, keys=(*self.keys, key))

    def written(self) -> ast.expr | None:
        """Give a value as code; None of what is put together in the run, and of many values."""
        if isinstance(self.said, list):
            each = [self._constant(one) for one in self.said[:_MOST_ITEMS]]
            return ast.List([*filter(None, each)], ast.Load()) if None not in each else None
        return self._constant(self.said)

    def _constant(self, said: Any) -> ast.Constant | None:
        if isinstance(said, str):
            is_whole = os.path.isabs(said) or "://" in said or not self.moves
            return None if "${" in said or said == "???" or not is_whole else ast.Constant(said)
        return ast.Constant(said) if isinstance(said, (bool, int, float)) else None
