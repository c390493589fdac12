"""Says which check tells of what a loader loses, where files and a run of it both show it."""

from __future__ import annotations

from dataclasses import replace

from preflight.flow.facts import Flow, Lost, Passed
from preflight.pipelines.facts import Survival
from preflight.pipelines.fates import SAMPLE_STAGES

SURVIVAL, STARVED, MISSING = "dataset-survival", "loader-starved", "shard-missing"

LITTLE = 0.5
"""Of all samples: where more are lost, the job trains on something else."""

HARDLY_ANY = 0.01
"""Of all samples: what a handler that goes on is meant for."""

# What the files show of a stage is what was swallowed there, where it is no less than this part.
_MOST_OF_IT = 0.5

_UNLIKELY = 0.01
"""How many shards may be left, as is to be expected, of which it is said that all were drawn."""


def both_told(flow: Flow, survival: Survival | None, *, opening: bool) -> Flow:
    """Mark the stages of which the files tell what they lose.

    `opening` says whether it is told which of its shards are not there.
    """
    stages = []
    for number, one in enumerate(flow.stages):
        told_by = ""
        if survival is not None and survival.losses and _is_told(flow, number, survival):
            told_by = SURVIVAL
        elif opening and one.kind == "open" and _lacks_files_alone(one):
            told_by = MISSING
        stages.append(replace(one, told_by=told_by) if told_by else one)
    return replace(flow, stages=tuple(stages))


def _lacks_files_alone(stage: Passed) -> bool:
    errors = [one.error for one in stage.swallowed]
    return bool(errors) and all(one.startswith("FileNotFoundError") for one in errors)


def _is_told(flow: Flow, number: int, survival: Survival) -> bool:
    stage = flow.stages[number]
    mine = [one for one in flow.losses if one.stage is stage]
    if not mine:
        return False
    if stage.kind in SAMPLE_STAGES:
        return any(one.reason in ("behind", "shard", "twice") for one in survival.losses)
    told = [one for one in survival.losses if one.stage.startswith(f"{stage.kind}(")]
    if stage.at.line is not None:
        told = [one for one in told if one.at.line in (None, stage.at.line)]
    share = sum(one.samples for one in told) / survival.samples if survival.samples else 0.0
    return bool(told) and share >= _MOST_OF_IT * flow.share(tuple(mine))


def starves(flow: Flow) -> str:
    """Name the check that tells why no batch came, where errors were swallowed all the while."""
    losses = flow.losses
    if (
        not losses
        or flow.batches
        or flow.ended not in ("over", "stuck")
        or flow.share(losses) < LITTLE
    ):
        return ""
    return STARVED if untold(flow) else losses[0].stage.told_by


def has_had_all(flow: Flow, survival: Survival | None) -> bool:
    """Whether a loader was run until it had decoded all of its shards by itself.

    Of shards that are drawn with replacement, so many that none is likely to be left.
    """
    if flow.ended == "over" or survival is None or not flow.resampled:
        return flow.ended == "over"
    shards = survival.looked_at + survival.unread
    drawn = flow.shards - max(1, flow.num_workers)  # each is still at its last one
    return drawn > 0 and shards * (1 - 1 / shards) ** drawn < _UNLIKELY


def untold(flow: Flow) -> tuple[Lost, ...]:
    """Give the losses that nobody else tells."""
    return tuple(one for one in flow.losses if not one.stage.told_by)


def tells_missing(flow: Flow | None) -> bool:
    """Whether it is told of a data set why some of its samples are in no batch."""
    if flow is None or flow.ended != "over":
        return False
    dropped = tuple(one for one in untold(flow) if one.by.instead == "none")
    return bool(dropped) and flow.share(untold(flow)) >= HARDLY_ANY
