"""What stands between a layer and `io.FileIO`, a class that opens files by itself."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from preflight.overlay.between import Call, told
from preflight.overlay.calls import place_of
from preflight.overlay.layer import Layer
from preflight.overlay.on_disk import AnyPath
from preflight.values.own_files import passes_on, theirs


def raw_files(original: type, layer: Layer, guard: Callable[[Call], Call]) -> type:
    """Give a class in its place, whose objects open in the layer what is to be written.

    What `open` gives is an object of the original, and of this one to whoever asks.
    """

    def begin(raw: Any, file: AnyPath, mode: str = "r", *more: Any, **named: Any) -> None:
        original.__init__(raw, file, mode, *more, **named)  # type: ignore[misc]

    def call(raw: Any, file: AnyPath, mode: str = "r", *more: Any, **named: Any) -> None:
        says_itself = named.get("opener") is not None or len(more) > 1
        path = file if says_itself else place_of(file, mode, layer)
        at_once(raw, path, mode, *more, **named)
        if path is not file:
            raw.name = os.fspath(file)

    at_once = theirs(begin)
    opens = guard(told(at_once, layer, call))

    class Kind(type):
        def __instancecheck__(cls, one: object) -> bool:
            return isinstance(one, original) if cls is FileIO else super().__instancecheck__(one)

        def __subclasscheck__(cls, one: type) -> bool:
            return issubclass(one, original) if cls is FileIO else super().__subclasscheck__(one)

    class FileIO(original, metaclass=Kind):  # type: ignore[misc]
        @passes_on
        def __init__(self, *given: Any, **named: Any) -> None:
            opens(self, *given, **named)

    FileIO.__module__ = original.__module__
    return FileIO
