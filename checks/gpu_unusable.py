"""A loader or a model that needs a GPU, on a machine where PyTorch finds none for it.

What it finds
    A factory that stops because there is no GPU that it can use: no driver, a PyTorch without CUDA,
    fewer GPUs than it counts on, or too little of their memory. Where the job is to run on another
    machine (`--elsewhere`), the CPU stands in for tensors and modules that are moved to CUDA; what
    asks for more of a GPU cannot be judged, and the verdict says so.

Why it matters
    On this machine the job stops at the same line, before its first step.

What to do
    Run it where the GPUs are. To have it judged here all the same, let its factory take the device
    as an argument, and give it `cpu` in preflight.toml.
"""

from __future__ import annotations

from collections.abc import Iterator

from preflight.check import check
from preflight.facts import Unbuilt
from preflight.finding import Finding, Location, Scope, Severity
from preflight.job import Job
from preflight.values.names import shown

from ._this_machine import ELSEWHERE


def _another_reason(facts: Unbuilt, job: Job) -> str | None:
    if facts.lacks is None or facts.lacks.kind != "gpu":
        return "it was not made for another reason"
    return "the job will run on another machine" if job.launch.elsewhere else None


@check(
    over=Unbuilt,
    title="loader or model that needs a GPU which is not here",
    many="loaders or models need a GPU which is not here",
    severity=Severity.ERROR,
    scope=Scope.MACHINE,
    always=True,
    skip=_another_reason,
)
def gpu_unusable(facts: Unbuilt, job: Job) -> Iterator[Finding]:
    """Report what was raised for want of a GPU, at the line of the user's that asks for one."""
    if facts.lacks is None or _another_reason(facts, job) is not None:
        return
    *outer, inner = facts.frames or (None,)
    place = Location(name=facts.name) if inner is None else inner.place(facts.name)
    reason, _, _ = facts.error.partition(". Please ")  # behind which torch gives its own advice
    line = "The line" if inner is None else f"`{shown(inner.text)}`"
    yield gpu_unusable.found(
        f"needs {shown(facts.lacks.name)}, which this machine does not have: {shown(reason)}",
        at=place,
        also=tuple(one.place() for one in outer if one is not None),
        why=f"{line} stops the job on this machine, and what it makes was not judged.",
        fix="Run the job where there are GPUs, with a PyTorch that is built for them.",
        workaround=ELSEWHERE,
        about=facts.step,
    )
