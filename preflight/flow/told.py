"""Makes facts of what the stages of a loader have counted, also of a run that was ended."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

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
