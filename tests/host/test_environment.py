"""Of an environment only what launchers set is kept."""

from __future__ import annotations

import pytest

from preflight.host.environment import LAUNCHER_VARIABLES, launcher_of, launcher_variables


def test_what_launchers_set_is_kept_and_nothing_else() -> None:
    environment = {"RANK": "3", "SLURM_LOCALID": "1", "HF_TOKEN": "hf_x", "HOME": "/root"}

    assert launcher_variables(environment) == {"RANK": "3", "SLURM_LOCALID": "1"}


@pytest.mark.parametrize("word", ["TOKEN", "KEY", "SECRET", "PASSWORD", "CREDENTIAL"])
def test_nothing_that_could_hold_a_secret_is_kept(word: str) -> None:
    assert not [name for name in LAUNCHER_VARIABLES if word in name]


@pytest.mark.parametrize(
    ("variable", "launcher"),
    [
        ("RANK", "torchrun"),
        ("MASTER_PORT", "torchrun"),
        ("SLURM_LOCALID", "slurm"),
        ("SLURM_SOMETHING_NEW", "slurm"),
        ("OMPI_COMM_WORLD_RANK", "mpi"),
        ("PMI_RANK", "mpi"),
        ("CUDA_VISIBLE_DEVICES", None),
        ("HF_TOKEN", None),
        ("RANKING", None),
    ],
)
def test_each_variable_has_the_launcher_that_sets_it(variable: str, launcher: str | None) -> None:
    assert launcher_of(variable) == launcher
