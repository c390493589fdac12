"""Fewer GPUs that this job can use than it asks for.

What it finds
    A machine on which the job sees fewer working GPUs than its settings ask for: no driver, a
    driver that does not answer, a GPU that is lost, GPUs that CUDA_VISIBLE_DEVICES hides, or simply
    fewer of them. Without a number asked for, only a driver that does not answer.

Why it matters
    The launcher starts one rank for each GPU. A rank whose GPU is not there stops with `invalid
    device ordinal`, the others wait for it until the rendezvous times out. Without any GPU, code
    that falls back to the CPU trains on, a hundred times slower, and does not say so.

What to do
    Ask for the GPUs that are there, take the GPU out of use that is lost, or start the job where
    there are enough. If it will run on another machine, say so: `preflight run --elsewhere`.
"""

from __future__ import annotations

from collections.abc import Iterator

from preflight.check import check
from preflight.facts import Gpu, Gpus, HostFacts
from preflight.finding import Finding, Location, Scope, Severity
from preflight.job import Job
from preflight.values.names import counted, shown

from ._this_machine import ELSEWHERE, THIS_MACHINE


def _does_not_apply(facts: HostFacts, job: Job) -> str | None:
    if job.launch.elsewhere:
        return "the job will run on another machine"
    if facts.gpus.state == "other":
        return f"only GPUs of NVIDIA are asked, and this machine's are not: {facts.gpus.detail}"
    if facts.gpus.state == "no-package":
        return "nvidia-ml-py is not installed"
    if job.launch.gpus is None and facts.gpus.state != "failed":
        return "no number of GPUs is asked for"
    return None


@check(
    over=HostFacts,
    title="fewer GPUs than the job asks for",
    many="GPUs are asked for and not there",
    severity=Severity.ERROR,
    scope=Scope.MACHINE,
    skip=_does_not_apply,
)
def gpu_count(facts: HostFacts, job: Job) -> Iterator[Finding]:
    """Compare the GPUs that the job sees, and that answer, with the number it asks for."""
    if _does_not_apply(facts, job):
        return
    gpus, asked = facts.gpus, job.launch.gpus
    if asked is None:
        yield gpu_count.found(
            f"has an NVIDIA driver that does not answer: {gpus.detail}",
            at=THIS_MACHINE,
            severity=Severity.WARNING,
            why="PyTorch will see no GPU; code that falls back to the CPU trains on, and slowly.",
            fix="Restart the machine, or load the driver that belongs to the installed library.",
            evidence={"state": gpus.state},
        )
        return

    working = [gpu for gpu in gpus.gpus if gpu.visible and gpu.error is None]
    if len(working) >= asked:
        return
    file, line = job.origin("launch.gpus")
    yield gpu_count.found(
        f"the job asks for {counted(asked, 'GPU')}; {_what_is_here(gpus, working)}",
        at=Location(file=file, line=line) if file else THIS_MACHINE,
        why="Ranks without a GPU stop with `invalid device ordinal`; the others wait for them."
        if working
        else "No rank finds a GPU.",
        fix=_fix(gpus),
        workaround=ELSEWHERE,
        evidence={"asked": asked, "here": len(gpus.gpus), "usable": len(working)},
        about="launch.gpus",
    )


def _what_is_here(gpus: Gpus, working: list[Gpu]) -> str:
    """Say what there is, as the second half of a sentence."""
    if gpus.state == "no-driver":
        return f"this machine has none (no NVIDIA driver: {gpus.detail})"
    if gpus.state == "failed":
        return f"the NVIDIA driver of this machine does not answer: {gpus.detail}"
    reasons = [f"GPU {_number(gpu)} cannot be used ({gpu.error})" for gpu in gpus.gpus if gpu.error]
    hidden = [gpu for gpu in gpus.gpus if not gpu.visible]
    if hidden:
        reasons.append(_why_hidden(gpus, hidden))
    here = f"this machine has {counted(len(gpus.gpus), 'GPU')}"
    if not reasons:
        return here if gpus.gpus else "this machine has none"
    return (
        f"it can use {len(working) or 'none'} of the {counted(len(gpus.gpus), 'GPU')} here: "
        f"{'; '.join(reasons)}"
    )


def _why_hidden(gpus: Gpus, hidden: list[Gpu]) -> str:
    if gpus.visible is None:  # only instances are hidden without a setting
        return "CUDA takes one MIG instance, unless CUDA_VISIBLE_DEVICES names others"
    setting = f"CUDA_VISIBLE_DEVICES={shown(gpus.visible)}"
    if gpus.repeated is not None:
        return f"{setting} names {shown(gpus.repeated)} twice, which hides all"
    text = f"{setting} hides {counted(len(hidden), 'GPU')}"
    if gpus.unmatched:
        names = ", ".join(shown(entry) or "an empty entry" for entry in gpus.unmatched[:8])
        text += f" (CUDA stops reading at the first entry that names no GPU; no GPU is {names})"
    return text


def _fix(gpus: Gpus) -> str:
    if gpus.state == "failed":
        return "Restart the machine, or load the driver that belongs to the installed library."
    if any(gpu.visible and gpu.error for gpu in gpus.gpus):
        return "Have the GPU that does not answer reset or replaced; drain this machine until then."
    if any(not gpu.visible for gpu in gpus.gpus):
        return "Name as many GPUs in CUDA_VISIBLE_DEVICES as the job asks for, or unset it."
    return "Ask for the GPUs that are here, or start the job where there are enough."


def _number(gpu: Gpu) -> str:
    return f"{gpu.index}" if gpu.instance is None else f"{gpu.index} (MIG instance {gpu.instance})"
