"""Makes facts of what the stages of a loader have counted, also of a run that was ended."""

from __future__ import annotations

from collections.abc import Mapping
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
        return read(about["folder"], len(about["stages"]))
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
    """Say what went through a loader."""
    if counts is None:
        return None
    stages = []
    for number, wire in enumerate(about["stages"]):
        mine = [_swallowed(one, root) for one in counts["reasons"] if one["stage"] == number]
        more = counts["swallowed"][number] - sum(one.times for one in mine)
        if more > 0:
            mine.append(Swallowed(by="handler", error="others", times=more))
        told = tuple(sorted(mine, key=_most))
        passed = from_wire(Passed, wire)
        stages.append(replace(passed, gave=counts["gave"][number], swallowed=told))
    return Flow(
        name=name, defined=defined, stages=tuple(stages), resampled=about["resampled"], **how
    )


def _most(one: Swallowed) -> int:
    return -one.times


def _swallowed(told: Mapping[str, Any], root: str) -> Swallowed:
    plain = {name: value for name, value in told.items() if name != "stage"}
    seen = from_wire(Swallowed, plain)
    return replace(seen, file=name_of(seen.file, root) if seen.file else "")
