"""What a machine is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuProcess:
    """A process that holds memory of a GPU."""

    pid: int
    name: str | None
    """None where the process belongs to somebody whose processes cannot be seen."""

    used: int | None
    """Bytes of GPU memory; None where the driver does not say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gpu:
    """One GPU, as NVML sees it."""

    index: int
    """NVML's own order, which is not always CUDA's."""

    uuid: str | None = None
    name: str | None = None
    total: int | None = None
    """Bytes of memory."""

    free: int | None = None
    """Bytes of memory that nobody holds."""

    processes: tuple[GpuProcess, ...] = ()
    visible: bool = True
    """Whether CUDA_VISIBLE_DEVICES lets this job see it."""

    cuda: int | None = None
    """The number that CUDA gives it in this job; None where the job does not see it."""

    instance: int | None = None
    """Which MIG instance of the GPU this is, counted from 0; None for a whole GPU."""

    error: str | None = None
    """Why it cannot be asked, such as `GPU is lost`; then the numbers are None."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gpus:
    """All GPUs of a machine."""

    state: str
    """`ok`, `no-driver` (no driver of NVIDIA is installed, or none is loaded), `no-package`
    (nvidia-ml-py is missing), `failed` (there is a driver, and it does not answer) or `other`
    (there is a GPU of another maker, which is not asked)."""

    detail: str = ""
    """What NVML said, in its own words."""

    driver: str | None = None
    gpus: tuple[Gpu, ...] = ()
    visible: str | None = None
    """CUDA_VISIBLE_DEVICES as it is set; None where it is not."""

    unmatched: tuple[str, ...] = ()
    """Entries of CUDA_VISIBLE_DEVICES that name no GPU of this machine."""

    repeated: str | None = None
    """An entry of CUDA_VISIBLE_DEVICES that names a GPU again, because of which none is seen."""

    device_order: str | None = None
    """CUDA_DEVICE_ORDER as it is set; None where it is not, and CUDA counts the fastest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberSaid:
    """A file that says how many processes a job has."""

    file: str
    name: str
    """What it is called there: `num_processes`, `TRAINING_NUM_PROCESSES`."""

    processes: int
    """On all machines."""

    machines: int = 1
    on_gpus: bool = False
    """Whether it says that each process has a GPU."""

    gpu_ids: tuple[str, ...] = ()
    """The GPUs that it names; none: those that the job sees."""

    starts_one: bool = False
    """Whether one process is started for its `distributed_type` (`NO`), whatever it says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchCommand:
    """A line of a shell script of the job that starts its processes."""

    file: str
    line: int
    launcher: str
    """`accelerate`, `torchrun`, `deepspeed`, `srun` or `mpirun`."""

    number: str | None = None
    """How many it asks for, as it is written there: `8`, `$GPUS`; None: it does not say."""

    config: str | None = None
    """The file of settings that it names, as it is written there."""

    processes: int | None = None
    """Of the whole job, where it says so in plain numbers, or that file does."""

    each: int | None = None
    """On each machine, by torchrun or accelerate."""

    starts_several: bool = False
    """Whether accelerate is told to, whatever the type in its file is (`--multi_gpu`)."""

    gpus: int | None = None
    """GPUs that it shows them, by CUDA_VISIBLE_DEVICES or --gpu_ids; None: it does not say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostFacts:
    """A machine, before anything of the job is started on it."""

    system: str
    """`Linux`, `Darwin`, `Windows`."""

    python: str
    """The version of the job's interpreter, such as `3.11.7`."""

    cpus: int
    memory: int | None
    """Bytes of memory that this process may use: the machine's, or its control group's."""

    available: int | None
    """Bytes of memory free now."""

    disk_free: int | None
    """Bytes free where the job's folder lies."""

    gpus: Gpus
    environment: Mapping[str, str] = field(default_factory=dict, hash=False)
    """The launcher variables that are set (RANK, MASTER_ADDR, SLURM_…), and only those."""

    recorded: bool = False
    """Whether these are the answers of another machine, recorded."""

    shm_size: int | None = None
    """Bytes of /dev/shm, through which workers hand batches over; None: there is none."""

    shm_free: int | None = None
    open_files: int | None = None
    """Files that a process may have open (`ulimit -n`); None: as many as it likes, or not known."""

    packages: Mapping[str, str] = field(default_factory=dict, hash=False)
    """Versions of the packages that most failures have to do with, where they are installed."""

    accelerate: NumberSaid | None = None
    """The file of settings that `accelerate launch` takes by itself, and its number."""

    trainer: NumberSaid | None = None
    """A file of variables of the job that says it."""

    commands: tuple[LaunchCommand, ...] = ()
    """How the shell scripts in the job's folder start its processes."""
