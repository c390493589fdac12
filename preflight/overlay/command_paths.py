"""Names files of a layer so that a program finds them which knows nothing of the layer."""

from __future__ import annotations

import os
import re

from preflight.overlay import on_disk
from preflight.overlay.layer import Layer

# What may be a path in a line for a shell.
_WORD = re.compile(r"[^\s'\"`$;&|<>()]+")


class Command:
    """What a process is started with, by the names that it finds."""

    def __init__(self, layer: Layer, folder: str | None) -> None:
        self._layer = layer
        self._base = os.path.abspath(folder or os.getcwd())
        self.folder = folder
        """Where it is to work; None: where this process does."""

        self._is_moved = folder is None and layer.is_entered
        own = layer.own(self._base)
        if own is not None and folder is not None and _is_only_in(layer, own):
            self.folder, self._is_moved = layer.above(own), True
        self.is_other = self._is_moved
        """Whether it is told anything else than it was meant to be."""

    def line(self, line: str) -> str:
        """Give a line for a shell."""
        return _WORD.sub(lambda found: self.word(found[0]), line)

    def word(self, word: str) -> str:
        """Give an argument: a path, or an option with one behind `=`."""
        option, equals, path = word.rpartition("=")
        found = self._found(path)
        if found is None:
            return word
        self.is_other = True
        return f"{option}{equals}{found}"

    def _found(self, path: str) -> str | None:
        at = os.path.join(self._base, path)
        own = None if not path or path.startswith("-") else self._layer.own(at)
        if own is None:
            return None
        above, is_relative = self._layer.above(own), not os.path.isabs(path)
        is_there = on_disk.exists(above) or _is_only_in(self._layer, os.path.dirname(own))
        if is_there and not on_disk.is_folder(own):
            return None if self._is_moved and is_relative else above
        return own if self._is_moved and is_relative and on_disk.exists(own) else None


def _is_only_in(layer: Layer, folder: str) -> bool:
    return on_disk.is_folder(layer.above(folder)) and not on_disk.is_folder(folder)
