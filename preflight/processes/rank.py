"""Which of several ranks of a job this process is, as a launcher has told it."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Any, NamedTuple

# Where launchers say the number of a process and how many there are. Slurm sets these for each task
# of a step (`srun`); in the script of a batch, which is no task, the second is not set.
_TOLD = (
    ("RANK", "WORLD_SIZE"),
    ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS"),
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
)

# What tells one launch from the next: a run, a restart of its workers, a step of a Slurm job.
_LAUNCH = ("TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT", "SLURM_JOB_ID", "SLURM_STEP_ID")


class Rank(NamedTuple):
    """One of several processes of a job that can reach each other."""

    number: int
    size: int
    host: str
    """Where the store of the job is, by which its ranks find each other."""

    port: int
    hosted: bool
    """Whether the launcher keeps that store; else rank 0 does, while it trains."""

    launch: str
    """The same for all ranks that one machine has started together."""

    is_one_machine: bool = False
    """Whether it is known that all of them are on this one."""


def rank_number(environ: Mapping[str, str] = os.environ) -> int:
    """Give the number of this process; 0 where nobody has told it."""
    told = next((environ[one] for one, _ in _TOLD if one in environ), "0")
    return int(told) if told.isdecimal() else 0


def rank_here(environ: Mapping[str, str] = os.environ) -> Rank | None:
    """Say which rank this is; None where it is alone, or nobody says where the others are."""
    host, port = environ.get("MASTER_ADDR"), environ.get("MASTER_PORT", "")
    for number, size in _TOLD:
        told = environ.get(number, ""), environ.get(size, ""), port
        if not host or not all(one.isdecimal() for one in told):
            continue
        if int(told[0]) < int(told[1]) and int(told[1]) > 1:
            return Rank(
                number=int(told[0]),
                size=int(told[1]),
                host=host,
                port=int(port),
                hosted=environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True",
                launch=_launch(environ, host, port),
                is_one_machine=_is_one_machine(environ, told[1]),
            )
    return None


def _is_one_machine(environ: Mapping[str, str], size: str) -> bool:
    return size in (environ.get("LOCAL_WORLD_SIZE"), environ.get("OMPI_COMM_WORLD_LOCAL_SIZE")) or (
        environ.get("SLURM_STEP_NUM_NODES") == "1" and environ.get("SLURM_STEP_NUM_TASKS") == size
    )


def _launch(environ: Mapping[str, str], host: str, port: str) -> str:
    """Tell one launch from others of this machine; what a launcher starts has it for its parent."""
    parent = "" if "SLURM_STEP_ID" in environ else str(os.getppid())
    return "/".join([host, port, parent, *(environ.get(one, "") for one in _LAUNCH)])


def ranks_in_group() -> int:
    """Count the ranks of the process group that torch has open in this process; 1: none is."""
    dist: Any = sys.modules.get("torch.distributed")
    is_open = dist is not None and dist.is_available() and dist.is_initialized()
    return dist.get_world_size() if is_open else 1
