"""Tells where more processes are started on a machine than there are GPUs for them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from preflight.facts import HostFacts
from preflight.finding import Finding, Location, Severity
from preflight.job import Job
from preflight.values.names import counted

from ._launched import ACCELERATE, NOT_ACCELERATE, TORCHRUN, Said, is_a_guess, place_of
from ._this_machine import ELSEWHERE


def _seen(facts: HostFacts) -> int:
    """Count the GPUs that the job sees; 0 also where nobody can say."""
    if facts.gpus.state != "ok":
        return 0
    return sum(gpu.visible and gpu.error is None for gpu in facts.gpus.gpus)


def without_gpus(
    found: Callable[..., Finding], taken: Said, facts: HostFacts, job: Job
) -> Finding | None:
    """Find a launcher that starts more processes here than there are GPUs for."""
    source, gpus, seen = taken.source, _seen(facts), "this job sees"
    if source is None or (taken.by == ACCELERATE and not source.on_gpus):
        return None
    if source.gpu_ids:
        # They take the place of CUDA_VISIBLE_DEVICES.
        gpus, seen = min(len(facts.gpus.gpus), len(source.gpu_ids)), "gpu_ids names"
    local = -(-taken.processes // source.machines)
    if not gpus or local <= gpus or (job.launch.gpus or 0) >= local:
        return None  # nothing to compare, enough, or what gpu-count tells
    at, text = place_of(taken)
    by_accelerate = taken.by != TORCHRUN and not is_a_guess(taken, facts)
    return found(
        f"{text}, which is {counted(local, 'process', 'processes')} on this machine; {seen} "
        f"{counted(gpus, 'GPU')} of it",
        at=at,
        about="gpus",
        # Of one GPU, accelerate makes one process, or leaves it to settings nobody has looked at.
        severity=Severity.NOTE
        if is_a_guess(taken, facts)
        else Severity.ERROR
        if by_accelerate and (source.on_gpus or gpus > 1)
        else Severity.WARNING,
        why=f"torch.cuda.set_device({gpus}) stops process {gpus}: `invalid device ordinal`; or, "
        "as accelerate puts it on a GPU that another one has, NCCL stops with `Duplicate GPU "
        "detected`.",
        fix=f"Say {gpus}, or start the job where there are {local} GPUs.",
        workaround=NOT_ACCELERATE if is_a_guess(taken, facts) else ELSEWHERE,
        evidence={"processes": local, "gpus": gpus},
    )


def hidden(found: Callable[..., Finding], facts: HostFacts) -> Iterator[Finding]:
    """Find launch scripts that show their processes fewer GPUs than they start of these."""
    for one in facts.commands:
        if one.gpus is None or (one.each or 0) <= one.gpus:
            continue
        local = one.each or 0
        yield found(
            f"starts {counted(local, 'process', 'processes')} on a machine by {one.launcher}, and "
            f"shows them {counted(one.gpus, 'GPU')}",
            at=Location(file=one.file, line=one.line),
            about="hidden",
            severity=Severity.WARNING,
            why=f"CUDA_VISIBLE_DEVICES, or --gpu_ids, hides the others: torch.cuda.set_device"
            f"({one.gpus}) stops process {one.gpus}: `invalid device ordinal`.",
            fix=f"Name {counted(local, 'GPU')} there, or start "
            f"{counted(one.gpus, 'process', 'processes')}.",
            workaround="Ranks that use no GPU, or share one by gloo, may be more.",
            evidence={"processes": local, "gpus": one.gpus},
        )


def more_than_asked(found: Callable[..., Finding], facts: HostFacts, job: Job) -> Iterator[Finding]:
    """Find settings that have more ranks on a machine than GPUs."""
    launch = job.launch
    gpus = launch.gpus or _seen(facts)
    if launch.world_size is None or not gpus:
        return
    said = "launch.nodes" in job.origins
    if not said and not launch.world_size % gpus:
        return  # so many whole machines, which nobody had to count
    local = -(-launch.world_size // max(launch.nodes, 1))
    if local <= gpus:
        return
    file, line = job.origin("launch.world_size")
    sure = said and launch.gpus is not None
    yield found(
        f"world_size is {launch.world_size:,}: {counted(local, 'rank')} on each machine "
        f"(nodes = {launch.nodes}), for {counted(gpus, 'GPU')}",
        at=Location(file=file, line=line) if file else Location(name="world_size"),
        about="ranks",
        severity=Severity.ERROR if sure else Severity.WARNING,
        why="Two ranks on one GPU: NCCL stops with `Duplicate GPU detected`, or a rank with "
        "`invalid device ordinal`.",
        fix=f"Say nodes = {-(-launch.world_size // gpus)}, or {gpus * launch.nodes} ranks.",
        workaround=None if sure else "Ranks that use no GPU, or share one by gloo, may be more.",
        evidence={"ranks": launch.world_size, "gpus": gpus, "nodes": launch.nodes},
    )
