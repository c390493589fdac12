"""Keeps the first checkpoint of a script as it is, whatever comes later: a resume begins there."""

from __future__ import annotations

import os
from dataclasses import replace

from preflight.resuming.moments import Moment, Moved, is_next_to_none
from preflight.scripts.watch import Watch

# Bytes at both ends of a checkpoint that tell it from others, and the fewest that one has.
_ENDS = 1 << 20
_LEAST = 256


class KeptFirst:
    """The first checkpoint, and what lay there with it."""

    def __init__(self, watch: Watch) -> None:
        self.save: Moment | None = None
        """None: there is none so far."""

        self._watch = watch
        self._has_all = False

    def keep(self, moment: Moment) -> None:
        """Keep one as it is now, if it is the first; one that tells, in place of weights alone.

        And the next in place of that of the very first step.
        """
        first, layer = self.save, self._watch.layer
        if first is None or (moment.tells and not first.tells) or is_next_to_none(first, moment):
            self.save = moment
            if first is not None and first.steps != moment.steps and layer is not None:
                layer.keep_no_more()
                self._has_all = False
        if layer is not None and self.save is not None and self.save.steps == moment.steps:
            layer.keep(moment.path)

    def moved(self, source: str, target: str) -> None:
        """Follow it to where it is moved."""
        if self.save is not None and self.save.path == source:
            self.save = replace(self.save, path=target)

    def keep_all(self) -> list[Moved]:
        """Keep what lies there behind the first save, as after a crash there; give its copies.

        Many scripts go on from a copy of the last checkpoint, or from a link to it.
        """
        layer = self._watch.layer
        if not self.save or self._has_all or layer is None or not self._watch.is_here:
            return []
        self._has_all = True
        if self._watch.options.get("resuming"):
            return []
        layer.keep_all(self.save.steps)
        own = self.save.path
        others = [one for one in layer.written() if one != own]
        return [
            Moved(source=own, target=one, is_copy=True)
            for one in others
            if own and _is_copy(layer.above(one), layer.above(own))
        ]


def _is_copy(one: str, other: str) -> bool:
    """Whether a file is a link to another, or has the same ends."""
    try:
        if os.path.samefile(one, other):
            return True
        with open(one, "rb") as copy, open(other, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            if size < _LEAST or os.fstat(copy.fileno()).st_size != size:
                return False
            for place in (0, max(0, size - _ENDS)):
                copy.seek(place)
                file.seek(place)
                if copy.read(_ENDS) != file.read(_ENDS):
                    return False
    except OSError:  # it went away, or is a folder
        return False
    return True
