"""What a page says of checkpoints."""

from __future__ import annotations

from collections.abc import Sequence

from preflight.checkpoints.facts import CheckpointFacts
from preflight.values.names import first_of, shown


def newest(found: Sequence[CheckpointFacts]) -> str | None:
    """Name the newest whole checkpoint of each run in a folder, where it has several."""
    runs = [
        (one, next((state.name for state in one.checkpoints if state.is_whole), ""))
        for one in found
        if len(one.checkpoints) > 1
    ]
    if len(runs) > 1:
        names = [f"{one.file.rpartition('/')[2]}/{whole}" for one, whole in runs if whole]
        return f"newest whole checkpoints: {first_of(names, len(names))}" if names else None
    for one, whole in runs:
        what = "checkpoint" if whole == one.checkpoints[0].name else "whole checkpoint"
        return f"newest {what}: {shown(whole)}" if whole else "no whole checkpoint"
    return None
