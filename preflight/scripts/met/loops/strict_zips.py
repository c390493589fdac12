"""Loaders that are taken side by side by `zip(…, strict=True)`, which raises where one ends first.

Epochs that are made short end together, as all others do: what these come to is that the whole ones
do not.
"""

from __future__ import annotations

import ast
from types import FrameType
from typing import Any, NamedTuple

from preflight.scripts.met.lines.counted import at_work
from preflight.scripts.met.loops.epoch_ends import NEXT, WholeEpoch, goes_to_its_end, whole_epoch
from preflight.scripts.watch import Watch
from preflight.users_code.facts import Frame


class StrictZip:
    """The loaders of one such call, in the order in which it draws from them."""

    def __init__(self, watch: Watch, takes: int | None) -> None:
        self.is_begun = False
        self._watch = watch
        self._takes = takes
        self._loaders: list[tuple[Any, WholeEpoch | None]] = []

    def add(self, begun: Any, loader: object) -> None:
        """Note one whose epoch begins, and what gives its batches."""
        self._loaders.append((begun, whole_epoch(loader)))

    def more(self, one: Any) -> bool | None:
        """Whether a loader gives another batch beyond the few; None: that is decided elsewhere."""
        self.is_begun = True
        (first, _), *_ = self._loaders
        lengths = [whole.batches for _, whole in self._loaders if whole is not None]
        if len({*lengths}) > 1 and self.is_all_known:
            (own,) = (whole.batches for each, whole in self._loaders if each is one and whole)
            is_more = own > min(lengths) and self._ends_itself()
            one.more = NEXT if is_more else ""
            return is_more
        if one is first:
            return None
        return bool(first.is_under_way and (first.given > one.given or first.is_over))

    @property
    def is_all_known(self) -> bool:
        """Whether it takes nothing but loaders of which it is known how long they are."""
        has_all = self._takes in (None, len(self._loaders))
        return has_all and all(whole is not None for _, whole in self._loaders)

    def _ends_itself(self) -> bool:
        """Whether the first epoch of this run comes to the end of the shortest."""
        watch = self._watch
        is_first_run = not (watch.options.get("resuming") or watch.left)
        return is_first_run and goes_to_its_end(watch)


class StrictZips:
    """Those of a script."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._begun: dict[Frame | None, StrictZip] = {}

    def begin(self, begun: Any, loader: object, at: Frame | None) -> StrictZip | None:
        """Give the call in which an epoch of a loader begins; None: it is in none."""
        frame = next(self._watch.frames(), None)
        call = None if frame is None else _call(frame)
        if call is None:
            return None
        known = self._begun.get(at)
        if known is None or known.is_begun:
            known = self._begun[at] = StrictZip(self._watch, call.takes)
        known.add(begun, loader)
        return known


class _Call(NamedTuple):
    takes: int | None
    """How many things it takes side by side; None: the text does not tell."""


def _call(frame: FrameType) -> _Call | None:
    for one in at_work(frame, ast.Call):
        match one:
            case ast.Call(func=ast.Name(id="zip"), args=args, keywords=[ast.keyword("strict", on)]):
                if isinstance(on, ast.Constant) and on.value is True:
                    is_told = not any(isinstance(each, ast.Starred) for each in args)
                    return _Call(len(args) if is_told else None)
    return None
