"""A GPU of this job has less free memory than the job needs.

What it finds
    Of the GPUs that the job will take, each whose free memory is less than `vram` asks for: because
    the GPU is too small, or because other processes hold some of it; and who they are. The job
    takes the first GPUs that it sees, in the order of CUDA_VISIBLE_DEVICES; the others may be busy.

Why it matters
    The job stops with `CUDA out of memory` when it has loaded the model, or at its first large
    batch, and takes all other ranks with it.

What to do
    End the processes that hold the memory, name other GPUs in CUDA_VISIBLE_DEVICES, or make the job
    smaller. If it will run on another machine, say so: `preflight run --elsewhere`.
"""

from __future__ import annotations

from collections.abc import Iterator

from preflight.check import check
from preflight.facts import Gpu, GpuProcess, Gpus, HostFacts
from preflight.finding import Finding, Location, Scope, Severity
from preflight.job import Job
from preflight.sizes import format_size
from preflight.values.names import counted, shown

from ._this_machine import ELSEWHERE, THIS_MACHINE

_MOST_NAMED = 4


def _does_not_apply(facts: HostFacts, job: Job) -> str | None:
    if job.launch.elsewhere:
        return "the job will run on another machine"
    if job.launch.vram is None:
        return "no amount of GPU memory is asked for"
    if facts.gpus.state == "other":
        return f"only GPUs of NVIDIA are asked, and this machine's are not: {facts.gpus.detail}"
    if facts.gpus.state == "no-package":
        return "nvidia-ml-py is not installed"
    if not _working(facts.gpus):
        return "no GPU here" if job.launch.gpus else None
    if all(gpu.free is None for gpu in _taken(facts.gpus, job)):
        return "the driver does not say how much memory is free"
    return None


@check(
    over=HostFacts,
    title="GPU with less free memory than the job needs",
    many="GPUs have too little free memory",
    severity=Severity.ERROR,
    scope=Scope.MACHINE,
    skip=_does_not_apply,
)
def gpu_memory(facts: HostFacts, job: Job) -> Iterator[Finding]:
    """Compare the free memory of the GPUs that the job takes with what it needs on each."""
    if _does_not_apply(facts, job) or job.launch.vram is None:
        return
    needed = job.launch.vram
    if not _working(facts.gpus):
        file, line = job.origin("launch.vram")
        yield gpu_memory.found(
            f"the job needs {format_size(needed)} of GPU memory; this machine has no GPU that "
            "can be used",
            at=Location(file=file, line=line) if file else THIS_MACHINE,
            why="The job would stop at its first tensor, or train on the CPU.",
            fix="Start the job on a machine with GPUs.",
            workaround=ELSEWHERE,
            evidence={"needed": needed, "gpus": 0},
        )
        return
    certain = _order_is_certain(facts.gpus)
    enough = [gpu for gpu in _working(facts.gpus) if gpu.free is None or gpu.free >= needed]
    could_do = len(enough) >= (job.launch.gpus or len(_working(facts.gpus)))
    for gpu in _taken(facts.gpus, job):
        if gpu.total is None or gpu.free is None or gpu.free >= needed:
            continue
        yield gpu_memory.found(
            f"has {_exactly(gpu.free, needed)} of GPU memory free, "
            f"and the job needs {_exactly(needed, gpu.free)}{_because(gpu, needed)}",
            at=Location(name=_name(gpu)),
            severity=Severity.ERROR if certain or not could_do else Severity.WARNING,
            why=_why(gpu, certain=certain or not could_do),
            fix=_fix(gpu, needed),
            workaround=ELSEWHERE,
            evidence={"free": gpu.free, "total": gpu.total, "needed": needed, "index": gpu.index},
        )


def _working(gpus: Gpus) -> list[Gpu]:
    """Give the GPUs that the job sees, in the order in which CUDA counts them."""
    seen = [gpu for gpu in gpus.gpus if gpu.visible and gpu.error is None]
    return sorted(seen, key=lambda gpu: gpu.index if gpu.cuda is None else gpu.cuda)


def _taken(gpus: Gpus, job: Job) -> list[Gpu]:
    """Give the GPUs that the job takes: the first ones, as many as it asks for, or all."""
    return _working(gpus)[: job.launch.gpus]


def _order_is_certain(gpus: Gpus) -> bool:
    """Whether it is known which GPUs the job takes.

    Among GPUs of several models CUDA counts the fastest first, unless CUDA_DEVICE_ORDER says
    PCI_BUS_ID; NVML, whose order this is, goes by the bus.
    """
    one_model = len({gpu.name for gpu in gpus.gpus}) <= 1
    by_name = (gpus.visible or "").startswith(("GPU-", "MIG-"))
    return one_model or by_name or gpus.device_order == "PCI_BUS_ID"


def _because(gpu: Gpu, needed: int) -> str:
    if gpu.total is not None and gpu.total < needed:
        return f": it has {format_size(gpu.total)} in all"
    held = [process for process in gpu.processes if process.used != 0]
    if not held:
        return ": the rest is held by processes that cannot be seen from here"
    named = ", ".join(_holder(process) for process in held[:_MOST_NAMED])
    more = f" and {counted(len(held) - _MOST_NAMED, 'other')}" if len(held) > _MOST_NAMED else ""
    return f": {named}{more} hold the rest" if len(held) > 1 else f": {named} holds the rest"


def _holder(process: GpuProcess) -> str:
    name = f" ({shown(process.name)})" if process.name else ""
    used = f" with {format_size(process.used)}" if process.used is not None else ""
    return f"process {process.pid}{name}{used}"


def _why(gpu: Gpu, *, certain: bool) -> str:
    if not certain:
        return (
            "The job may take this GPU: among several models CUDA counts the fastest first, "
            "and that order cannot be seen from here."
        )
    number = gpu.index if gpu.cuda is None else gpu.cuda
    return f"The rank on cuda:{number} would stop with `CUDA out of memory`."


def _fix(gpu: Gpu, needed: int) -> str:
    if gpu.total is not None and gpu.total < needed:
        return "Make the job smaller, or start it on larger GPUs."
    return "End what holds the memory, or name other GPUs in CUDA_VISIBLE_DEVICES."


def _name(gpu: Gpu) -> str:
    part = "" if gpu.instance is None else f" instance {gpu.instance}"
    return f"GPU {gpu.index}{part}" + (f" ({shown(gpu.name)})" if gpu.name else "")


def _exactly(number: int, beside: int) -> str:
    """Say a size so that it can be told apart from the one it is compared with."""
    if format_size(number) != format_size(beside):
        return format_size(number)
    return f"{number:,} bytes"
