"""Looks at a loader where the script begins it: what it sends to its workers, what it reads."""

from __future__ import annotations

import os
import sys
import weakref
from collections.abc import Mapping
from dataclasses import replace
from types import MethodType
from typing import TYPE_CHECKING, Any

from preflight.loaders import sent as loaders
from preflight.loaders.facts import Loaded, Sent
from preflight.objects.facts import Definition
from preflight.scripts.watch import Watch
from preflight.users_code.facts import Frame

if TYPE_CHECKING:
    from preflight.findings.check import Facts
    from preflight.pipelines.facts import Reads

_OF_SENT = {"Sent", "WorldFacts", "RanksSeen"}


class Travelled:
    """What fresh workers were asked to load, by the line that began the loader.

    A loader is often made anew in each epoch, and a worker imports all that the script does.
    """

    def __init__(self) -> None:
        self._sent: list[tuple[Frame | None, dict[str, weakref.ref[Any]]]] = []

    def is_new(self, parts: Mapping[str, Any], at: Frame | None) -> bool:
        """Whether the very same was not asked for at this line; what cannot be told apart is."""
        known = (those for place, those in self._sent if place == at)
        if any(those.keys() == parts.keys() and _are(those, parts) for those in known):
            return False
        try:
            self._sent.append((at, {name: _referred(part) for name, part in parts.items()}))
        except TypeError:  # a list, say
            return True
        return True


def _referred(thing: Any) -> weakref.ref[Any]:
    return weakref.WeakMethod(thing) if isinstance(thing, MethodType) else weakref.ref(thing)


def _are(those: Mapping[str, weakref.ref[Any]], parts: Mapping[str, Any]) -> bool:
    for name, part in parts.items():
        there = those[name]()
        if not (there is part or (isinstance(part, MethodType) and there == part)):
            return False
    return True


def look(loader: Any, at: Frame | None, watch: Watch, travelled: Travelled) -> list[Facts]:
    """Give `Sent`, `Loaded` and `Reads` of a loader, at the line that begins it."""
    if not loaders.is_loader(loader):
        return []
    options = watch.options
    known = loaders.Known(
        name_of_loader(at), watch.root, None, options["num_workers"], options["start_method"]
    )
    reads = (_on_disk(one, watch) for one in loaders.reads_of(loader, known))
    return [_placed(one, at) for one in (*reads, *_sent(loader, known, watch, at, travelled))]


def _on_disk(reads: Reads, watch: Watch) -> Reads:
    """Leave out what the script itself has made, which is in its layer and where nobody looks."""
    layer = watch.layer
    if layer is None:
        return reads

    def is_on_disk(path: str) -> bool:
        return not os.path.isabs(path) or layer.reading(path) == path  # else it is an address

    files, shards = (tuple(filter(is_on_disk, those)) for those in (reads.files, reads.shards))
    made = len(reads.files) - len(files) + len(reads.shards) - len(shards)
    listed = reads.listed - (len(reads.files) - len(files))
    return replace(reads, files=files, shards=shards, listed=listed, made=made)


def name_of_loader(at: Frame | None) -> str:
    """Name a loader by the line that begins it."""
    return "loader" if at is None else f"loader ({at.file}:{at.line})"


def _sent(
    loader: Any, known: loaders.Known, watch: Watch, at: Frame | None, travelled: Travelled
) -> list[Facts]:
    wants_sent = any(watch.wants(one) for one in _OF_SENT)
    if watch.wants("Loaded") and travelled.is_new(loaders.sent_by(loader, known), at):
        from preflight.loaders.travel import travel
        from preflight.loaders.workers.fresh import Surroundings
        from preflight.users_code.main_module import why_no_worker

        if why_no_worker() is None:
            around = Surroundings(
                timeout=watch.options["timeout"], alive=watch.sign, path=sys.path, files={}
            )
            sent, loaded = travel(loader, known, around)
            return [sent, loaded] if wants_sent else [loaded]
    return [loaders.walk_loader(loader, known)] if wants_sent else []


def _placed(facts: Facts, at: Frame | None) -> Facts:
    """Say where it was met, for want of the line that made it."""
    if at is None or not isinstance(facts, (Sent, Loaded)) or facts.defined.file is not None:
        return facts
    place = Definition(file=at.file, line=at.line, line_text=at.text, qualname=at.function)
    return replace(facts, defined=place)
