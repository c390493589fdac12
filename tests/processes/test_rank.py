"""Launchers tell each process which rank it is; whoever is alone is none."""

from __future__ import annotations

import pytest

from preflight.processes.rank import rank_here, rank_number

STORE = {"MASTER_ADDR": "node0", "MASTER_PORT": "29500"}


@pytest.mark.parametrize(
    ("told", "hosted"),
    [
        ({"RANK": "1", "WORLD_SIZE": "4", "TORCHELASTIC_USE_AGENT_STORE": "True"}, True),
        ({"RANK": "1", "WORLD_SIZE": "4"}, False),
        ({"SLURM_PROCID": "1", "SLURM_STEP_NUM_TASKS": "4", "SLURM_STEP_ID": "0"}, False),
        ({"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "4"}, False),
    ],
)
def test_launchers_tell_it_by_variables(told: dict[str, str], *, hosted: bool) -> None:
    rank = rank_here({**told, **STORE})

    assert rank is not None
    assert rank[:5] == (1, 4, "node0", 29500, hosted)
    assert rank_number(told) == 1


@pytest.mark.parametrize(
    "told",
    [
        {},
        {"RANK": "0", "WORLD_SIZE": "1", **STORE},
        {"RANK": "0", "WORLD_SIZE": "4"},
        {"RANK": "$RANK", "WORLD_SIZE": "4", **STORE},
        {"RANK": "4", "WORLD_SIZE": "4", **STORE},
        # The script of a batch that is to start four tasks is none of them.
        {"SLURM_PROCID": "0", "SLURM_NTASKS": "4", **STORE},
    ],
)
def test_whoever_is_alone_or_is_told_half_is_no_rank(told: dict[str, str]) -> None:
    assert rank_here(told) is None


def test_two_steps_of_a_slurm_job_are_two_launches() -> None:
    task = {"SLURM_PROCID": "0", "SLURM_STEP_NUM_TASKS": "2", "SLURM_JOB_ID": "7", **STORE}
    first, second = (rank_here({**task, "SLURM_STEP_ID": step}) for step in ("0", "1"))

    assert first is not None
    assert second is not None
    assert first.launch != second.launch
