"""Says which folders the readers of a run go through, and for which part of the job."""

from __future__ import annotations

import os
from collections.abc import Iterable

from preflight.kinds.target import PathTarget, Target
from preflight.targets.targets import CacheFolder, Folder, Shard


class Reading:
    """Which folders the readers of a run go through."""

    def __init__(self, targets: Iterable[Target]) -> None:
        self._tops: dict[type, dict[str, str | None]] = {Folder: {}, CacheFolder: {}, Shard: {}}
        self._checkpoints: set[str] = set()
        self._captions: dict[str, str] = {}
        """The suffix of captions, of folders of which the settings name it."""

        for one in targets:
            if isinstance(one, (Folder, CacheFolder)):
                path = os.path.normpath(one.path)
                self._tops[type(one)][path] = path
                if isinstance(one, CacheFolder) and one.checkpoint:
                    self._checkpoints.add(path)
                if isinstance(one, Folder) and one.captions.rule in ("auto", "textfile"):
                    extension = (one.captions.extension or "").lstrip(".")
                    self._captions[path] = f".{extension.lower()}" if extension else ""
            elif isinstance(one, Shard):
                path = os.path.normpath(os.path.dirname(one.path))
                self._tops[Shard][path] = path

    def reads(self, kind: type[PathTarget], place: str) -> bool:
        """Whether a reader of this kind goes through a folder."""
        return self._top(kind, place) is not None

    def captions_in(self, place: str) -> str:
        """Give the suffix of captions in a folder, in small letters; empty: nobody named one."""
        return self._captions.get(self._top(Folder, place) or "", "")

    def part_of(self, place: str, top_of_job: str | None) -> str:
        """Say of which part of a job a folder is: of that whose reader begins nearest above it.

        What lies below a job's own folder is no cache because some lie loose in that.
        """
        top = self._top(CacheFolder, place)
        is_loose = top_of_job is not None and top == os.path.normpath(top_of_job)
        if top is None or (is_loose and os.path.normpath(place) != top):
            return "data"
        data = [self._top(kind, place) or "" for kind in (Folder, Shard)]
        if max(map(len, data)) >= len(top):
            return "data"
        return "checkpoint" if top in self._checkpoints else "cache"

    def _top(self, kind: type[PathTarget], place: str) -> str | None:
        """Give the folder in which a reader begins that goes through another one.

        A walk comes from above, so that what is known of the folder above is known already.
        """
        tops, place = self._tops[kind], os.path.normpath(place)
        way: list[str] = []
        while place not in tops and os.path.dirname(place) != place:
            way.append(place)
            place = os.path.dirname(place)
        top = tops.get(place)
        tops.update(dict.fromkeys(way, top))
        return top
