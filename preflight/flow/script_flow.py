"""What goes through pipelines while a script runs them: read at any time, as they count it."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from preflight.flow.defer import starves
from preflight.flow.facts import Flow
from preflight.flow.told import counts_of, flow_of
from preflight.objects.facts import Definition

CAME, OVER = "came", "over"
"""How far a loader has come: to its first batch, or to the end of its data."""


@dataclass(slots=True, kw_only=True)
class _Pipeline:
    about: Mapping[str, Any]
    begun: float
    at: str = ""
    batches: int = 0
    why: str = ""
    """Why its first epoch was not drawn to its end, where it was to be."""


_NO_MORE = "no batch came any more"


class Flows:
    """All pipelines that a script has begun."""

    def __init__(self) -> None:
        self._by_folder: dict[str, _Pipeline] = {}

    def hear(self, line: Mapping[str, Any]) -> None:
        """Take in a line."""
        if "counts" in line:
            about = line["counts"]
            one = _Pipeline(about=about, begun=time.monotonic())
            self._by_folder[about["folder"]] = one
        elif "counted" in line:
            one = self._by_folder[line["counted"]]
            one.at, one.batches, one.why = line["is_at"], line["batches"], line["why"]
        elif "counting" in line:
            self._by_folder[line["counting"]].why = _NO_MORE

    def starve(self, seconds: float, root: str) -> bool:
        """Whether one of them has swallowed errors for so long, and no batch came of it."""
        now = time.monotonic()
        return any(
            not one.at and now - one.begun > seconds and starves(_flow(one, "stuck", root))
            for one in self._by_folder.values()
        )

    @property
    def is_counting(self) -> bool:
        """Whether one of them is drawn from for the sake of what it counts."""
        return any(one.why == _NO_MORE for one in self._by_folder.values())

    def of_all(self, ended: str, root: str) -> Iterator[Flow]:
        """Say what went through each, by how the script ended."""
        hangs = ended in ("stuck", "late")
        for one in self._by_folder.values():
            how = "over" if one.at == OVER else "cut" if one.at else "stuck" if hangs else ""
            flow = _flow(one, how or ended, root)
            if flow.stages:
                yield flow


def _flow(one: _Pipeline, ended: str, root: str) -> Flow:
    about, name, workers = one.about, one.about["name"], one.about["num_workers"]
    how = {"ended": ended, "batches": one.batches, "num_workers": workers, "why": one.why}
    flow = flow_of(name, Definition(), about, counts_of(about), root, **how)
    return flow or Flow(name=name)
