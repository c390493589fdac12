"""Makes facts of what stages of loaders have counted: of a run that was ended, or is under way."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from preflight.flow.defer import starves
from preflight.flow.facts import Flow, Passed, Swallowed
from preflight.flow.pages import read
from preflight.objects.facts import Definition
from preflight.values.names import name_of
from preflight.values.wire import from_wire


def counts_of(about: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Read what processes have counted by now; None where their folder is gone."""
    try:
        return read(about)
    except OSError:
        return None


def flow_of(
    name: str,
    defined: Definition,
    about: Mapping[str, Any],
    counts: Mapping[str, Any] | None,
    root: str,
    **how: Any,
) -> Flow | None:
    """Say what went through a loader; None where nothing of it counts."""
    if counts is None:
        return None
    parts = [*counts["later"], {**about, **counts}]
    stages: list[Passed] = []
    for part in parts:
        before = stages[-1].pipeline if stages else 0
        for one in _stages(part, root):
            if one.kind == "asked" and stages:  # what it is asked for is made by these
                continue
            around = one.kind == "stream" and bool(stages)
            unit = stages[-1].unit if around else one.unit
            stages.append(replace(one, pipeline=before + one.pipeline, unit=unit))
    if not stages:
        return None
    resampled = any(part["resampled"] for part in parts)
    return Flow(name=name, defined=defined, stages=tuple(stages), resampled=resampled, **how)


def _stages(part: Mapping[str, Any], root: str) -> Iterator[Passed]:
    for number, wire in enumerate(part["stages"]):
        mine = [_swallowed(one, root) for one in part["reasons"] if one["stage"] == number]
        more = part["swallowed"][number] - sum(one.times for one in mine)
        if more > 0:
            mine.append(Swallowed(by="handler", error="others", times=more))
        passed = from_wire(Passed, wire)
        told = tuple(sorted(mine, key=_most))
        yield replace(passed, gave=part["gave"][number], swallowed=told)


def _most(one: Swallowed) -> int:
    return -one.times


def _swallowed(told: Mapping[str, Any], root: str) -> Swallowed:
    plain = {name: value for name, value in told.items() if name != "stage"}
    seen = from_wire(Swallowed, plain)
    return replace(seen, file=name_of(seen.file, root) if seen.file else "")


# --- of a script, while it runs

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
