"""Notes into which weights and optimizers a resumed script loads something."""

from __future__ import annotations

import weakref
from typing import Any


class LoadedInto:
    """What one process has given a state, by `load_state_dict`."""

    def __init__(self) -> None:
        self._given: dict[int, weakref.ref[Any]] = {}

    def module(self, module: Any, lacking: Any) -> None:
        """Note the weights of a module that was given a state, but for those that it lacked."""
        missing = {*(getattr(lacking, "missing_keys", None) or ())}
        for name, one in module.named_parameters():
            if name not in missing:
                self.add(one)

    def add(self, thing: Any) -> None:
        """Note an optimizer, or weights."""
        self._given[id(thing)] = weakref.ref(thing)

    def has(self, thing: Any) -> bool:
        """Whether it was given one."""
        given = self._given.get(id(thing))
        return given is not None and given() is thing
