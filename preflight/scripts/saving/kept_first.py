"""Keeps the first checkpoint of a script as it is, whatever comes later: a resume begins there."""

from __future__ import annotations

from preflight.resuming.moments import Moment, is_next_to_none
from preflight.scripts.watch import Watch


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

    def keep_all(self) -> None:
        """Keep what lies there behind the first save, as after a crash there."""
        layer = self._watch.layer
        if self.save and not self._has_all and layer is not None and self._watch.is_here:
            self._has_all = True
            if not self._watch.options.get("resuming"):
                layer.keep_all(self.save.steps)
