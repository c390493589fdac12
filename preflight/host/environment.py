"""The environment variables by which launchers tell each process its place in a job."""

from __future__ import annotations

from collections.abc import Mapping

# fmt: off
TORCHRUN = frozenset({
    "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "GROUP_RANK", "GROUP_WORLD_SIZE",
    "ROLE_RANK", "ROLE_NAME", "ROLE_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "NODE_RANK",
    "TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT", "TORCHELASTIC_MAX_RESTARTS",
})
"""What torchrun sets for each of its workers, and what deepspeed, accelerate and Lightning set."""

# Variables of the same launchers whose values are worth a report.
_OTHERS = frozenset({
    "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "NVIDIA_VISIBLE_DEVICES",
    "SLURM_JOB_ID", "SLURM_STEP_ID", "SLURM_PROCID", "SLURM_LOCALID", "SLURM_NODEID",
    "SLURM_NTASKS", "SLURM_NPROCS", "SLURM_STEP_NUM_TASKS", "SLURM_NNODES", "SLURM_JOB_NUM_NODES",
    "SLURM_NTASKS_PER_NODE", "SLURM_TASKS_PER_NODE", "SLURM_NODELIST", "SLURM_JOB_NODELIST",
    "SLURM_GPUS", "SLURM_GPUS_ON_NODE", "SLURM_GPUS_PER_NODE", "SLURM_GPUS_PER_TASK",
    "SLURM_HET_SIZE",
    "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
    "OMPI_COMM_WORLD_LOCAL_SIZE", "OMPI_COMM_WORLD_NODE_RANK",
    "PMI_RANK", "PMI_SIZE", "PMIX_RANK", "MPI_LOCALRANKID", "MPI_LOCALNRANKS",
    "MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_LOCAL_RANK",
    "MV2_COMM_WORLD_LOCAL_SIZE",
    "ACCELERATE_USE_DEEPSPEED", "ACCELERATE_USE_FSDP", "ACCELERATE_MIXED_PRECISION",
    "ACCELERATE_DYNAMO_BACKEND",
    "PET_NPROC_PER_NODE", "PET_NNODES", "TRAINING_NUM_PROCESSES", "TRAINING_NUM_MACHINES",
    "NUM_PROCESSES",
})
# fmt: on

LAUNCHER_VARIABLES = TORCHRUN | _OTHERS
"""The variables that a report may show, by name; none of them holds a secret."""

_PREFIXES = {"SLURM_": "slurm"} | dict.fromkeys(("OMPI_", "PMI_", "PMIX_", "MPI_", "MV2_"), "mpi")


def launcher_of(variable: str) -> str | None:
    """Say which launcher sets a variable: `torchrun`, `slurm`, `mpi`; None: no launcher does."""
    if variable in TORCHRUN:
        return "torchrun"
    return next((name for prefix, name in _PREFIXES.items() if variable.startswith(prefix)), None)


def launcher_variables(environment: Mapping[str, str]) -> dict[str, str]:
    """Keep what launchers set; everything else of an environment is nobody's business."""
    return {name: environment[name] for name in sorted(LAUNCHER_VARIABLES & environment.keys())}
